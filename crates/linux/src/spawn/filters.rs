//! Filters of system calls (seccomp) that a program has besides those that it was started with.

use crate::machine::root::Root;
use crate::proc::status::read_status;

/// The number of filters of a process; `None` if the kernel does not say it (before Linux 5.9).
fn count(pid: u32) -> Option<u64> {
    let status = read_status(&Root::real(), pid).ok()?;
    status.seccomp_filters
}

/// The filters that a tree is started with.
#[derive(Clone, Copy, Debug)]
pub(super) struct Filters {
    /// Their number.
    first: Option<u64>,
    /// A process of the tree may have more.
    may_have_more: bool,
}

impl Filters {
    /// Those of this process, which a child inherits, and the one of its tracer. More are looked for
    /// once a process has asked for one.
    pub(super) fn with_ours() -> Self {
        Self {
            first: count(std::process::id()).map(|it| it + 1),
            may_have_more: false,
        }
    }

    /// Those of a process that runs.
    pub(super) fn of(pid: u32) -> Self {
        Self {
            first: count(pid),
            may_have_more: true,
        }
    }

    /// A process of the tree asks for one.
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
