//! An array by entity index, in pages that are made on demand.

use alloc::{boxed::Box, vec::Vec};

/// A sparse array of small values; everything that was never written is `T::default()`. The number of values on a page is a
/// power of two.
pub(crate) struct Pages<T, const LEN: usize = 1024> {
    pages: Vec<Option<Box<[T; LEN]>>>,
}

impl<T, const LEN: usize> Default for Pages<T, LEN> {
    fn default() -> Self {
        Self { pages: Vec::new() }
    }
}

impl<T: Copy + Default, const LEN: usize> Pages<T, LEN> {
    const BITS: u32 = {
        assert!(LEN.is_power_of_two());
        LEN.ilog2()
    };

    #[inline]
    pub(crate) fn get(&self, index: u32) -> T {
        match self.pages.get((index >> Self::BITS) as usize) {
            Some(Some(page)) => page[index as usize & (LEN - 1)],
            _ => T::default(),
        }
    }

    /// The value to write to, making its page if there is none.
    #[inline]
    pub(crate) fn get_mut(&mut self, index: u32) -> &mut T {
        let page = (index >> Self::BITS) as usize;
        if !matches!(self.pages.get(page), Some(Some(_))) {
            self.make(page);
        }
        match &mut self.pages[page] {
            Some(page) => &mut page[index as usize & (LEN - 1)],
            None => unreachable!("made above"),
        }
    }

    /// The value to write to, if its page exists.
    #[inline]
    pub(crate) fn existing_mut(&mut self, index: u32) -> Option<&mut T> {
        let page = self.pages.get_mut((index >> Self::BITS) as usize)?.as_mut()?;
        Some(&mut page[index as usize & (LEN - 1)])
    }

    /// Changes every value that may have been written.
    pub(crate) fn for_each_mut(&mut self, change: impl FnMut(&mut T)) {
        self.pages.iter_mut().flatten().flat_map(|page| page.iter_mut()).for_each(change);
    }

    #[cold]
    fn make(&mut self, page: usize) {
        if page >= self.pages.len() {
            self.pages.resize_with(page + 1, || None);
        }
        self.pages[page] = Some(Box::new([T::default(); LEN]));
    }

    /// How many values the pages have that were made.
    pub(crate) fn capacity(&self) -> usize {
        LEN * self.pages.iter().flatten().count()
    }

    /// The page with the value of this index, to read many values that are mostly on the same one.
    pub(crate) fn page(&self, index: u32) -> Page<'_, T, LEN> {
        let number = index >> Self::BITS;
        let values = match self.pages.get(number as usize) {
            Some(Some(page)) => &page[..],
            _ => &[],
        };
        Page { first: number << Self::BITS, values }
    }

    /// Every page that was made, with the index of its first value.
    pub(crate) fn pages(&self) -> impl Iterator<Item = (u32, &[T; LEN])> {
        let numbered = self.pages.iter().enumerate();
        numbered.filter_map(|(number, page)| Some(((number << Self::BITS) as u32, &**page.as_ref()?)))
    }

    /// Every value that may have been written, by index.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (u32, T)> + use<'_, T, LEN> {
        self.pages.iter().enumerate().flat_map(|(number, page)| {
            let values = page.iter().flat_map(|page| page.iter().copied());
            values.enumerate().map(move |(offset, value)| ((number << Self::BITS | offset) as u32, value))
        })
    }
}

/// One page. See [`Pages::page`].
pub(crate) struct Page<'a, T, const LEN: usize = 1024> {
    /// The index of the first value.
    first: u32,
    /// Empty if nothing was ever written there.
    values: &'a [T],
}

impl<'a, T: Copy + Default, const LEN: usize> Page<'a, T, LEN> {
    /// All of its values; none if nothing was ever written there.
    pub(crate) fn values(self) -> &'a [T] {
        self.values
    }

    /// The value of an index, turning to its page.
    #[inline]
    pub(crate) fn get(&mut self, pages: &'a Pages<T, LEN>, index: u32) -> T {
        // One subtraction and one comparison, whichever page it is.
        match self.values.get(index.wrapping_sub(self.first) as usize) {
            Some(&value) => value,
            None => self.turn(pages, index),
        }
    }

    #[inline(never)]
    fn turn(&mut self, pages: &'a Pages<T, LEN>, index: u32) -> T {
        *self = pages.page(index);
        self.values.get((index - self.first) as usize).copied().unwrap_or_default()
    }
}
