//! Random numbers with a fixed seed, the same for every contestant.

/// The seed that every plan (which entities are linked, in which order) is derived from.
pub const SEED: u64 = 0x5EED_BE47;

/// `SplitMix64`: tiny, fast and good enough to shuffle with.
#[derive(Clone, Debug)]
pub struct Random {
    state: u64,
}

impl Random {
    /// A generator for one purpose. Generators with different streams are independent.
    pub fn new(stream: u64) -> Self {
        let mut random = Self { state: SEED ^ stream.wrapping_mul(0xA076_1D64_78BD_642F) };
        random.bits();
        random
    }

    /// The next 64 bits.
    pub fn bits(&mut self) -> u64 {
        self.state = self.state.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut bits = self.state;
        bits = (bits ^ (bits >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        bits = (bits ^ (bits >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        bits ^ (bits >> 31)
    }

    /// A number below `bound`.
    pub fn below(&mut self, bound: usize) -> usize {
        ((u128::from(self.bits()) * bound as u128) >> 64) as usize
    }

    /// The numbers `0..count` in random order.
    pub fn permutation(&mut self, count: usize) -> Vec<usize> {
        let mut order: Vec<_> = (0..count).collect();
        for last in (1..count).rev() {
            order.swap(last, self.below(last + 1));
        }
        order
    }

    /// `count` numbers below `bound`.
    pub fn choices(&mut self, count: usize, bound: usize) -> Vec<usize> {
        (0..count).map(|_| self.below(bound)).collect()
    }
}
