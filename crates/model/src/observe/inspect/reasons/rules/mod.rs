//! The decision table: one row for each reason, in the order in which they are asked.

use super::range::{Fit, Range};
use super::{Certainty, Code};

mod file;
mod history;
mod khugepaged;
mod policy;
mod shape;
mod state;

pub(super) use khugepaged::exceeded;
pub(super) use policy::shmem_mode;
pub(super) use shape::difference;

/// What a reason does with a range.
enum Rule {
    /// It is the reason, if it matches: what follows is not asked.
    Decides(fn(&Range<'_>) -> bool),
    /// It is the reason, if it matches; others that look the same are named with it.
    DecidesOneOf(fn(&Range<'_>) -> bool, &'static [Code]),
    /// It is a part of the range's history: all of these are weighed against each other.
    History(fn(&Range<'_>) -> Fit),
    /// It tells why khugepaged has not made the range huge since.
    Still(fn(&Range<'_>) -> Fit),
    /// It cannot be told from what is read.
    Unseen,
}

/// The table.
const RULES: [(Code, Rule); 46] = [
    (Code::NotMapped, Rule::Unseen),
    (Code::NoThpKernel, Rule::Decides(state::no_thp)),
    (Code::AlreadyPmd, Rule::Decides(state::already_pmd)),
    (Code::Hugetlb, Rule::Decides(state::hugetlb)),
    (Code::Untouched, Rule::Decides(state::untouched)),
    (Code::HugeZero, Rule::Decides(state::huge_zero)),
    (Code::Zero4K, Rule::Decides(state::zero_4k)),
    (Code::VmaSmall, Rule::Decides(shape::vma_small)),
    (Code::VmaSplit, Rule::Decides(shape::vma_split)),
    (Code::VmaType, Rule::Decides(shape::vma_type)),
    (Code::MadvNohugepage, Rule::Decides(policy::nohugepage)),
    (
        Code::MapStack,
        Rule::DecidesOneOf(policy::map_stack, &[Code::MadvNohugepage]),
    ),
    (Code::PrctlDisabled, Rule::Decides(policy::prctl_disabled)),
    (
        Code::PrctlExceptAdvised,
        Rule::DecidesOneOf(policy::prctl_except_advised, &[Code::Unknown]),
    ),
    (Code::PolicyNever, Rule::Decides(policy::never)),
    (Code::PolicyMadvise, Rule::Decides(policy::madvise)),
    (Code::SmallRamDefault, Rule::Decides(policy::small_ram)),
    (Code::ShmemPolicy, Rule::Decides(policy::shmem)),
    (Code::FileMisaligned, Rule::Decides(file::misaligned)),
    (
        Code::FileNoLargeFolio,
        Rule::DecidesOneOf(file::no_large_folio, &[Code::FileSmallFolios]),
    ),
    (Code::FileSmallFolios, Rule::Decides(file::small_folios)),
    (Code::FilePrivateCow, Rule::Decides(file::private_cow)),
    (Code::Uffd, Rule::Decides(history::uffd)),
    (Code::Swapped, Rule::Decides(history::swapped)),
    (Code::PteTableExists, Rule::History(history::pte_table)),
    (Code::EmptyPteTable, Rule::History(history::empty_table)),
    (Code::PmdSplit, Rule::History(history::pmd_split)),
    (Code::ForkCow, Rule::History(history::fork_cow)),
    (Code::GuardPages, Rule::History(history::guard)),
    (Code::Pinned, Rule::Still(khugepaged::pinned)),
    (Code::Ksm, Rule::History(history::ksm)),
    (Code::MthpInstead, Rule::History(history::mthp)),
    (Code::AllocFail, Rule::History(history::alloc_fail)),
    (Code::AllocNoEffort, Rule::History(history::alloc_no_effort)),
    (Code::MemcgLimit, Rule::History(history::memcg)),
    (Code::NumaBind, Rule::History(history::numa)),
    (Code::SplitByReclaim, Rule::History(history::reclaim)),
    (Code::SplitUnderused, Rule::History(history::underused)),
    (
        Code::KhpNotRegistered,
        Rule::Still(khugepaged::not_registered),
    ),
    (Code::KhpPending, Rule::Still(khugepaged::pending)),
    (Code::KhpLimits, Rule::Still(khugepaged::limits)),
    (Code::KhpOff, Rule::Still(khugepaged::off)),
    (Code::ReadonlyAnon, Rule::Still(khugepaged::read_only)),
    (Code::LseReadFirst, Rule::History(history::lse)),
    (Code::Host4K, Rule::Unseen),
    (Code::Unknown, Rule::Unseen),
];

/// The reason of a range, and how sure it is. Where nobody can tell which pages a PMD maps, the
/// range may be huge for all that is known.
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
    for (code, rule) in &RULES {
        match rule {
            Rule::Decides(matches) if matches(range) => return (*code, state::sure(*code, range)),
            Rule::DecidesOneOf(matches, others) if matches(range) => {
                let all = std::iter::once(*code).chain(others.iter().copied());
                return (*code, Certainty::OneOf(all.collect()));
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

/// Why khugepaged has not made a range huge that could be; `None` where it is not its business.
pub(super) fn still(range: &Range<'_>, code: Code) -> Option<(Code, Certainty)> {
    if !khugepaged::concerns(range, code) {
        return None;
    }
    weighed(range, |rule| match rule {
        Rule::Still(fit) => Some(*fit),
        _ => None,
    })
}

/// The best of several reasons, with all that remain possible, the likeliest first.
fn weighed(
    range: &Range<'_>,
    of: impl Fn(&Rule) -> Option<fn(&Range<'_>) -> Fit>,
) -> Option<(Code, Certainty)> {
    let mut fits: Vec<(Fit, Code)> = RULES
        .iter()
        .filter_map(|(code, rule)| Some((of(rule)?(range), *code)))
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_has_every_reason_in_order() {
        let codes = RULES.iter().map(|row| row.0);
        assert!(codes.eq(Code::all()));
    }
}
