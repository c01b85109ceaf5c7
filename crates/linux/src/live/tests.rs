//! Switching, with pages that a test makes up, and with real ones of our own.

use std::cell::{Cell, RefCell};
use std::collections::BTreeSet;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use hugewise_live::Pace;

use super::room::Short;
use super::switch::{Halt, Pages, Watch, Work, switch};

const HUGE: u64 = 2 << 20;

/// Blocks that obey, but for some.
#[derive(Default)]
struct Made {
    huge: RefCell<BTreeSet<u64>>,
    refuses: BTreeSet<u64>,
    calls: Cell<usize>,
    ends_after: Option<usize>,
}

impl Made {
    fn count(&self) {
        self.calls.set(self.calls.get() + 1);
    }
}

impl Pages for Made {
    fn split(&self, starts: &[u64]) -> Result<usize, i32> {
        self.count();
        for (done, start) in starts.iter().enumerate() {
            if self.refuses.contains(start) {
                return if done == 0 {
                    Err(libc::ENOMEM)
                } else {
                    Ok(done)
                };
            }
            self.huge.borrow_mut().remove(start);
        }
        Ok(starts.len())
    }

    fn collapse(&self, starts: &[u64]) -> Result<(), i32> {
        self.count();
        let (bad, good): (Vec<u64>, Vec<u64>) =
            starts.iter().partition(|it| self.refuses.contains(it));
        self.huge.borrow_mut().extend(good);
        match bad.is_empty() {
            true => Ok(()),
            false => Err(libc::EAGAIN),
        }
    }

    fn huge(&self, starts: &[u64]) -> Vec<u64> {
        let huge = self.huge.borrow();
        starts
            .iter()
            .filter(|it| huge.contains(it))
            .copied()
            .collect()
    }

    fn lives(&self) -> bool {
        self.ends_after.is_none_or(|calls| self.calls.get() < calls)
    }
}

/// Free memory for so many more looks.
struct Looks(usize);

impl Watch for Looks {
    fn check(&mut self, _: u64) -> Result<(), Short> {
        self.0 = self
            .0
            .checked_sub(1)
            .ok_or(Short::Blocks { free: 0, needed: 1 })?;
        Ok(())
    }
}

fn run(made: &Made, work: Work, blocks: &[u64], looks: usize) -> Result<(usize, Vec<u64>), Halt> {
    let mut pace = Pace::new(work.hold(), Duration::from_secs(1), 8);
    let stop = AtomicBool::new(false);
    let done = switch(
        made,
        work,
        blocks,
        HUGE,
        &mut pace,
        &mut Looks(looks),
        &stop,
    )?;
    Ok((done.asked, done.refused.into_keys().collect()))
}

fn starts(count: u64) -> Vec<u64> {
    (1..=count).map(|index| index * HUGE).collect()
}

#[test]
fn all_blocks_but_those_that_refuse_are_switched() {
    let blocks = starts(40);
    let made = Made {
        refuses: BTreeSet::from([blocks[5], blocks[30]]),
        ..Made::default()
    };
    let refused = vec![blocks[5], blocks[30]];
    assert_eq!(run(&made, Work::Collapse, &blocks, 9), Ok((40, refused)));
    assert_eq!(made.huge.borrow().len(), 38);
    made.huge.borrow_mut().extend(&made.refuses);
    let kept = vec![blocks[5], blocks[30]];
    assert_eq!(run(&made, Work::Split, &blocks, 0), Ok((40, kept)));
    assert_eq!(made.huge.borrow().len(), 2);
}

#[test]
fn what_is_so_already_is_left_alone() {
    let blocks = starts(3);
    let made = Made::default();
    made.huge.borrow_mut().extend(&blocks);
    assert_eq!(run(&made, Work::Collapse, &blocks, 0), Ok((0, Vec::new())));
    assert_eq!(made.calls.get(), 0);
}

#[test]
fn a_switch_ends_with_the_process_and_with_free_memory() {
    let blocks = starts(100);
    let made = Made {
        ends_after: Some(2),
        ..Made::default()
    };
    assert_eq!(run(&made, Work::Collapse, &blocks, 9), Err(Halt::Ended));
    let short = run(&Made::default(), Work::Collapse, &blocks, 1);
    assert!(matches!(short, Err(Halt::Short(_))), "{short:?}");
}
