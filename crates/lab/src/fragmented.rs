//! `fragmented`: keeps free memory in a given state of fragmentation while the other end of its stdin stays open.
//!
//! The share is that of free memory in blocks smaller than a huge page, over all zones (`/proc/buddyinfo`): the
//! kernel's *unusable free space index* for that order (`unusable_free_index`, mm/vmstat.c).

use std::fs;
use std::io::BufRead;
use std::process::ExitCode;

use crate::arguments::Arguments;
use crate::memory_budget::{Room, be_first_to_go, room};
use crate::region::{Advice, Align, Region, huge_bytes, page_bytes};
use crate::{Trouble, tell};

/// Bytes to fill between two checks of the machine.
const STEP: usize = 64 << 20;

/// How often to fill more before starting over.
const ATTEMPTS: usize = 3;

/// One page of this many consecutive ones stays allocated. The largest free block is then half as large.
const ONE_OF: usize = 16;

/// The shortfall at which a state still counts as reached, because programs start and end.
pub(crate) const TOLERANCE: f64 = 0.01;

/// `fragmented --to PERCENT`: brings free memory to a share of PERCENT in small blocks, and prints
/// `fragmented SHARE free BYTES kept BYTES`. Each line on stdin makes it check again, repair the state if a program has
/// changed it, and print such a line again. When stdin closes, it ends and its memory is freed; the same happens if the
/// process is killed.
///
/// SHARE is the measured share, between 0 and 1, and can exceed the requested one.
pub(crate) fn run(arguments: &mut Arguments) -> Result<ExitCode, Trouble> {
    let percent = arguments.needed("--to")?;
    arguments.finish()?;
    if percent == 0 || percent >= 100 {
        let wrong = format!("--to {percent}: write a percentage between 1 and 99");
        return Err(Trouble::Usage(wrong));
    }
    be_first_to_go();
    end_with_parent();
    let mut holder = Holder::reach(percent)?;
    tell(holder.line()?);
    for line in std::io::stdin().lock().lines() {
        // A read error counts as the end of the input.
        if line.is_err() {
            break;
        }
        holder.repair()?;
        tell(holder.line()?);
    }
    Ok(ExitCode::SUCCESS)
}

/// The current share of free memory in blocks smaller than a huge page.
pub(crate) fn share_now() -> Result<f64, Trouble> {
    Ok(Free::now()?.share())
}

/// Free memory of the machine.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Free {
    /// In all blocks.
    bytes: f64,
    /// In blocks of at least a huge page.
    huge: f64,
}

impl Free {
    fn now() -> Result<Self, Trouble> {
        let doing = "reading /proc/buddyinfo";
        let text = fs::read_to_string("/proc/buddyinfo").map_err(|e| Trouble::Kernel(doing, e))?;
        parse(&text, page_bytes(), huge_bytes())
            .ok_or_else(|| Trouble::Kernel(doing, std::io::ErrorKind::InvalidData.into()))
    }

    /// The share in blocks smaller than a huge page.
    fn share(self) -> f64 {
        if self.bytes > 0.0 {
            1.0 - self.huge / self.bytes
        } else {
            1.0
        }
    }

    /// The bytes to fill so that the share is `aim` after all except one in [`ONE_OF`] pages are freed. All small
    /// blocks are used up first, because the kernel allocates them first.
    fn to_fill(self, aim: f64) -> f64 {
        let kept = 1.0 / ONE_OF as f64;
        let huge = (self.huge - (1.0 - aim) * self.bytes) / (1.0 - (1.0 - aim) * kept);
        if huge > 0.0 {
            huge + self.bytes - self.huge
        } else {
            0.0
        }
    }
}

/// Free blocks by order, one line for each zone.
fn parse(text: &str, page: usize, huge: usize) -> Option<Free> {
    let least = (huge / page).ilog2() as usize;
    let mut free = Free {
        bytes: 0.0,
        huge: 0.0,
    };
    for line in text.lines() {
        let (_, zone) = line.split_once("zone")?;
        for (order, count) in zone.split_whitespace().skip(1).enumerate() {
            let count: u64 = count.parse().ok()?;
            let bytes = count as f64 * page as f64 * 2_f64.powi(i32::try_from(order).ok()?);
            free.bytes += bytes;
            if order >= least {
                free.huge += bytes;
            }
        }
    }
    Some(free)
}

/// Refuses an aim that needs too much memory, and names a possible one.
fn check(aim: f64) -> Result<(), Trouble> {
    let free = Free::now()?;
    let room = room().map_err(Trouble::NotHere)?;
    refusal(free, &room, aim).map_or(Ok(()), |why| Err(Trouble::NotHere(why)))
}

fn refusal(free: Free, room: &Room, aim: f64) -> Option<String> {
    let bytes = room.bytes as f64;
    if free.to_fill(aim) <= bytes {
        return None;
    }
    let possible = (1..99_u32).rev().map(|percent| f64::from(percent) / 100.0);
    let most = possible.into_iter().find(|&aim| free.to_fill(aim) <= bytes);
    Some(format!(
        "{:.0} % of free memory in small blocks needs {:.0} MiB for a moment, and {} leaves \
         {:.0} MiB; the most that can be had is {:.0} %",
        aim * 100.0,
        free.to_fill(aim) / f64::from(1 << 20),
        room.bound,
        bytes / f64::from(1 << 20),
        most.unwrap_or(free.share()) * 100.0,
    ))
}

/// Memory held so that free memory stays fragmented; freed on drop.
pub(crate) struct Holder {
    aim: f64,
    /// Regions in which one page of [`ONE_OF`] is allocated, with the bytes filled.
    kept: Vec<(Region, usize)>,
}

impl Drop for Holder {
    fn drop(&mut self) {
        self.give_back();
    }
}

impl Holder {
    /// Brings free memory to a share of this percentage in small blocks, or leaves it unchanged if the share is larger
    /// already.
    pub(crate) fn reach(percent: usize) -> Result<Self, Trouble> {
        let mut holder = Self {
            aim: percent as f64 / 100.0,
            kept: Vec::new(),
        };
        check(holder.aim)?;
        holder.repair()?;
        Ok(holder)
    }

    /// The held memory, in bytes.
    pub(crate) fn kept_bytes(&self) -> usize {
        self.kept.iter().map(|(_, filled)| filled / ONE_OF).sum()
    }

    fn give_back(&mut self) {
        for (region, _) in self.kept.drain(..) {
            region.unmap();
        }
    }

    fn line(&self) -> Result<String, Trouble> {
        let free = Free::now()?;
        Ok(format!(
            "fragmented {:.4} free {:.0} kept {}",
            free.share(),
            free.bytes,
            self.kept_bytes()
        ))
    }

    /// Does nothing if the state is reached. Otherwise fills more, several times if other programs free memory. If that
    /// fails because compaction has merged the held pages, frees all and starts over.
    fn repair(&mut self) -> Result<(), Trouble> {
        for attempt in 0..2 * ATTEMPTS {
            if Free::now()?.share() >= self.aim - TOLERANCE {
                return Ok(());
            }
            if attempt == ATTEMPTS {
                self.give_back();
            }
            self.fill()?;
        }
        Ok(())
    }

    /// Fills memory until freeing most of it would reach the state; then frees that part.
    fn fill(&mut self) -> Result<(), Trouble> {
        let most = Free::now()?.bytes as usize;
        let region = Region::fresh(most / page_bytes(), Align::Huge, Advice::Small)?;
        let mut filled = 0;
        while filled + STEP <= most && !enough(Free::now()?, filled, self.aim) && has_room() {
            region.write_part(filled, STEP);
            filled += STEP;
        }
        for run in (0..filled).step_by(ONE_OF * page_bytes()) {
            region.forget(run + page_bytes(), (ONE_OF - 1) * page_bytes())?;
        }
        self.kept.push((region, filled));
        Ok(())
    }
}

/// Returns true if the free memory, together with most of the filled memory, would be fragmented enough.
fn enough(now: Free, filled: usize, aim: f64) -> bool {
    let returned = filled as f64 * (1.0 - 1.0 / ONE_OF as f64);
    now.huge <= (1.0 - aim) * (now.bytes + returned)
}

fn has_room() -> bool {
    room().is_ok_and(|room| room.bytes > STEP as u64)
}

/// A holder whose parent was killed has no purpose. Its stdin closes then, but it does not read it while it fills
/// memory.
fn end_with_parent() {
    // SAFETY: sets a flag of this process; if the kernel refuses, the closed stdin still ends it.
    unsafe { libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL) };
}

#[cfg(test)]
mod tests {
    use super::*;

    const BLOCKS: &str = "Node 0, zone      DMA      4      2      0      0      0      0      0      0      0      1      2 \n\
        Node 0, zone   Normal      0      0      0      0      0      0      0      0      8      3      0 \n";

    #[test]
    fn blocks_are_summed_by_size() {
        let page = 4096_f64;
        let free = parse(BLOCKS, 4096, 2 << 20).unwrap();
        let small = (4.0 + 2.0 * 2.0 + 8.0 * 256.0) * page;
        let huge = (512.0 * 4.0 + 1024.0 * 2.0) * page;
        assert_eq!(free.huge, huge);
        assert_eq!(free.bytes, small + huge);
        assert!((free.share() - small / (small + huge)).abs() < 1e-12);
        assert_eq!(parse("nonsense", 4096, 2 << 20), None);
    }

    #[test]
    fn a_state_that_needs_more_than_may_be_used_is_refused_with_one_that_fits() {
        let free = Free {
            bytes: 8e9,
            huge: 8e9,
        };
        let room = Room {
            bytes: 2 << 30,
            bound: "MemAvailable".to_owned(),
        };
        assert_eq!(refusal(free, &room, 0.2), None);
        let why = refusal(free, &room, 0.8).unwrap();
        assert!(why.contains("MemAvailable leaves 2048 MiB"), "{why}");
        let most: f64 = why.split(' ').rev().nth(1).unwrap().parse().unwrap();
        assert!((20.0..40.0).contains(&most), "{why}");
        assert_eq!(refusal(free, &room, most / 100.0), None);
        assert!(refusal(free, &room, (most + 1.0) / 100.0).is_some());
    }

    /// Filling the computed amount and freeing most of it gives the state.
    #[test]
    fn what_is_to_be_filled_makes_the_state() {
        for (bytes, huge) in [(1e9, 1e9), (1e9, 9e8), (5e9, 3e9)] {
            for aim in [0.1, 0.5, 0.8, 0.95] {
                let free = Free { bytes, huge };
                let fill = free.to_fill(aim);
                if fill == 0.0 {
                    assert!(free.share() >= aim - 1e-9, "{free:?} {aim}");
                    continue;
                }
                let of_huge = fill - (bytes - huge);
                let kept = of_huge / ONE_OF as f64;
                let after = Free {
                    bytes: bytes - kept,
                    huge: huge - of_huge,
                };
                assert!((after.share() - aim).abs() < 1e-9, "{free:?} {aim}");
            }
        }
    }
}
