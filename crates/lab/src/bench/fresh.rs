//! Runs each cell in a new process if a cell leaves state that the next one must not find, such as a moved program
//! break or free memory in `malloc`. In addition, glibc reads its tunables only when a process starts.

use std::process::{Command, ExitCode};

use super::backing::Request;
use super::growth::imitation;
use super::line::print_missing;
use super::words::Words;
use crate::Trouble;
use crate::missing::Reason;
use crate::plant::span::Span;
use crate::region::huge_bytes;

/// The prefix of a suite's name that marks the new process.
pub(super) const PREFIX: &str = "fresh-";

/// The variable from which glibc reads its tunables.
const TUNABLES: &str = "GLIBC_TUNABLES";

/// Measures each cell in a new process, which prints its line itself.
pub(super) fn run(suite: &str, cells: &[&str]) -> Result<ExitCode, Trouble> {
    let myself = std::env::current_exe()
        .map_err(|error| Trouble::Kernel("finding the laboratory's file", error))?;
    for cell in cells {
        let mut command = Command::new(&myself);
        let words = ["bench", &format!("{PREFIX}{suite}"), "--cells", cell];
        command.args(words);
        if let Some(tunables) = tunables(suite, cell)? {
            command.env(TUNABLES, tunables);
        }
        let status = command
            .status()
            .map_err(|error| Trouble::Kernel("starting a process for a cell", error))?;
        match status.code() {
            Some(0) => {}
            // The process has reported the error of the cell.
            Some(2) => return Ok(ExitCode::from(2)),
            _ => print_missing(cell, &Reason::Unreadable(format!("its process: {status}"))),
        }
    }
    Ok(ExitCode::SUCCESS)
}

/// The tunables of a cell, appended to those already set; the last one wins.
fn tunables(suite: &str, cell: &str) -> Result<Option<String>, Trouble> {
    if suite != "heap" {
        return Ok(None);
    }
    let own = imitation::find(&mut Words::of(cell))?.tunables();
    let set = std::env::var(TUNABLES).unwrap_or_default();
    let both: Vec<&str> = [set.as_str(), own]
        .into_iter()
        .filter(|each| !each.is_empty())
        .collect();
    Ok((!both.is_empty()).then(|| both.join(":")))
}

/// Touches and frees as much memory as a cell will use, in pages of the same size. Memory that the host of a virtual
/// machine has not backed yet costs a thousand times more at its first touch, and small pages come from other places
/// than huge ones.
pub(super) fn warm(bytes: usize, request: Request) -> Result<(), Trouble> {
    let span = Span::fresh(bytes.div_ceil(huge_bytes()))?;
    // A kernel that refuses the advice has no pages of two sizes.
    let _ = match request {
        Request::Advised => span.try_advise(libc::MADV_HUGEPAGE),
        Request::Small => span.try_advise(libc::MADV_NOHUGEPAGE),
        Request::Plain | Request::Hugetlb(_) => Ok(()),
    };
    span.write();
    span.unmap()
}

/// Why a cell could not be measured; a wrong word remains a usage error.
pub(super) fn reason(trouble: Trouble) -> Result<Reason, Trouble> {
    Ok(match trouble {
        Trouble::Usage(_) => return Err(trouble),
        Trouble::NotHere(what) => Reason::NotSupported(what),
        Trouble::Premise(what) => Reason::Unreadable(what),
        Trouble::Kernel(doing, error) => match error.raw_os_error() {
            Some(libc::EINVAL | libc::ENOSYS) => Reason::NotSupported(format!("{doing}: {error}")),
            _ => Reason::Unreadable(format!("{doing}: {error}")),
        },
    })
}
