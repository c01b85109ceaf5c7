//! A page walk: the number of page-table entries it reads.

use super::outcome::References;
use super::{Buffer, Paging, Shape, WalkCache};

/// Walks for pages of one size.
#[derive(Clone, Debug)]
pub struct Walker {
    paging: Paging,
    depth: u32,
    cache: Option<Buffer>,
}

impl Walker {
    /// Creates a walker for pages of `page_bytes`.
    #[must_use]
    pub fn new(paging: Paging, page_bytes: u64, cache: Option<WalkCache>) -> Self {
        let whole = |cache: WalkCache| {
            Buffer::new(Shape {
                entries: cache.entries,
                ways: cache.entries,
            })
        };
        Self {
            paging,
            depth: paging.depth(page_bytes),
            cache: cache.map(whole),
        }
    }

    /// Walks for an address. With a cache of upper levels the walk begins below the deepest cached entry. Without a
    /// known cache, it reads at least one entry, and at most one in each table.
    pub fn walk(&mut self, address: u64) -> References {
        let Some(cache) = &mut self.cache else {
            return References {
                least: 1,
                most: u64::from(self.depth),
            };
        };
        let mut deepest = 0;
        for step in 1..self.depth {
            if cache.touch(tag(self.paging, step, address)) {
                deepest = step;
            }
        }
        let read = u64::from(self.depth - deepest);
        References {
            least: read,
            most: read,
        }
    }
}

/// Entries of different tables must not be confused: the step goes into bits unused by any shifted address of 48 bits.
fn tag(paging: Paging, step: u32, address: u64) -> u64 {
    (address >> paging.shift_of_step(step)) | u64::from(step) << 56
}

#[cfg(test)]
mod tests {
    use super::*;

    fn walker(page_bytes: u64, entries: u32) -> Walker {
        let paging = Paging::of_base_page(4096).expect("a granule");
        Walker::new(paging, page_bytes, Some(WalkCache { entries }))
    }

    #[test]
    fn without_a_known_cache_there_are_bounds_and_no_number() {
        let paging = Paging::of_base_page(4096).expect("a granule");
        let mut small = Walker::new(paging, 4096, None);
        let mut huge = Walker::new(paging, 2 << 20, None);
        assert_eq!(small.walk(0), References { least: 1, most: 4 });
        assert_eq!(huge.walk(0), References { least: 1, most: 3 });
    }

    /// Sequential base pages read four entries for the first, and one for each page that shares its table. They read
    /// two when a new table begins (its entry, and that of the page).
    #[test]
    fn sequential_walks_begin_where_the_last_one_ended() {
        let mut small = walker(4096, 16);
        let reads: Vec<u64> = (0..1024).map(|page| small.walk(page << 12).most).collect();
        assert_eq!(reads[0], 4);
        assert!(reads[1..512].iter().all(|&read| read == 1));
        assert_eq!(reads[512], 2);
        assert!(reads[513..].iter().all(|&read| read == 1));
    }

    #[test]
    fn huge_pages_read_two_tables_at_most_when_the_upper_ones_are_known() {
        let mut huge = walker(2 << 20, 16);
        let reads: Vec<u64> = (0..513).map(|page| huge.walk(page << 21).most).collect();
        assert_eq!(reads[0], 3);
        assert!(reads[1..512].iter().all(|&read| read == 1));
        assert_eq!(reads[512], 2);
    }
}
