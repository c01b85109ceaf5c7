//! Derives the reasons of an address space. Every mapping is walked range by range, and equal neighbours form one
//! judgement.

use crate::address_space::{Mapping, Pages, Space};

use super::decide::{reason, still};
use super::range::{Range, Whole};
use super::row::Facts;
use super::totals::Totals;
use super::{Certainty, Code, Judgement, Obstacle, Settings};

/// The mappings for which evidence and fixes are written out. For tens of thousands of mappings that takes longer than
/// judging them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Wording {
    /// All mappings.
    All,
    /// The mappings with these indices, in ascending order. The others get neither.
    Only(Vec<usize>),
}

impl Wording {
    fn of(&self, mapping: usize) -> bool {
        match self {
            Self::All => true,
            Self::Only(places) => places.binary_search(&mapping).is_ok(),
        }
    }
}

/// Returns the reason of every huge-page range of an address space, by ascending address. Neighbouring ranges of one
/// mapping with the same reason form one judgement.
#[must_use]
pub fn judge(space: &Space, settings: &Settings, wording: &Wording) -> Vec<Judgement> {
    let whole = Whole::of(space, settings);
    let mut judgements = Vec::new();
    for (index, mapping) in space.mappings.iter().enumerate() {
        let mut open: Option<Open<'_>> = None;
        for (start, end, pages) in stretches(mapping, space.huge_bytes) {
            let range = Range {
                space,
                settings,
                whole: &whole,
                index,
                mapping,
                start,
                end,
                pages,
            };
            let next = Open::begin(range);
            match &mut open {
                Some(last) if last.is_like(&next) => last.join(next),
                _ => judgements.extend(open.replace(next).map(|last| last.end(wording))),
            }
        }
        judgements.extend(open.map(|last| last.end(wording)));
    }
    judgements
}

/// Returns the whole mapping in pieces: its runs, and the gaps between them. Ranges at the ends that the mapping covers
/// only partly are separate pieces.
fn stretches(mapping: &Mapping, huge: u64) -> impl Iterator<Item = (u64, u64, Option<&Pages>)> {
    let mut runs = mapping.runs.iter().peekable();
    let mut at = mapping.start;
    let huge = huge.max(1);
    std::iter::from_fn(move || {
        if at >= mapping.end {
            return None;
        }
        let start = at;
        if let Some(run) = runs.next_if(|run| run.start <= start) {
            at = run.end.clamp(start + 1, mapping.end);
            return Some((start, at, Some(&run.pages)));
        }
        let gap = runs
            .peek()
            .map_or(mapping.end, |run| run.start.min(mapping.end));
        let border = |address: u64| address - address % huge;
        let last_border = border(gap);
        at = if !start.is_multiple_of(huge) {
            border(start).saturating_add(huge).min(gap)
        } else if last_border > start {
            last_border
        } else {
            gap
        };
        Some((start, at, None))
    })
}

/// A judgement that can still grow.
struct Open<'a> {
    first: Range<'a>,
    end: u64,
    code: Code,
    certainty: Certainty,
    still: Option<(Code, Certainty)>,
    totals: Totals,
}

impl<'a> Open<'a> {
    fn begin(range: Range<'a>) -> Self {
        let (code, certainty) = reason(&range);
        Self {
            first: range,
            end: range.end,
            still: still(&range, code),
            code,
            certainty,
            totals: Totals::of(&range),
        }
    }

    fn is_like(&self, other: &Self) -> bool {
        let still = |one: &Self| one.still.as_ref().map(|(code, _)| *code);
        self.code == other.code
            && same_kind(&self.certainty, &other.certainty)
            && still(self) == still(other)
    }

    fn join(&mut self, other: Self) {
        self.end = other.end;
        unite(&mut self.certainty, other.certainty);
        if let (Some((_, ours)), Some((_, theirs))) = (&mut self.still, other.still) {
            unite(ours, theirs);
        }
        self.totals.add(&other.totals);
    }

    fn end(self, wording: &Wording) -> Judgement {
        let range = Range {
            end: self.end,
            ..self.first
        };
        let in_words = wording.of(range.index);
        let totals = &self.totals;
        let evidence = |code: Code, certainty: &Certainty| match in_words {
            true => evidence(&range, code, certainty, totals),
            false => Vec::new(),
        };
        let still = |(code, certainty)| {
            Box::new(Obstacle {
                evidence: evidence(code, &certainty),
                code,
                certainty,
            })
        };
        Judgement {
            start: range.start,
            end: range.end,
            mapping: range.index,
            ranges: totals.ranges,
            resident_bytes: resident_bytes(&range, totals),
            evidence: evidence(self.code, &self.certainty),
            repair: in_words
                .then(|| self.code.fix(range.space, range.mapping))
                .flatten(),
            code: self.code,
            still: self.still.map(still),
            certainty: self.certainty,
        }
    }
}

fn resident_bytes(range: &Range<'_>, totals: &Totals) -> Option<u64> {
    let bytes = || totals.resident_pages() * range.space.page_bytes;
    range.pages_were_read().then(bytes)
}

/// Returns the evidence in a vector without spare capacity: there can be as many as there are mappings.
fn evidence(range: &Range<'_>, code: Code, certainty: &Certainty, totals: &Totals) -> Vec<String> {
    let facts = Facts {
        range,
        certainty,
        totals,
    };
    let mut evidence = (code.row().evidence)(&facts);
    evidence.shrink_to_fit();
    evidence
}

fn same_kind(one: &Certainty, other: &Certainty) -> bool {
    std::mem::discriminant(one) == std::mem::discriminant(other)
}

/// Combines two certainties: a reason that is possible for one is possible for both together.
fn unite(ours: &mut Certainty, theirs: Certainty) {
    if let (Certainty::OneOf(ours), Certainty::OneOf(theirs)) = (ours, theirs) {
        for code in theirs {
            if !ours.contains(&code) {
                ours.push(code);
            }
        }
    }
}
