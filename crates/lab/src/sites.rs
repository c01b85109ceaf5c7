//! `sites`: a program with known mapping sites: which gain from huge pages, which lose, and which are unaffected.

use std::hint::black_box;
use std::process::ExitCode;

use crate::Trouble;
use crate::arguments::Arguments;
use crate::bench::random::Random;
use crate::plant::look::all_mappings;
use crate::region::{Advice, Align, Region, huge_bytes, page_bytes};

const MIB: usize = 1 << 20;

/// Maps five regions, each in a separate function, in this order:
///
/// * `helps`, 256 MiB, is written once and then read at N random places (`--reads N`);
/// * `inert`, 32 MiB, has one page written;
/// * `hurts`, 512 MiB, has one page of each huge page written, so that huge pages zero 512 times the used memory;
/// * `left` and `right`, 64 MiB each, are written once and read alternately, N/4 times each.
///
/// `--divide D` divides the size of each region by D, for slow machines. At the end prints a line for each region:
/// `NAME huge BYTES of BYTES`.
pub(crate) fn run(arguments: &mut Arguments) -> Result<ExitCode, Trouble> {
    let reads = arguments.number("--reads")?.unwrap_or(4_000_000);
    let divisor = arguments.number("--divide")?.unwrap_or(1).max(1);
    arguments.finish()?;
    let helps = map_helping(divisor)?;
    let inert = map_inert(divisor)?;
    let hurts = map_hurting(divisor)?;
    let (left, right) = (map_left(divisor)?, map_right(divisor)?);
    let mut random = Random::new(1);
    for full in [&helps, &left, &right] {
        full.region.write(page_bytes());
    }
    inert.region.write_part(0, page_bytes());
    hurts.region.write(huge_bytes());
    helps.read(reads, &mut random);
    for _ in 0..reads / 4 {
        left.read(1, &mut random);
        right.read(1, &mut random);
    }
    for site in [helps, inert, hurts, left, right] {
        site.say()?;
    }
    Ok(ExitCode::SUCCESS)
}

/// A region and its name.
struct Planted {
    name: &'static str,
    bytes: usize,
    region: Region,
}

impl Planted {
    fn map(name: &'static str, bytes: usize) -> Result<Self, Trouble> {
        let region = Region::fresh(bytes / page_bytes(), Align::Huge, Advice::None)?;
        Ok(Self {
            name,
            bytes,
            region,
        })
    }

    /// Reads a byte at this many random places.
    fn read(&self, count: usize, random: &mut Random) {
        for _ in 0..count {
            let place = self.region.start().wrapping_add(random.below(self.bytes));
            // SAFETY: the place is in the region, which is mapped and readable.
            unsafe { place.read_volatile() };
        }
    }

    fn say(&self) -> Result<(), Trouble> {
        let start = self.region.start() as usize;
        let own = all_mappings()?.into_iter();
        let own = own.filter(|it| it.start < start + self.bytes && start < it.end);
        let huge: usize = own.filter_map(|it| it.field("AnonHugePages")).sum();
        crate::tell(format_args!("{} huge {huge} of {}", self.name, self.bytes));
        Ok(())
    }
}

// Each site is a function with a single caller. A call in the last position could become a jump, and the function would
// be missing from the call chain: `black_box` adds work after the call.

#[inline(never)]
fn map_helping(divisor: usize) -> Result<Planted, Trouble> {
    black_box(Planted::map("helps", 256 * MIB / divisor))
}

#[inline(never)]
fn map_inert(divisor: usize) -> Result<Planted, Trouble> {
    black_box(Planted::map("inert", 32 * MIB / divisor))
}

#[inline(never)]
fn map_hurting(divisor: usize) -> Result<Planted, Trouble> {
    black_box(Planted::map("hurts", 512 * MIB / divisor))
}

#[inline(never)]
fn map_left(divisor: usize) -> Result<Planted, Trouble> {
    black_box(Planted::map("left", 64 * MIB / divisor))
}

#[inline(never)]
fn map_right(divisor: usize) -> Result<Planted, Trouble> {
    black_box(Planted::map("right", 64 * MIB / divisor))
}
