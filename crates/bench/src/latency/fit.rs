//! Fits a curve with as few straight lines as explain it: dynamic programming over all ways to split its points
//! (Bellman 1961), with a price for each line.

/// The price of one more line: the minimum saving in squared residuals, in units of their standard deviation. A line
/// has two parameters and a position; pure chance would save about 2 ln n for each.
const PRICE: f64 = 20.0;

/// The fewest points of a line: through one point, every line fits.
const FEWEST: usize = 2;

/// A point: both coordinates, and the standard deviation of the second.
#[derive(Clone, Copy, Debug)]
pub(super) struct Place {
    pub(super) x: f64,
    pub(super) y: f64,
    pub(super) error: f64,
}

/// A straight piece.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Piece {
    /// Its first and its last point.
    pub(super) first: usize,
    pub(super) last: usize,
    slope: f64,
    intercept: f64,
}

impl Piece {
    /// Its line, on and beyond the piece.
    pub(super) fn at(&self, x: f64) -> f64 {
        self.intercept + self.slope * x
    }

    /// How steeply it rises.
    pub(super) fn slope(&self) -> f64 {
        self.slope
    }
}

/// Returns the pieces, from left to right; empty if there are fewer points than one piece needs.
pub(super) fn pieces(places: &[Place]) -> Vec<Piece> {
    let sums = Sums::of(places);
    let count = places.len();
    let mut best = vec![(0.0, 0); count + 1];
    for end in 1..=count {
        best[end] = (0..=end.saturating_sub(FEWEST))
            .filter(|&start| end - start >= FEWEST)
            .map(|start| (best[start].0 + sums.line(start, end).2 + PRICE, start))
            .fold((f64::INFINITY, 0), |a, b| if b.0 < a.0 { b } else { a });
    }
    let mut pieces = Vec::new();
    let mut end = count;
    while end >= FEWEST {
        let start = best[end].1;
        let (slope, intercept, _) = sums.line(start, end);
        pieces.push(Piece {
            first: start,
            last: end - 1,
            slope,
            intercept,
        });
        end = start;
    }
    pieces.reverse();
    pieces
}

/// Weighted sums up to each point: of 1, x, y, xx, xy, yy.
struct Sums(Vec<[f64; 6]>);

impl Sums {
    fn of(places: &[Place]) -> Self {
        let mut sums = vec![[0.0; 6]];
        for Place { x, y, error } in places {
            let weight = 1.0 / (error * error);
            let terms = [1.0, *x, *y, x * x, x * y, y * y];
            let mut next = sums[sums.len() - 1];
            for (sum, term) in next.iter_mut().zip(terms) {
                *sum += weight * term;
            }
            sums.push(next);
        }
        Self(sums)
    }

    /// Returns slope, intercept and squared residuals of the line through points `start..end`.
    fn line(&self, start: usize, end: usize) -> (f64, f64, f64) {
        let of = |index: usize| self.0[end][index] - self.0[start][index];
        let [one, x, y, xx, xy, yy] = [0, 1, 2, 3, 4, 5].map(of);
        let spread = xx - x * x / one;
        let slope = if spread > 0.0 {
            (xy - x * y / one) / spread
        } else {
            0.0
        };
        let intercept = (y - slope * x) / one;
        let rest = yy - intercept * y - slope * xy;
        (slope, intercept, rest.max(0.0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn places(count: u32, y: impl Fn(f64) -> f64) -> Vec<Place> {
        let place = |index| {
            let x = f64::from(index) / 4.0;
            Place {
                x,
                y: y(x),
                error: 0.03,
            }
        };
        (0..count).map(place).collect()
    }

    fn ends(places: &[Place]) -> Vec<usize> {
        pieces(places).iter().map(|piece| piece.last).collect()
    }

    #[test]
    fn a_line_is_one_piece() {
        let found = pieces(&places(40, |x| 1.0 + 0.3 * x));
        assert_eq!(found.len(), 1);
        assert!((found[0].slope() - 0.3).abs() < 1e-9, "{found:?}");
        assert!((found[0].at(2.0) - 1.6).abs() < 1e-9, "{found:?}");
    }

    #[test]
    fn a_jump_and_a_bend_part_pieces_where_they_are() {
        let jump = places(40, |x| if x < 4.9 { 0.0 } else { 1.0 });
        assert_eq!(ends(&jump), [19, 39]);
        let bend = places(40, |x| (x - 5.0).max(0.0));
        let found = ends(&bend);
        assert!(
            found.len() == 2 && (19..=21).contains(&found[0]),
            "{found:?}"
        );
    }

    #[test]
    fn what_the_errors_explain_parts_nothing() {
        let noisy = places(40, |x| {
            if ((x * 4.0) as u32).is_multiple_of(2) {
                0.02
            } else {
                -0.02
            }
        });
        assert_eq!(ends(&noisy), [39]);
        assert_eq!(pieces(&[]), []);
        assert_eq!(pieces(&places(1, |_| 0.0)), []);
    }
}
