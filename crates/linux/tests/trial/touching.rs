//! Memory touched before a trial: it is reported, and warm afterwards.

use std::sync::atomic::AtomicBool;
use std::thread::sleep;
use std::time::{Duration, Instant};

use hugewise_experiment::run::trial::FirstTouch;
use hugewise_linux::apply::first_touch::{room, touch, warm};
use hugewise_linux::machine::root::Root;
use hugewise_linux::sys::balloon::read_balloon;
use hugewise_linux::sys::thp::read_thp;

use crate::skipping::skip;

const MIB: u64 = 1 << 20;
/// More than other programs may just have freed, because that memory is warm after any rest.
const MUCH: u64 = 1024 * MIB;
/// The guest reports free memory after two seconds, in parts.
const REST: Duration = Duration::from_secs(5);

fn block_bytes() -> u64 {
    read_thp(&Root::real()).map_or(2 * MIB, |thp| thp.pmd_bytes)
}

fn page_bytes() -> u64 {
    hugewise_linux::probe::read_page_bytes(&Root::real()).unwrap()
}

pub(super) fn what_was_touched_is_told() {
    let (block, never) = (block_bytes(), AtomicBool::new(false));
    let bytes = (16 * block).min(room(&Root::real(), page_bytes(), block).unwrap());
    let (told, _held) = warm(bytes, block, 0, &never).unwrap();
    assert_eq!(told.bytes, bytes.div_ceil(block).max(1) * block);
    assert!(told.huge_bytes <= told.bytes, "{told:?}");
    assert!(told.cold_pages <= told.bytes / block, "{told:?}");
    assert!(told.warm_touch_seconds.unwrap() > 0.0, "{told:?}");
    assert!(told.seconds > told.warm_touch_seconds.unwrap(), "{told:?}");
}

pub(super) fn touching_ends_when_interrupted() {
    let (block, set) = (block_bytes(), AtomicBool::new(true));
    let began = Instant::now();
    assert!(touch(16 * block, block, &set).is_err());
    assert!(warm(16 * block, block, 0, &set).is_err());
    assert!(began.elapsed() < Duration::from_secs(10));
}

/// If another program frees memory during a rest, the round is spoilt, so the median of the rests is used. Other load
/// only adds to the time of a touch, so the minimum of the warmed touches is used.
pub(super) fn warmed_memory_is_touched_faster_than_rested() {
    let (root, block, never) = (Root::real(), block_bytes(), AtomicBool::new(false));
    let reported = read_balloon(&root, page_bytes(), block).and_then(|it| it.reported_block_bytes);
    if reported.is_none() {
        return skip(
            "warmed_memory_is_touched_faster_than_rested",
            "no hypervisor takes back free memory",
        );
    }
    let bytes = MUCH.min(room(&root, page_bytes(), block).unwrap());
    if bytes < MUCH {
        // The page cache of other programs uses the rest.
        return skip(
            "warmed_memory_is_touched_faster_than_rested",
            "so little memory is free that it may be in use all the time",
        );
    }
    let (mut rested, mut warmed) = ([0.0; 3], [0.0; 3]);
    for round in 0..3 {
        sleep(REST);
        let touched = || mean_touch(&warm(bytes, block, bytes, &never).unwrap().0, block);
        (rested[round], warmed[round]) = (touched(), touched());
    }
    rested.sort_by(f64::total_cmp);
    warmed.sort_by(f64::total_cmp);
    assert!(rested[1] >= 2.0 * warmed[0], "{rested:?} {warmed:?}");
}

/// Memory is held until other programs take some, and then handed over. Other programs also take memory during the
/// test, so the rest is not checked.
pub(super) fn memory_is_handed_over_as_it_is_taken() {
    let (root, block, never) = (Root::real(), block_bytes(), AtomicBool::new(false));
    let bytes = MUCH.min(room(&root, page_bytes(), block).unwrap());
    // Sixteen blocks are free from the beginning, which must be a small part.
    if bytes < 128 * block {
        return skip(
            "memory_is_handed_over_as_it_is_taken",
            "too little memory is free",
        );
    }
    let (_, held) = warm(bytes, block, 0, &never).unwrap();
    let resident = || resident_bytes(held.process_id());
    let before = resident();
    assert!(before >= bytes / 4 * 3, "{before} of {bytes} are held");
    let taken = vec![1_u8; usize::try_from(bytes / 2).unwrap()];
    let given = || before.saturating_sub(resident());
    let waited = Instant::now();
    while given() < bytes / 8 * 3 && waited.elapsed() < Duration::from_secs(10) {
        sleep(Duration::from_millis(10));
    }
    let given = given();
    assert!(given >= bytes / 8 * 3, "{given} of {bytes} were given");
    drop(taken);
}

fn resident_bytes(process: u32) -> u64 {
    let statm = std::fs::read_to_string(format!("/proc/{process}/statm")).unwrap();
    let pages: u64 = statm.split_whitespace().nth(1).unwrap().parse().unwrap();
    pages * page_bytes()
}

/// Returns the mean duration of the first touch of a huge page, in seconds.
fn mean_touch(touch: &FirstTouch, block: u64) -> f64 {
    let pages = (touch.bytes / block) as f64;
    let cold = touch.cold_pages as f64;
    let warm = touch.warm_touch_seconds.unwrap();
    (cold * touch.cold_touch_seconds.unwrap_or(0.0) + (pages - cold) * warm) / pages
}
