//! Decides the reason of a range: rows are tried in the order of the reasons.

use super::range::{Fit, Range};
use super::row::Rule;
use super::{Certainty, Code, khugepaged, state};

/// Returns the reason of a range, and its certainty. If no source shows which pages a PMD maps, the range can also be
/// huge.
pub(super) fn reason(range: &Range<'_>) -> (Code, Certainty) {
    let (code, mut certainty) = first(range);
    if code != Code::AlreadyPmd && state::may_be_huge(range) {
        certainty = match certainty {
            Certainty::OneOf(mut codes) => {
                codes.push(Code::AlreadyPmd);
                Certainty::OneOf(codes)
            }
            Certainty::Proved => Certainty::OneOf(vec![code, Code::AlreadyPmd]),
            Certainty::Unknown => Certainty::Unknown,
        };
    }
    (code, certainty)
}

fn first(range: &Range<'_>) -> (Code, Certainty) {
    for code in Code::all() {
        match code.row().rule {
            Rule::Decides(matches) if matches(range) => return (code, Certainty::Proved),
            Rule::DecidesOneOf(matches, others) if matches(range) => {
                return (code, one_of(code, others(range)));
            }
            _ => {}
        }
    }
    weighed(range, |rule| match rule {
        Rule::History(fit) => Some(*fit),
        _ => None,
    })
    .unwrap_or((Code::Unknown, Certainty::Unknown))
}

fn one_of(code: Code, others: Vec<Code>) -> Certainty {
    if others.is_empty() {
        return Certainty::Proved;
    }
    Certainty::OneOf(std::iter::once(code).chain(others).collect())
}

/// Returns why khugepaged has not collapsed an eligible range; `None` if khugepaged does not handle such ranges.
pub(super) fn still(range: &Range<'_>, code: Code) -> Option<(Code, Certainty)> {
    if !khugepaged::concerns(range, code) {
        return None;
    }
    weighed(range, |rule| match rule {
        Rule::Still(fit) => Some(*fit),
        _ => None,
    })
}

/// Returns the best of several reasons, with all that remain possible, most likely first.
fn weighed(
    range: &Range<'_>,
    of: impl Fn(&Rule) -> Option<fn(&Range<'_>) -> Fit>,
) -> Option<(Code, Certainty)> {
    let mut fits: Vec<(Fit, Code)> = Code::all()
        .filter_map(|code| Some((of(&code.row().rule)?(range), code)))
        .filter(|(fit, _)| *fit > Fit::No)
        .collect();
    fits.sort_by(|one, other| other.0.cmp(&one.0).then(one.1.cmp(&other.1)));
    let &(best, code) = fits.first()?;
    let certainty = if best == Fit::Proved {
        Certainty::Proved
    } else {
        Certainty::OneOf(fits.into_iter().map(|(_, code)| code).collect())
    };
    Some((code, certainty))
}
