//! Free memory fragmented by a process of its own, which holds every other piece.
//!
//! Nothing of it outlives that process, which ends when its stdin closes: with this program,
//! however that ends. So no journal has to undo it. What other programs were given meanwhile does
//! lie scattered afterwards; [`compact`] asks the kernel to move
//! it together.

use std::io::{BufRead, BufReader, Read, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;

use crate::machine::error::{Error, Kind, Result};
use crate::machine::root::Root;
use crate::proc::buddyinfo::{read_buddyinfo, small_block_share};

/// Where the kernel is asked to move pages together (mm/compaction.c).
const COMPACT: &str = "proc/sys/vm/compact_memory";

/// The state of free memory.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct FreeMemoryState {
    /// The share in blocks smaller than a huge page, 0 to 1.
    pub share: f64,
    /// Free memory in bytes.
    pub free_bytes: u64,
    /// Memory that is held for it, in bytes.
    pub kept_bytes: u64,
}

/// The state as long as this exists.
#[derive(Debug)]
pub struct Fragmented {
    process: Child,
    /// Closed, it ends the process.
    ask: Option<ChildStdin>,
    output: BufReader<ChildStdout>,
}

impl Fragmented {
    /// Brings free memory to so many percent in small blocks, by the program `laboratory`. On a
    /// large machine that takes a while: `None` where the end was `asked` for meanwhile.
    ///
    /// # Errors
    /// It could not be started, or says why the state cannot be had: there is no room for it.
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

    /// Whether it has said something, or ended; waits for that a little.
    fn has_spoken(&self) -> bool {
        const LOOK: Timespec = Timespec {
            tv_sec: 0,
            tv_nsec: 100_000_000,
        };
        let mut output = [PollFd::new(self.output.get_ref(), PollFlags::IN)];
        // A signal that interrupts the wait is looked at by the caller.
        !matches!(poll(&mut output, Some(&LOOK)), Ok(0) | Err(Errno::INTR))
    }

    /// Brings the state about again where programs have changed it.
    ///
    /// # Errors
    /// The process is gone.
    pub fn repair(&mut self) -> Result<FreeMemoryState> {
        if let Some(ask) = &mut self.ask {
            // A process that is gone writes nothing, which is reported below.
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

    /// Why the process said nothing: its last words, or how it ended.
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
        // It may be filling memory just now, and does not look at its stdin then.
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

/// The share of free memory in blocks smaller than a huge page, now.
///
/// # Errors
/// `/proc/buddyinfo` cannot be read or understood.
pub fn share_now(root: &Root, page_bytes: u64, huge_bytes: u64) -> Result<f64> {
    let blocks = read_buddyinfo(root)?;
    Ok(small_block_share(&blocks, page_bytes, huge_bytes))
}

/// Asks the kernel to move pages together, which changes no setting.
///
/// # Errors
/// The kernel refuses: it takes root.
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
