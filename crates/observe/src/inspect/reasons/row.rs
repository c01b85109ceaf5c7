//! What is known of a reason: one [`Row`] each, in the file of its family.

use crate::address_space::{Mapping, Space};
use hugewise_base::units::bytes_text;

use super::range::{Fit, Range};
use super::totals::Totals;
use super::{Certainty, Code};

/// All that is known of one reason.
pub(super) struct Row {
    /// The state of memory that has it.
    pub(super) state: State,
    /// How it is recognised.
    pub(super) rule: Rule,
    /// What was read that it rests on, one fact each.
    pub(super) evidence: fn(&Facts<'_>) -> Vec<String>,
    /// What the machine or the process shows that makes it possible, where pages do not show it.
    pub(super) circumstance: fn(&Range<'_>) -> Option<String>,
    /// What happens in the kernel.
    pub(super) what: &'static str,
    /// Since or until which kernel. For orientation: back-ports move it, so it never decides a
    /// reason alone.
    pub(super) kernels: &'static str,
    /// Where user space sees it, and with which capability.
    pub(super) sign: &'static str,
    /// How to fix it.
    pub(super) fix: Fix,
    /// Where it is documented.
    pub(super) source: &'static str,
}

/// The state of memory with a reason.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    /// PMD-mapped.
    Huge,
    /// Explicit huge pages.
    Explicit,
    /// The huge zero page.
    HugeZero,
    /// Small zero pages.
    SmallZero,
    /// Nothing is in use.
    Unused,
    /// Small, although all that holds now allows huge pages.
    Eligible,
    /// Small by a setting or advice.
    Setting,
    /// Small memory of a file, or shared memory.
    File,
    /// Small because of the size, place or kind of its mapping.
    Shape,
}

/// How a reason is recognised.
pub(super) enum Rule {
    /// If it matches, it is the reason: what follows is not tried.
    Decides(fn(&Range<'_>) -> bool),
    /// The same; other reasons that look alike are named with it.
    DecidesOneOf(fn(&Range<'_>) -> bool, fn(&Range<'_>) -> Vec<Code>),
    /// It is a part of the range's history: all of these are weighed against each other.
    History(fn(&Range<'_>) -> Fit),
    /// It says why khugepaged has not made the range huge since.
    Still(fn(&Range<'_>) -> Fit),
    /// Nothing that is read shows it.
    Unseen,
}

/// What evidence is made of.
pub(super) struct Facts<'a> {
    pub(super) range: &'a Range<'a>,
    pub(super) certainty: &'a Certainty,
    pub(super) totals: &'a Totals,
}

/// No evidence.
pub(super) fn nothing(_: &Facts<'_>) -> Vec<String> {
    Vec::new()
}

/// How to fix a reason. `{pid}` and `{huge}` stand for the process and the size of a huge page.
#[derive(Clone, Copy, Debug)]
pub(super) struct Fix {
    text: &'static str,
    applies: fn(&Mapping) -> bool,
    /// Instead of the text, in a process that is known.
    specific: Option<fn(&Space, &Mapping) -> String>,
}

impl Fix {
    /// A fix for every mapping.
    pub(super) const fn new(text: &'static str) -> Self {
        Self::only(|_| true, text)
    }

    /// A fix for some mappings.
    pub(super) const fn only(applies: fn(&Mapping) -> bool, text: &'static str) -> Self {
        Self {
            text,
            applies,
            specific: None,
        }
    }

    /// A fix that depends on the program; the text is what is said of any.
    pub(super) const fn by_program(
        specific: fn(&Space, &Mapping) -> String,
        text: &'static str,
    ) -> Self {
        Self::new(text).by_owner(specific)
    }

    /// The same, for whoever owns the mapping.
    pub(super) const fn by_owner(self, specific: fn(&Space, &Mapping) -> String) -> Self {
        Self {
            specific: Some(specific),
            ..self
        }
    }

    /// There is nothing to fix, or no way to do it.
    pub(super) const fn nothing(text: &'static str) -> Self {
        Self::only(|_| false, text)
    }

    /// The fix for a mapping of a process; `None` where there is none.
    pub(super) fn of(&self, space: &Space, mapping: &Mapping) -> Option<String> {
        (self.applies)(mapping).then(|| self.filled(space, mapping))
    }

    fn filled(&self, space: &Space, mapping: &Mapping) -> String {
        if let Some(specific) = self.specific {
            return specific(space, mapping);
        }
        let pid = &space.process.pid.to_string();
        let collapse = &space.as_root("hugewise collapse");
        self.with(pid, &bytes_text(space.huge_bytes))
            .replace("hugewise collapse", collapse)
    }

    /// The fix in any process.
    pub(super) fn general(&self) -> String {
        self.with("PID", "the huge-page size")
    }

    fn with(&self, pid: &str, huge: &str) -> String {
        self.text.replace("{pid}", pid).replace("{huge}", huge)
    }
}
