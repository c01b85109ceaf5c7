//! One buffer: sets of entries. Each set evicts its least recently used page.

use super::Shape;

/// No page: page numbers are addresses divided by a size of at least 2.
const EMPTY: u64 = u64::MAX;

/// A set-associative buffer with replacement of the least recently used page.
///
/// Exact LRU is the policy implied by manuals, if they mention one. Processors approximate it (pseudo-LRU,
/// not-recently-used). They differ most from it on cyclic walks over slightly more pages than the capacity, when LRU
/// always misses.
#[derive(Clone, Debug)]
pub struct Buffer {
    sets: u64,
    ways: usize,
    /// The sets one after the other, each with its most recently used page first.
    pages: Vec<u64>,
}

impl Buffer {
    /// Creates an empty buffer. Excess entries that do not fill a set are left out.
    #[must_use]
    pub fn new(shape: Shape) -> Self {
        let ways = shape.ways.clamp(1, shape.entries.max(1));
        let sets = (shape.entries / ways).max(1);
        Self {
            sets: u64::from(sets),
            ways: ways as usize,
            pages: vec![EMPTY; sets as usize * ways as usize],
        }
    }

    /// Looks up a page and makes it the most recently used. Returns true if it was present.
    ///
    /// The low bits of the page number select the set (the remainder, if the number of sets is not a power of two).
    /// Some processors also hash higher bits (measured by Gras et al. for Skylake's second level, USENIX Security
    /// 2018).
    pub fn touch(&mut self, page: u64) -> bool {
        let first = (page % self.sets) as usize * self.ways;
        let Some(set) = self.pages.get_mut(first..first + self.ways) else {
            return false;
        };
        let found = set.iter().position(|&kept| kept == page);
        let place = found.unwrap_or(self.ways - 1);
        set.copy_within(0..place, 1);
        set[0] = page;
        found.is_some()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn buffer(entries: u32, ways: u32) -> Buffer {
        Buffer::new(Shape { entries, ways })
    }

    fn misses(buffer: &mut Buffer, pages: impl Iterator<Item = u64>) -> usize {
        pages.filter(|&page| !buffer.touch(page)).count()
    }

    #[test]
    fn the_page_used_longest_ago_is_forgotten() {
        let mut full = buffer(3, 3);
        assert_eq!(misses(&mut full, [1, 2, 3, 1].into_iter()), 3);
        assert!(!full.touch(4), "4 takes the place of 2");
        assert!(full.touch(1));
        assert!(full.touch(3));
        assert!(!full.touch(2));
    }

    /// A cyclic walk over N pages has N misses for N up to the capacity. One page more, and every access misses.
    #[test]
    fn cyclic_walks_have_a_cliff_at_the_capacity() {
        let rounds = 10;
        for (entries, ways) in [(64, 64), (64, 4), (1536, 12), (48, 48)] {
            let fits = u64::from(entries);
            let walk = |pages: u64| (0..rounds * pages).map(move |step| step % pages);
            assert_eq!(
                misses(&mut buffer(entries, ways), walk(fits)),
                fits as usize
            );
        }
        let mut full = buffer(64, 64);
        let walk = (0..rounds * 65).map(|step| step % 65);
        assert_eq!(misses(&mut full, walk), 650);
    }

    /// With one page more than the capacity, only its set fails: ways + 1 pages compete there in every round, and all
    /// others stay.
    #[test]
    fn one_page_more_than_fits_fails_one_set() {
        let (entries, ways, rounds) = (64, 4, 10);
        let walk = (0..rounds * 65).map(|step| step % 65);
        let sixty_first_uses = 60;
        assert_eq!(
            misses(&mut buffer(entries, ways), walk),
            sixty_first_uses + 5 * rounds as usize
        );
    }

    /// A stride equal to the number of sets maps all pages to one set, which has `ways` entries.
    #[test]
    fn strides_of_the_sets_use_one_set() {
        let (entries, ways, sets) = (1536, 12, 128);
        let walk = |pages: u64| (0..10 * pages).map(move |step| step % pages * sets);
        assert_eq!(misses(&mut buffer(entries, ways), walk(12)), 12);
        assert_eq!(misses(&mut buffer(entries, ways), walk(13)), 130);
        // One set more in the stride spreads them again.
        let spread = (0..10 * 13_u64).map(|step| step % 13 * (sets + 1));
        assert_eq!(misses(&mut buffer(entries, ways), spread), 13);
    }

    /// Uniform random pages of a region: in the long run a share of entries / pages hits, for any number of ways,
    /// because each set sees a uniform stream.
    #[test]
    fn random_pages_miss_one_less_the_share_that_fits() {
        let pages = 4096_u64;
        let draws = 400_000;
        for (entries, ways) in [(64, 64), (64, 4), (1536, 12), (1024, 1)] {
            let mut random = fastrand::Rng::with_seed(7);
            let mut one = buffer(entries, ways);
            let mut draw = |one: &mut Buffer| !one.touch(random.u64(0..pages));
            for _ in 0..20 * pages {
                draw(&mut one);
            }
            let missed = (0..draws).filter(|_| draw(&mut one)).count();
            let expected = 1.0 - f64::from(entries) / pages as f64;
            let seen = missed as f64 / f64::from(draws);
            // Five standard deviations of 400,000 independent draws, at most 0.004.
            let tolerance = 5.0 * (expected * (1.0 - expected) / f64::from(draws)).sqrt();
            assert!(
                (seen - expected).abs() < tolerance,
                "{entries}/{ways}: {seen} against {expected} ± {tolerance}"
            );
        }
    }
}
