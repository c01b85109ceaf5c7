//! `fragmented`: free memory kept in a stated state of fragmentation, as long as somebody holds
//! the other end of its stdin.
//!
//! The share is that of free memory in blocks smaller than a huge page, over all zones
//! (`/proc/buddyinfo`): the kernel's *unusable free space index* for that order
//! (`unusable_free_index`, mm/vmstat.c).

use std::fs;
use std::io::BufRead;
use std::process::ExitCode;

use crate::arguments::Arguments;
use crate::memory_budget::{Room, be_first_to_go, room};
use crate::region::{Advice, Align, Region, huge_bytes, page_bytes};
use crate::{Trouble, tell};

/// What is filled between two looks at the machine.
const STEP: usize = 64 << 20;

/// How often more is filled before everything is begun anew.
const ATTEMPTS: usize = 3;

/// Of so many pages in a row one stays. A block of half as many is then the largest that is free.
const ONE_OF: usize = 16;

/// Below the aim by this, a state is still what was asked for: programs come and go.
pub(crate) const TOLERANCE: f64 = 0.01;

/// `fragmented --to PERCENT`: brings free memory to the share of PERCENT in small blocks, and
/// prints `fragmented SHARE free BYTES kept BYTES`. Each line on stdin then has it look again,
/// repair the state where a program has changed it, and print such a line anew. When stdin
/// closes it ends, and its memory is free again; so it is when the process is killed.
///
/// SHARE is what was found, between 0 and 1, and may be above what was asked for.
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
        // An end that cannot be read is an end.
        if line.is_err() {
            break;
        }
        holder.repair()?;
        tell(holder.line()?);
    }
    Ok(ExitCode::SUCCESS)
}

/// The share of free memory in blocks smaller than a huge page, now.
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

    /// What must be filled, so that the share is `aim` once all but one in [`ONE_OF`] pages of
    /// it are given back. All small blocks are used up first: they are what is given out first.
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

/// Refuses an aim for which there is no room, naming one that there is room for.
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

/// What is kept so that free memory stays in pieces; given back when it is dropped.
pub(crate) struct Holder {
    aim: f64,
    /// Of each region one page in [`ONE_OF`] is there.
    kept: Vec<(Region, usize)>,
}

impl Drop for Holder {
    fn drop(&mut self) {
        self.give_back();
    }
}

impl Holder {
    /// Brings free memory to a share of so many percent in small blocks, or leaves it where it
    /// has more of them already.
    pub(crate) fn reach(percent: usize) -> Result<Self, Trouble> {
        let mut holder = Self {
            aim: percent as f64 / 100.0,
            kept: Vec::new(),
        };
        check(holder.aim)?;
        holder.repair()?;
        Ok(holder)
    }

    /// Memory that is kept, in bytes.
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

    /// Nothing where the state is as asked for; else more is filled, and again where others
    /// gave memory back meanwhile; and where that does not do, because compaction has moved
    /// what is kept together, all from the beginning.
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

    /// Fills until so little is left in huge blocks that giving back most of what was filled
    /// makes the state; then gives it back.
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

/// Whether what is free now, and most of what was filled, would be fragmented enough.
fn enough(now: Free, filled: usize, aim: f64) -> bool {
    let returned = filled as f64 * (1.0 - 1.0 / ONE_OF as f64);
    now.huge <= (1.0 - aim) * (now.bytes + returned)
}

fn has_room() -> bool {
    room().is_ok_and(|room| room.bytes > STEP as u64)
}

/// A holder whose parent was killed has nothing to hold for. Its stdin closes then, but while it
/// fills memory it does not look there.
fn end_with_parent() {
    // SAFETY: sets a flag of this process; where the kernel refuses, stdin is the way.
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

    /// Filling as much as it says, and giving back most of it, is the state.
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
