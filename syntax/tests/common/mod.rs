//! What the tests of several files share.

/// Numbers that look random and are the same in every run.
pub(crate) struct Random(pub(crate) u64);

impl Random {
    pub(crate) fn below(&mut self, limit: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 33) as usize % limit
    }

    pub(crate) fn one<'a>(&mut self, of: &[&'a str]) -> &'a str {
        of[self.below(of.len())]
    }

    /// Up to so many of these in a row.
    pub(crate) fn text(&mut self, of: &[&str], most: usize) -> String {
        (0..1 + self.below(most)).map(|_| self.one(of)).collect()
    }
}
