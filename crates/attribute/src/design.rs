//! Chooses the sites that are huge in each run: a saturated two-level array and its mirror.
//!
//! The rows of a Sylvester-type Hadamard matrix make any two sites independent. In the mirror every site is inverted,
//! which frees the share of each site from all two-site interactions (fold-over: Box and Wilson, 1951; Montgomery,
//! Design and Analysis of Experiments, ch. 8). The first row has all sites huge, and its mirror has none.

/// The maximum number of sites that one design can separate.
pub const MOST_SITES: usize = 31;

/// A design: rows of sites, `true` if a site is huge.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Design {
    rows: Vec<Vec<bool>>,
}

impl Design {
    /// The design for this number of sites: 8 rows for up to 3, 16 for up to 7, 32 for up to 15, and 64 for up to 31.
    /// `None` for no site, and for more.
    #[must_use]
    pub fn new(sites: usize) -> Option<Self> {
        const LEAST: usize = 4;
        if sites == 0 || sites > MOST_SITES {
            return None;
        }
        let order = (sites + 1).next_power_of_two().max(LEAST);
        // An entry of Sylvester's matrix is the parity of the bits that row and column share. The first column is
        // constant, so it cannot be a site.
        let is_huge = |row: usize, site: usize| (row & (site + 1)).count_ones().is_multiple_of(2);
        let row = |row: usize| (0..sites).map(|site| is_huge(row, site)).collect();
        let half: Vec<Vec<bool>> = (0..order).map(row).collect();
        let mirror = half
            .iter()
            .map(|row| row.iter().map(|huge| !huge).collect());
        let rows = half.iter().cloned().chain(mirror).collect();
        Some(Self { rows })
    }

    /// The rows, the one with all sites first.
    #[must_use]
    pub fn rows(&self) -> &[Vec<bool>] {
        &self.rows
    }

    /// The number of sites.
    #[must_use]
    pub fn sites(&self) -> usize {
        self.rows.first().map_or(0, Vec::len)
    }

    /// The row in which all sites are huge.
    pub(super) const ALL: usize = 0;

    /// The row in which no site is huge.
    pub(super) fn none(&self) -> usize {
        self.rows.len() / 2
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sign(huge: bool) -> i32 {
        if huge { 1 } else { -1 }
    }

    #[test]
    fn the_rows_grow_with_the_sites() {
        let rows = |sites| Design::new(sites).map(|it| it.rows().len());
        let asked = [1, 3, 4, 7, 8, 15, 16, 31];
        assert_eq!(asked.map(rows), [8, 8, 16, 16, 32, 32, 64, 64].map(Some));
        assert_eq!([rows(0), rows(32)], [None, None]);
    }

    #[test]
    fn sites_are_free_of_each_other_and_of_pairs() {
        for sites in [1, 3, 7, 11, 31] {
            let design = Design::new(sites).expect("a design");
            let product = |of: &[usize]| -> i32 {
                let row = |row: &Vec<bool>| of.iter().map(|&it| sign(row[it])).product::<i32>();
                design.rows().iter().map(row).sum()
            };
            for a in 0..sites {
                assert_eq!(product(&[a]), 0, "site {a} is huge in half of the rows");
                for b in (0..sites).filter(|&b| b != a) {
                    assert_eq!(product(&[a, b]), 0, "{a} and {b}");
                    for c in (b + 1)..sites {
                        assert_eq!(
                            product(&[a, b, c]),
                            product(&[a]),
                            "{a} and the pair {b}, {c}"
                        );
                    }
                }
            }
        }
    }

    #[test]
    fn it_has_all_and_none() {
        let design = Design::new(5).expect("a design");
        assert_eq!(design.rows()[Design::ALL], [true; 5]);
        assert_eq!(design.rows()[design.none()], [false; 5]);
    }
}
