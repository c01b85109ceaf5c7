//! Endless work on fixed memory: a pointer chase that gains from huge pages, and a stream that does not.

use std::fs::File;
use std::io::{Read, stdin};
use std::os::unix::fs::FileExt;
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use crate::arguments::Arguments;
use crate::region::{Advice, Align, Region, page_bytes};
use crate::{Trouble, tell};

/// The read order of words.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Order {
    /// Each word names a random next one: every read misses the TLB of small pages.
    Chase,
    /// In order.
    Stream,
}

/// Words read in one unit of work.
const UNIT: usize = 1 << 12;
/// The file of the count is written after this many units.
const UNITS_PER_WRITE: u64 = 16;
/// A linear congruence of full period modulo a power of two: the factor is 1 more than a multiple of 4, the step odd.
const FACTOR: u64 = 0xD134_2543_DE82_EF95;
const STEP: u64 = 0x9E37_79B9_7F4A_7C15;

/// `steady --order chase|stream --mib N --out FILE [--huge]`: fills N MiB and reads them until stdin closes; writes the
/// number of completed units of work to FILE. Prints `steady PID` when it is ready, and at its end `units U same` if no
/// word has changed, else `units U changed`.
pub(crate) fn run(arguments: &mut Arguments) -> Result<ExitCode, Trouble> {
    let order = match arguments.word("--order")?.as_deref() {
        Some("chase") => Order::Chase,
        Some("stream") => Order::Stream,
        _ => return Err(Trouble::Usage("--order is chase or stream".to_owned())),
    };
    let mib = arguments.needed("--mib")?;
    let path = arguments.word("--out")?;
    let advice = match arguments.switch("--huge") {
        true => Advice::Huge,
        false => Advice::None,
    };
    let seconds = arguments.number("--seconds")?;
    arguments.finish()?;
    let path =
        path.ok_or_else(|| Trouble::Usage("--out names the file of the count".to_owned()))?;
    let file = File::create(path).map_err(|error| Trouble::Kernel("making the file", error))?;
    let words = fill(mib, advice)?;
    let stop = match seconds {
        Some(seconds) => after(seconds),
        None => until_stdin_closes(),
    };
    tell(format_args!("steady {}", std::process::id()));
    let units = work(order, words, &file, &stop)?;
    let is_same = words
        .iter()
        .enumerate()
        .all(|(at, word)| *word == next(at, words.len()));
    tell(format_args!(
        "units {units} {}",
        if is_same { "same" } else { "changed" }
    ));
    Ok(if is_same {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    })
}

/// The word that follows this one. The count of words is a power of two.
fn next(at: usize, count: usize) -> u64 {
    let mask = count as u64 - 1;
    (at as u64).wrapping_mul(FACTOR).wrapping_add(STEP) & mask
}

/// Allocates and fills `mib` MiB, which must be a power of two.
fn fill(mib: usize, advice: Advice) -> Result<&'static mut [u64], Trouble> {
    let bytes = mib.checked_mul(1 << 20).filter(|it| it.is_power_of_two());
    let bytes = bytes.ok_or_else(|| Trouble::Usage("--mib is a power of two".to_owned()))?;
    let region = Region::fresh(bytes / page_bytes(), Align::Huge, advice)?;
    let count = bytes / size_of::<u64>();
    // SAFETY: the region is ours, writable, aligned, zero, of this length, and never unmapped.
    let words = unsafe { std::slice::from_raw_parts_mut(region.start().cast::<u64>(), count) };
    for (at, word) in words.iter_mut().enumerate() {
        *word = next(at, count);
    }
    Ok(words)
}

fn work(order: Order, words: &[u64], file: &File, stop: &AtomicBool) -> Result<u64, Trouble> {
    let (mut at, mut units, mut sum) = (0_usize, 0, 0_u64);
    while !stop.load(Ordering::Relaxed) {
        match order {
            Order::Chase => {
                for _ in 0..UNIT {
                    at = words[at] as usize;
                }
            }
            Order::Stream => {
                let part = &words[at..(at + UNIT).min(words.len())];
                sum = part.iter().fold(sum, |sum, word| sum.wrapping_add(*word));
                at = (at + UNIT) % words.len();
            }
        }
        std::hint::black_box((at, sum));
        units += 1;
        if units % UNITS_PER_WRITE == 0 {
            let text = format!("{units:>20}\n");
            let written = file.write_all_at(text.as_bytes(), 0);
            written.map_err(|error| Trouble::Kernel("writing the count", error))?;
        }
    }
    Ok(units)
}

/// Returns a flag for the end of stdin.
fn until_stdin_closes() -> Arc<AtomicBool> {
    let stop = Arc::new(AtomicBool::new(false));
    let closed = Arc::clone(&stop);
    std::thread::spawn(move || {
        let _ = stdin().lock().read_to_end(&mut Vec::new());
        closed.store(true, Ordering::Relaxed);
    });
    stop
}

/// Returns a flag for the end of a time.
fn after(seconds: usize) -> Arc<AtomicBool> {
    let stop = Arc::new(AtomicBool::new(false));
    let over = Arc::clone(&stop);
    std::thread::spawn(move || {
        std::thread::sleep(Duration::from_secs(seconds as u64));
        over.store(true, Ordering::Relaxed);
    });
    stop
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_chase_visits_every_word_before_it_comes_back() {
        let count = 1 << 12;
        let mut seen = vec![false; count];
        let mut at = 0;
        for _ in 0..count {
            assert!(!std::mem::replace(&mut seen[at], true));
            at = next(at, count) as usize;
        }
        assert_eq!(at, 0);
    }
}
