//! Loops with a known number of TLB misses.
//!
//! Each access goes to the next page of a fixed cyclic order, which visits every page once before it comes back. If the
//! TLB holds all pages, no access misses after the first lap. If it holds few pages, every access misses. The order
//! is a linear congruence, so neither a prefetcher nor a neighbouring page helps.

use std::io::{BufRead, stdin};
use std::process::ExitCode;

use crate::arguments::Arguments;
use crate::memory_budget;
use crate::region::page_bytes;
use crate::{Trouble, tell};
use backing::{Backing, Pages};
use code::Hops;
use data::Accesses;

mod backing;
mod code;
mod data;

/// The distance between two lines that share no cache line, in bytes.
const LINE: usize = 64;

/// `tlb --side read|write|code --page small|huge --pages N --step S [--cpu C]`: N places, S pages and one line apart
/// (with 0: one line), on one processor. It prints `tlb PID INSTRUCTIONS`, the instructions of one access. For each line
/// `A` on stdin it then makes A accesses, and prints `done`. A is a multiple of N, a power of two.
pub(crate) fn run(arguments: &mut Arguments) -> Result<ExitCode, Trouble> {
    let side = arguments.word("--side")?.unwrap_or_default();
    let page = arguments.word("--page")?.unwrap_or_default();
    let places = arguments.needed("--pages")?;
    let step = arguments.needed("--step")?;
    let cpu = arguments.number("--cpu")?;
    arguments.finish()?;
    if !places.is_power_of_two() {
        return Err(Trouble::Usage("--pages is a power of two".to_owned()));
    }
    stay_on(cpu)?;
    memory_budget::be_first_to_go();
    match (side.as_str(), page.as_str()) {
        ("read", _) => serve(&mut Accesses::reads(mapped(&page, places, step)?)?),
        ("write", _) => serve(&mut Accesses::writes(mapped(&page, places, step)?)?),
        ("code", "small") => serve(&mut Hops::new(places, step)?),
        ("code", _) => Err(Trouble::NotHere(
            "a loop over code in huge pages: a jump does not reach them all".to_owned(),
        )),
        _ => Err(Trouble::Usage("--side is read, write or code".to_owned())),
    }
}

fn mapped(page: &str, places: usize, step: usize) -> Result<Backing, Trouble> {
    let pages = match page {
        "small" => Pages::Small {
            stride: step * page_bytes() + LINE,
        },
        "huge" => Pages::Huge,
        _ => return Err(Trouble::Usage("--page is small or huge".to_owned())),
    };
    Backing::new(pages, places)
}

/// A loop that can be repeated.
trait Loop {
    /// The number of places.
    fn places(&self) -> usize;

    /// The number of instructions of one access.
    fn instructions(&self) -> usize;

    /// Makes so many accesses, a multiple of the places.
    fn run(&mut self, accesses: usize);
}

/// Makes a lap for each line on stdin, after two laps that fill caches and TLB.
fn serve(one: &mut impl Loop) -> Result<ExitCode, Trouble> {
    one.run(2 * one.places());
    tell(format_args!(
        "tlb {} {}",
        std::process::id(),
        one.instructions()
    ));
    for line in stdin().lock().lines() {
        let line = line.map_err(|error| Trouble::Kernel("reading stdin", error))?;
        let accesses = line.trim().parse().ok();
        let accesses = accesses.filter(|it: &usize| *it > 0 && it.is_multiple_of(one.places()));
        let accesses = accesses.ok_or_else(|| {
            let places = one.places();
            Trouble::Usage(format!("`{line}` accesses: not a multiple of {places}"))
        })?;
        one.run(accesses);
        tell("done");
    }
    Ok(ExitCode::SUCCESS)
}

/// Keeps this process on one processor: the given one, or the current one. A move would empty the TLB.
fn stay_on(cpu: Option<usize>) -> Result<(), Trouble> {
    // SAFETY: sched_getcpu has no preconditions.
    let current = unsafe { libc::sched_getcpu() };
    let cpu = cpu.or_else(|| usize::try_from(current).ok());
    let cpu = cpu.ok_or_else(|| Trouble::last("asking for the processor"))?;
    if cpu >= libc::CPU_SETSIZE as usize {
        return Err(Trouble::Usage(format!("no processor {cpu}")));
    }
    // SAFETY: a set of bits, for which zeroes are valid.
    let mut set: libc::cpu_set_t = unsafe { std::mem::zeroed() };
    // SAFETY: `cpu` is below the size of the set.
    unsafe { libc::CPU_SET(cpu, &mut set) };
    // SAFETY: the set is valid for its size; 0 means the calling thread.
    match unsafe { libc::sched_setaffinity(0, size_of::<libc::cpu_set_t>(), &raw const set) } {
        0 => Ok(()),
        _ => Err(Trouble::last("staying on a processor")),
    }
}

/// A linear congruence of full period modulo a power of two: the factor is 1 more than a multiple of 4, the step odd.
const FACTOR: usize = 0x01C5_EDD5;
const STEP: usize = 0x3C6E_F35F;

/// The place that follows this one.
fn next(at: usize, places: usize) -> usize {
    at.wrapping_mul(FACTOR).wrapping_add(STEP) & (places - 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lap_visits_every_place_once() {
        for places in [16, 512, 1 << 15] {
            let mut seen = vec![false; places];
            let mut at = 0;
            for _ in 0..places {
                assert!(!std::mem::replace(&mut seen[at], true));
                at = next(at, places);
            }
            assert_eq!(at, 0);
        }
    }
}
