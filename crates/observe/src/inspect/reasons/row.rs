//! The description of a reason: one [`Row`] each, in the file of its family.

use crate::address_space::{Mapping, Space};
use hugewise_base::units::bytes_text;

use super::range::{Fit, Range};
use super::totals::Totals;
use super::{Certainty, Code};

/// The description of one reason.
pub(super) struct Row {
    /// The state of memory with this reason.
    pub(super) state: State,
    /// How it is recognised.
    pub(super) rule: Rule,
    /// Returns the evidence, one fact each.
    pub(super) evidence: fn(&Facts<'_>) -> Vec<String>,
    /// Returns the state of the machine or the process that makes the reason possible, if pages do not show it.
    pub(super) circumstance: fn(&Range<'_>) -> Option<String>,
    /// What happens in the kernel.
    pub(super) what: &'static str,
    /// The kernel versions, for orientation. Backports change them, so they never decide a reason.
    pub(super) kernels: &'static str,
    /// Where user space sees it, and with which capability.
    pub(super) sign: &'static str,
    /// How to fix it.
    pub(super) fix: Fix,
    /// The source of the documentation.
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
    /// Not in use.
    Unused,
    /// Small, although all current settings allow huge pages.
    Eligible,
    /// Small because of a setting or advice.
    Setting,
    /// Small memory of a file, or shared memory.
    File,
    /// Small because of the size, position or kind of its mapping.
    Shape,
}

/// How a reason is recognised.
pub(super) enum Rule {
    /// If it matches, it is the reason, and later rows are not tried.
    Decides(fn(&Range<'_>) -> bool),
    /// Like [`Decides`](Self::Decides), but also returns other reasons that look the same.
    DecidesOneOf(fn(&Range<'_>) -> bool, fn(&Range<'_>) -> Vec<Code>),
    /// Part of the history of the range. All such reasons are weighed against each other.
    History(fn(&Range<'_>) -> Fit),
    /// Explains why khugepaged has not made the range huge since.
    Still(fn(&Range<'_>) -> Fit),
    /// The data never shows it.
    Unseen,
}

/// The input for evidence.
pub(super) struct Facts<'a> {
    pub(super) range: &'a Range<'a>,
    pub(super) certainty: &'a Certainty,
    pub(super) totals: &'a Totals,
}

/// No evidence.
pub(super) fn nothing(_: &Facts<'_>) -> Vec<String> {
    Vec::new()
}

/// How to fix a reason. `{pid}` and `{huge}` are replaced by the process and the size of a huge page.
#[derive(Clone, Copy, Debug)]
pub(super) struct Fix {
    text: &'static str,
    applies: fn(&Mapping) -> bool,
    /// Replaces the text if the process is known.
    specific: Option<fn(&Space, &Mapping) -> String>,
}

impl Fix {
    /// A fix for every mapping.
    pub(super) const fn new(text: &'static str) -> Self {
        Self::only(|_| true, text)
    }

    /// A fix for mappings that meet a condition.
    pub(super) const fn only(applies: fn(&Mapping) -> bool, text: &'static str) -> Self {
        Self {
            text,
            applies,
            specific: None,
        }
    }

    /// A fix that depends on the program; the text is the general form.
    pub(super) const fn by_program(
        specific: fn(&Space, &Mapping) -> String,
        text: &'static str,
    ) -> Self {
        Self::new(text).by_owner(specific)
    }

    /// The same fix, adapted to the owner of the mapping.
    pub(super) const fn by_owner(self, specific: fn(&Space, &Mapping) -> String) -> Self {
        Self {
            specific: Some(specific),
            ..self
        }
    }

    /// Nothing needs to be fixed, or nothing can be.
    pub(super) const fn nothing(text: &'static str) -> Self {
        Self::only(|_| false, text)
    }

    /// The fix for a mapping of a process; `None` if there is none.
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

    /// The fix for any process.
    pub(super) fn general(&self) -> String {
        self.with("PID", "the huge-page size")
    }

    fn with(&self, pid: &str, huge: &str) -> String {
        self.text.replace("{pid}", pid).replace("{huge}", huge)
    }
}
