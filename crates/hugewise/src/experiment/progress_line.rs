//! The progress line on a terminal. If it is too long, the least useful parts are left out.

use hugewise_text::wrap::{display_width, shortened};

/// The separator between the estimates of policies.
pub(super) const BETWEEN: &str = "; ";

/// Columns reserved for ` for 12m`, which follows the current action.
const ELAPSED: usize = 9;

/// A line, and whether it ends with the current action, whose elapsed time can then follow.
#[derive(Debug, PartialEq)]
pub(super) struct Line {
    pub(super) text: String,
    pub(super) ends_with_now: bool,
}

/// Fits the time left, the estimates and the current action into this number of columns. Leaves out the estimates of
/// the last policies first, then the current action.
pub(super) fn fitted(left: Option<&str>, so_far: &str, now: &str, columns: usize) -> Line {
    let all: Vec<&str> = so_far.split(BETWEEN).collect();
    let known = |count: usize| match all.len() - count {
        0 => so_far.to_owned(),
        more => format!("{}{BETWEEN}{more} not shown", all[..count].join(BETWEEN)),
    };
    let joined = |count: usize, now: Option<&str>| {
        let known = known(count);
        let known = Some(known.as_str()).filter(|it| !it.is_empty());
        let parts = [left, known, now].into_iter().flatten();
        parts.collect::<Vec<_>>().join(" | ")
    };
    let line = |(now, count): (Option<&str>, usize)| Line {
        text: joined(count, now),
        ends_with_now: now.is_some(),
    };
    let fits = |line: &Line| {
        let behind = if line.ends_with_now { ELAPSED } else { 0 };
        display_width(&line.text) + behind <= columns
    };
    let counts = || (1..=all.len()).rev();
    let with_now = counts().map(|count| (Some(now), count));
    let without = counts()
        .map(|count| (None, count))
        .filter(|_| !so_far.is_empty());
    let mut lines = with_now.chain(without).map(line);
    let first = || match so_far.is_empty() {
        true => joined(1, Some(now)),
        false => left
            .into_iter()
            .chain([all[0]])
            .collect::<Vec<_>>()
            .join(" | "),
    };
    lines.find(fits).unwrap_or_else(|| Line {
        text: shortened(&first(), columns),
        ends_with_now: false,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const LEFT: Option<&str> = Some("up to 76 s left");
    const SO_FAR: &str =
        "8 rounds: wall time thp=always −12.2 % (−19.6 to −0.7 %); tracer=idle +9.9 %";

    fn text(so_far: &str, columns: usize) -> String {
        fitted(LEFT, so_far, "trial 3 of 5: as-is", columns).text
    }

    #[test]
    fn a_wide_line_has_all_and_a_narrow_one_what_counts() {
        let all = format!("up to 76 s left | {SO_FAR} | trial 3 of 5: as-is");
        assert_eq!(text(SO_FAR, 140), all);
        assert_eq!(
            text(SO_FAR, 92),
            "up to 76 s left | 8 rounds: wall time thp=always −12.2 % (−19.6 to −0.7 %); 1 not shown"
        );
        assert_eq!(
            text(SO_FAR, 80),
            "up to 76 s left | 8 rounds: wall time thp=always −12.2 % (−19.6 to −0.7 %)"
        );
        assert_eq!(text("", 80), "up to 76 s left | trial 3 of 5: as-is");
    }

    #[test]
    fn no_line_is_wider_than_the_terminal() {
        for columns in 20..160 {
            for so_far in ["", "1 round", SO_FAR] {
                let line = fitted(LEFT, so_far, "trial 3 of 5: as-is", columns);
                let behind = if line.ends_with_now { ELAPSED } else { 0 };
                let width = display_width(&line.text) + behind;
                assert!(width <= columns, "{columns}: {}", line.text);
            }
        }
    }
}
