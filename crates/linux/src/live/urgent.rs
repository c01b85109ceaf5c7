//! The priority of a thread that holds locks of another process.

/// Gives the calling thread the highest usual priority until it is dropped. A thread that loses its processor in
/// a call keeps the locks of the other process.
#[derive(Debug)]
pub(super) struct Urgent {
    before: Option<i32>,
}

/// The highest priority of usual scheduling.
const HIGHEST: i32 = -20;

impl Urgent {
    /// Begins. Without the right to, the priority stays.
    pub(super) fn begin() -> Self {
        let before = nice();
        let before = before.filter(|before| *before > HIGHEST && set_nice(HIGHEST));
        Self { before }
    }
}

impl Drop for Urgent {
    fn drop(&mut self) {
        if let Some(before) = self.before {
            set_nice(before);
        }
    }
}

/// Returns the niceness of the calling thread.
fn nice() -> Option<i32> {
    let nice = rustix::process::getpriority_process(None);
    nice.ok()
}

/// Sets it, and returns true if the kernel allows that.
fn set_nice(nice: i32) -> bool {
    rustix::process::setpriority_process(None, nice).is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_priority_is_that_of_before_again() {
        let before = nice();
        drop(Urgent::begin());
        assert_eq!(nice(), before);
    }
}
