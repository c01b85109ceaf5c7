//! `reads`: makes the kernel do the reads of `hugewise inspect`, and nothing else, to measure their cost. It uses the
//! same block sizes and discards the results, except for the frame numbers, which decide what to read next.

use std::fs::File;
use std::io::Read;
use std::os::unix::fs::FileExt;
use std::process::ExitCode;

use crate::Trouble;
use crate::arguments::Arguments;
use crate::pagemap::{
    self, FRAME, Found, PRESENT, SCAN_FILE, SCAN_GUARD, SCAN_HUGE, SCAN_PRESENT, SCAN_SWAPPED,
    SCAN_ZERO, Wanted,
};
use crate::region::{huge_bytes, page_bytes};

/// Bytes of smaps, regions of the scan and page map entries per read.
const TEXT: usize = 64 << 10;
const REGIONS: usize = 2048;
const ENTRIES: u64 = 8192;
/// The gap between two spans, in pages, up to which they are read together.
const GAP: u64 = 64;

/// `reads --pid P`: reads smaps, scans the page map, and reads the flags of the frames of all
/// small pages.
pub(crate) fn run(arguments: &mut Arguments) -> Result<ExitCode, Trouble> {
    let pid = arguments.needed("--pid")?;
    arguments.finish()?;
    let open = |path: String| File::open(path).map_err(|e| Trouble::Kernel("opening", e));
    read_text(&mut open(format!("/proc/{pid}/smaps"))?)
        .map_err(|error| Trouble::Kernel("reading smaps", error))?;
    let pagemap = open(format!("/proc/{pid}/pagemap"))?;
    let flags = open("/proc/kpageflags".to_owned())?;
    for (start, end) in scan(&pagemap)? {
        read_frames(&pagemap, &flags, start, end)
            .map_err(|error| Trouble::Kernel("reading frames", error))?;
    }
    Ok(ExitCode::SUCCESS)
}

fn read_text(file: &mut File) -> std::io::Result<()> {
    let mut buffer = vec![0; TEXT];
    while file.read(&mut buffer)? > 0 {}
    Ok(())
}

/// The spans with small pages, in page numbers.
fn scan(pagemap: &File) -> Result<Vec<(u64, u64)>, Trouble> {
    let page = page_bytes() as u64;
    let mut found = vec![Found::default(); REGIONS];
    let mut spans: Vec<(u64, u64)> = Vec::new();
    let mut start = 0;
    let end = user_space();
    let any_of = SCAN_PRESENT | SCAN_SWAPPED | SCAN_GUARD;
    let wanted = Wanted {
        any_of,
        told: any_of | SCAN_FILE | SCAN_ZERO | SCAN_HUGE,
        ..Wanted::default()
    };
    loop {
        let (count, walked) = pagemap::scan(pagemap, start..end, wanted, &mut found)
            .map_err(|error| Trouble::Kernel("scanning pages", error))?;
        let small = |one: &&Found| one.categories & (SCAN_PRESENT | SCAN_HUGE) == SCAN_PRESENT;
        for one in found[..count].iter().filter(small) {
            let (first, behind) = (one.start / page, one.end / page);
            match spans.last_mut() {
                Some((_, end)) if first - *end <= GAP => *end = behind,
                _ => spans.push((first, behind)),
            }
        }
        let told_to = found[..count].last().map_or(0, |last| last.end);
        start = walked.max(told_to);
        if count < REGIONS || start >= end {
            return Ok(spans);
        }
    }
}

/// The end of the user's half of the address space, with the stack at its top.
fn user_space() -> u64 {
    let here = 0_u8;
    (std::ptr::from_ref(&here) as u64).next_power_of_two() - page_bytes() as u64
}

/// Reads the entries of pages and the flags of their frames, with one read for consecutive frames in a huge-page range.
fn read_frames(pagemap: &File, flags: &File, start: u64, end: u64) -> std::io::Result<()> {
    let per_range = (huge_bytes() / page_bytes()) as u64;
    let mut bytes = vec![0; ENTRIES as usize * 8];
    let mut out = vec![0; per_range as usize * 8];
    let mut first = start;
    while first < end {
        let count = (end - first).min(ENTRIES);
        let read = pagemap.read_at(&mut bytes[..count as usize * 8], first * 8)?;
        let mut stretch: Option<(u64, u64)> = None;
        for (entry, page) in bytes[..read].as_chunks::<8>().0.iter().zip(first..) {
            let entry = u64::from_ne_bytes(*entry);
            let frame = (entry & PRESENT != 0).then_some(entry & FRAME);
            match (&mut stretch, frame) {
                (Some((from, length)), Some(frame))
                    if *from + *length == frame && page % per_range != 0 =>
                {
                    *length += 1;
                }
                _ => {
                    read_flags(flags, stretch, &mut out)?;
                    stretch = frame.map(|frame| (frame, 1));
                }
            }
        }
        read_flags(flags, stretch, &mut out)?;
        first += count;
    }
    Ok(())
}

fn read_flags(flags: &File, stretch: Option<(u64, u64)>, out: &mut [u8]) -> std::io::Result<()> {
    if let Some((frame, length)) = stretch {
        flags.read_at(&mut out[..length as usize * 8], frame * 8)?;
    }
    Ok(())
}
