//! A hash index of a list that does not keep the keys once more.

use bevy_ecs::entity::EntityHash;
use bevy_platform::collections::HashTable;
use core::hash::BuildHasher;

/// Where the keys of a list stand. The list has the keys, each at most once: every method takes a function that reads the
/// key at a position.
#[derive(Default)]
pub(crate) struct HashIndex {
    positions: HashTable<u32>,
}

fn hash(key: u64) -> u64 {
    EntityHash.hash_one(key)
}

impl HashIndex {
    /// Number of keys.
    pub(crate) fn len(&self) -> usize {
        self.positions.len()
    }

    pub(crate) fn get(&self, key: u64, key_at: impl Fn(usize) -> u64) -> Option<usize> {
        let found = self.positions.find(hash(key), |&at| key_at(at as usize) == key);
        found.map(|&at| at as usize)
    }

    /// Adds the key at a position. It must not be indexed yet.
    pub(crate) fn insert(&mut self, at: usize, key_at: impl Fn(usize) -> u64) {
        let hash_at = |at: &u32| hash(key_at(*at as usize));
        self.positions.insert_unique(hash(key_at(at)), at as u32, hash_at);
    }

    /// Removes a key, which must still stand where it was.
    pub(crate) fn remove(&mut self, key: u64, key_at: impl Fn(usize) -> u64) {
        if let Ok(found) = self.positions.find_entry(hash(key), |&at| key_at(at as usize) == key) {
            found.remove();
        }
    }

    pub(crate) fn clear(&mut self) {
        self.positions.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::HashIndex;
    use alloc::vec::Vec;

    #[test]
    fn keys_are_found_where_they_stand() {
        let keys: Vec<u64> = (0..500u64).map(|n| n.wrapping_mul(0x9e37_79b9_7f4a_7c15)).collect();
        let key_at = |at: usize| keys[at];
        let mut index = HashIndex::default();
        for (at, &key) in keys.iter().enumerate() {
            assert_eq!(index.get(key, key_at), None);
            index.insert(at, key_at);
        }
        for &key in keys.iter().step_by(3) {
            index.remove(key, key_at);
            index.remove(key, key_at);
        }
        for (at, &key) in keys.iter().enumerate() {
            assert_eq!(index.get(key, key_at), (at % 3 != 0).then_some(at));
        }
        assert_eq!(index.len(), 333);
        index.clear();
        assert_eq!((index.len(), index.get(keys[1], key_at)), (0, None));
    }
}
