//! Fragments free memory with a separate process, which holds every other piece.
//!
//! The fragmentation ends with that process, which exits when its stdin closes: together with this program, however it
//! ends. So no journal is needed to undo it. Memory that other programs received during that time stays scattered;
//! [`compact`] asks the kernel to compact it.

use std::io::{BufRead, BufReader, Read, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;

use crate::machine::error::{Error, Kind, Result};
use crate::machine::root::Root;
use crate::proc::buddyinfo::{read_buddyinfo, small_block_share};

/// The file that triggers compaction (mm/compaction.c).
const COMPACT: &str = "proc/sys/vm/compact_memory";

/// The state of free memory.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct FreeMemoryState {
    /// The share of free memory in blocks smaller than a huge page, 0 to 1.
    pub share: f64,
    /// Free memory in bytes.
    pub free_bytes: u64,
    /// Memory held to maintain the state, in bytes.
    pub kept_bytes: u64,
}

/// Maintains the state until dropped.
#[derive(Debug)]
pub struct Fragmented {
    process: Child,
    /// Closing it ends the process.
    ask: Option<ChildStdin>,
    output: BufReader<ChildStdout>,
}

impl Fragmented {
    /// Brings free memory to this percentage in small blocks, with the program `laboratory`. This takes a while on a
    /// large machine: `None` if `asked` was set before the end.
    ///
    /// # Errors
    /// The process could not be started, or reports why the state cannot be reached: there is not enough memory.
    pub fn reach(
        laboratory: &Path,
        percent: u32,
        asked: impl Fn() -> bool,
    ) -> Result<Option<(Self, FreeMemoryState)>> {
        let fault = |error| Error::io("starting", laboratory, error);
        let mut process = Command::new(laboratory)
            .args(["fragmented", "--to", &percent.to_string()])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .map_err(fault)?;
        let pipes = process.stdin.take().zip(process.stdout.take());
        let (ask, output) = pipes.ok_or_else(|| fault(std::io::ErrorKind::BrokenPipe.into()))?;
        let mut held = Self {
            process,
            ask: Some(ask),
            output: BufReader::new(output),
        };
        while !held.has_spoken() {
            if asked() {
                return Ok(None);
            }
        }
        let state = held.read()?;
        Ok(Some((held, state)))
    }

    /// Waits briefly; returns true if the process has printed something or ended.
    fn has_spoken(&self) -> bool {
        const LOOK: Timespec = Timespec {
            tv_sec: 0,
            tv_nsec: 100_000_000,
        };
        let mut output = [PollFd::new(self.output.get_ref(), PollFlags::IN)];
        // The caller handles a signal that interrupts the wait.
        !matches!(poll(&mut output, Some(&LOOK)), Ok(0) | Err(Errno::INTR))
    }

    /// Restores the state after programs have changed it.
    ///
    /// # Errors
    /// The process has ended.
    pub fn repair(&mut self) -> Result<FreeMemoryState> {
        if let Some(ask) = &mut self.ask {
            // An ended process does not answer, which is reported below.
            let _ = ask.write_all(b"\n");
        }
        self.read()
    }

    fn read(&mut self) -> Result<FreeMemoryState> {
        let mut line = String::new();
        let _ = self.output.read_line(&mut line);
        match parse_state(&line) {
            Some(state) => Ok(state),
            None => Err(self.gone()),
        }
    }

    /// Explains the missing answer: the last output of the process, or how it ended.
    fn gone(&mut self) -> Error {
        self.ask = None;
        let mut words = String::new();
        if let Some(mut stderr) = self.process.stderr.take() {
            let _ = stderr.read_to_string(&mut words);
        }
        let ended = self.process.wait();
        let words = words.trim();
        let why = match (words.is_empty(), ended) {
            (false, _) => words
                .strip_prefix("hugewise-lab: ")
                .unwrap_or(words)
                .to_owned(),
            (true, Ok(status)) => format!("the process that holds it ended: {status}"),
            (true, Err(error)) => error.to_string(),
        };
        Error {
            doing: "fragmenting free memory".to_owned(),
            kind: Kind::Other(why),
            path: None,
            source: None,
        }
    }
}

impl Drop for Fragmented {
    fn drop(&mut self) {
        self.ask = None;
        // It may be filling memory, and not reading its stdin.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// Parses `fragmented SHARE free BYTES kept BYTES`.
fn parse_state(line: &str) -> Option<FreeMemoryState> {
    let words: Vec<&str> = line.split_whitespace().collect();
    let ["fragmented", share, "free", free, "kept", kept] = words[..] else {
        return None;
    };
    Some(FreeMemoryState {
        share: share
            .parse()
            .ok()
            .filter(|share| (0.0..=1.0).contains(share))?,
        free_bytes: free.parse().ok()?,
        kept_bytes: kept.parse().ok()?,
    })
}

/// Returns the current share of free memory in blocks smaller than a huge page.
///
/// # Errors
/// `/proc/buddyinfo` cannot be read or parsed.
pub fn share_now(root: &Root, page_bytes: u64, huge_bytes: u64) -> Result<f64> {
    let blocks = read_buddyinfo(root)?;
    Ok(small_block_share(&blocks, page_bytes, huge_bytes))
}

/// Asks the kernel to compact memory; this changes no setting.
///
/// # Errors
/// The kernel refuses, because root is required.
pub fn compact(root: &Root) -> Result<()> {
    let path = root.path(COMPACT);
    std::fs::write(&path, "1").map_err(|error| Error::io("writing", &path, error))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_state_is_one_line() {
        let state = parse_state("fragmented 0.7914 free 3950374912 kept 801112064\n");
        let state = state.unwrap();
        assert_eq!((state.share, state.kept_bytes), (0.7914, 801_112_064));
        for line in [
            "",
            "fragmented 2 free 1 kept 1",
            "fragmented 0.5 free 1",
            "pages 1 faults 1",
        ] {
            assert_eq!(parse_state(line), None, "{line}");
        }
    }

    #[test]
    fn a_holder_that_says_nothing_is_an_error_with_how_it_ended() {
        let reach = |path| Fragmented::reach(Path::new(path), 50, || false);
        let error = reach("/bin/false").unwrap_err();
        assert!(error.to_string().contains("exit status: 1"), "{error}");
        assert!(reach("/nowhere").is_err());
    }

    #[test]
    fn who_asks_for_the_end_does_not_wait_for_the_state() {
        let began = std::time::Instant::now();
        let folder = tempfile::tempdir().unwrap();
        let silent = folder.path().join("silent");
        std::fs::write(&silent, "#!/bin/sh\nexec sleep 60\n").unwrap();
        let mode = std::os::unix::fs::PermissionsExt::from_mode(0o755);
        std::fs::set_permissions(&silent, mode).unwrap();
        assert!(Fragmented::reach(&silent, 50, || true).unwrap().is_none());
        assert!(began.elapsed().as_secs() < 10);
    }

    proptest! {
        #[test]
        fn any_line_is_survived(line in ".*") {
            let _ = parse_state(&line);
        }
    }
}
