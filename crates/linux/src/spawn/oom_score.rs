//! Makes the OOM killer prefer the workload to the program that measures it.

/// The increase, in thousandths of the machine's memory; an increase needs no privilege.
const MORE: i32 = 500;
const MOST: i32 = 1000;

/// The value that a child writes to its `oom_score_adj`.
#[derive(Debug)]
pub(super) struct Sacrifice(String);

impl Sacrifice {
    /// Returns a value above that of this process, which the child would otherwise inherit.
    pub(super) fn of_child() -> Self {
        let own = std::fs::read_to_string("/proc/self/oom_score_adj").unwrap_or_default();
        let own: i32 = own.trim().parse().unwrap_or(0);
        Self((own + MORE).min(MOST).to_string())
    }

    /// Writes the value for this process. Makes system calls only; best effort.
    pub(super) fn offer(&self) {
        // SAFETY: the path ends in NUL, and as many bytes are written as there are; a descriptor
        // that could not be opened is refused.
        unsafe {
            let file = libc::open(c"/proc/self/oom_score_adj".as_ptr(), libc::O_WRONLY);
            libc::write(file, self.0.as_ptr().cast(), self.0.len());
            libc::close(file);
        }
    }
}
