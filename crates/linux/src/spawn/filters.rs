//! Detects additional system call filters (seccomp) that a program has installed since its start.

use crate::machine::root::Root;
use crate::proc::status::read_status;

/// Returns the number of filters of a process; `None` if the kernel does not report it (before Linux 5.9).
fn count(pid: u32) -> Option<u64> {
    let status = read_status(&Root::real(), pid).ok()?;
    status.seccomp_filters
}

/// The filters with which a tree is started.
#[derive(Clone, Copy, Debug)]
pub(super) struct Filters {
    /// Their number.
    first: Option<u64>,
    /// True if a process of the tree may have more.
    may_have_more: bool,
}

impl Filters {
    /// Counts the filters of this process, which a child inherits, and the one of its tracer. More filters are searched
    /// for only after a process has requested one.
    pub(super) fn with_ours() -> Self {
        Self {
            first: count(std::process::id()).map(|it| it + 1),
            may_have_more: false,
        }
    }

    /// Counts the filters of a running process.
    pub(super) fn of(pid: u32) -> Self {
        Self {
            first: count(pid),
            may_have_more: true,
        }
    }

    /// Records that a process of the tree requests a filter.
    pub(super) fn may_grow(&mut self) {
        self.may_have_more = true;
    }

    /// Returns true if a thread has more, or may have and the kernel does not say how many.
    pub(super) fn has_more(self, thread: i32) -> bool {
        self.may_have_more
            && match (count(thread.unsigned_abs()), self.first) {
                (Some(now), Some(first)) => now > first,
                _ => self.first.is_none(),
            }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn filters_are_looked_for_once_one_was_asked_for() {
        let own = std::process::id().cast_signed();
        let mut filters = Filters {
            first: None,
            may_have_more: false,
        };
        assert!(!filters.has_more(own));
        filters.may_grow();
        assert!(
            filters.has_more(own),
            "the kernel said no number to compare"
        );
        assert!(!Filters::of(std::process::id()).has_more(own));
        assert!(!Filters::with_ours().has_more(own));
    }
}
