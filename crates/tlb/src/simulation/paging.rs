//! The geometry of page tables, which follows from the base page size.

/// The split of addresses into table indices. A table fills one base page with entries of eight bytes, on both x86-64
/// and arm64.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Paging {
    base_shift: u32,
    address_bits: u32,
}

impl Paging {
    /// Returns the page tables of a base page size for 48-bit addresses, the default of Linux programs; `None` if there
    /// are no such tables.
    #[must_use]
    pub fn of_base_page(bytes: u64) -> Option<Self> {
        let plausible = bytes.is_power_of_two() && (4096..=65536).contains(&bytes);
        plausible.then(|| Self {
            base_shift: bytes.trailing_zeros(),
            address_bits: 48,
        })
    }

    /// Address bits per table.
    fn index_bits(self) -> u32 {
        self.base_shift - 3
    }

    /// Returns the size of a base page, in bytes.
    #[must_use]
    pub fn base_bytes(self) -> u64 {
        1 << self.base_shift
    }

    /// Returns the size of a page mapped one level above base pages, in bytes.
    #[must_use]
    pub fn huge_bytes(self) -> u64 {
        1 << (self.base_shift + self.index_bits())
    }

    /// Returns the number of tables in a walk from top to base page: 4 with pages of 4 KiB and of 16 KiB, 3 with 64
    /// KiB.
    #[must_use]
    pub fn levels(self) -> u32 {
        (self.address_bits - self.base_shift).div_ceil(self.index_bits())
    }

    /// Returns the number of tables in a walk for a page of this size. A size between base and huge page is a run of
    /// entries in the lowest table.
    #[must_use]
    pub fn depth(self, page_bytes: u64) -> u32 {
        let above = page_bytes.max(1).ilog2().saturating_sub(self.base_shift) / self.index_bits();
        self.levels().saturating_sub(above).max(1)
    }

    /// Returns the bits of an address below the index of the `step`-th table of a walk, counted from 1 at the top.
    /// Addresses with the same bits above them share that table's entry.
    #[must_use]
    pub fn shift_of_step(self, step: u32) -> u32 {
        self.base_shift + self.index_bits() * self.levels().saturating_sub(step)
    }

    /// Returns the simulated page sizes: base, 16 KiB, 64 KiB and huge, without those no larger than the previous one.
    #[must_use]
    pub fn sizes(self) -> Vec<u64> {
        let mut sizes = vec![self.base_bytes()];
        for size in [16 << 10, 64 << 10, self.huge_bytes()] {
            if sizes.last().is_some_and(|&last| last < size) {
                sizes.push(size);
            }
        }
        sizes
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tables_of_the_three_granules() {
        let of = |bytes| {
            let paging = Paging::of_base_page(bytes).expect("a granule");
            let huge = paging.huge_bytes();
            (
                paging.levels(),
                huge,
                paging.depth(bytes),
                paging.depth(huge),
            )
        };
        assert_eq!(of(4 << 10), (4, 2 << 20, 4, 3));
        assert_eq!(of(16 << 10), (4, 32 << 20, 4, 3));
        assert_eq!(of(64 << 10), (3, 512 << 20, 3, 2));
        assert_eq!(Paging::of_base_page(0), None);
        assert_eq!(Paging::of_base_page(5000), None);
    }

    #[test]
    fn a_run_of_entries_is_as_deep_as_one() {
        let paging = Paging::of_base_page(4096).expect("a granule");
        assert_eq!(paging.depth(64 << 10), 4);
        assert_eq!(paging.shift_of_step(1), 39);
        assert_eq!(paging.shift_of_step(3), 21);
        assert_eq!(paging.shift_of_step(4), 12);
        assert_eq!(paging.sizes(), [4 << 10, 16 << 10, 64 << 10, 2 << 20]);
        let of_64k = Paging::of_base_page(64 << 10).expect("a granule");
        assert_eq!(of_64k.sizes(), [64 << 10, 512 << 20]);
    }
}
