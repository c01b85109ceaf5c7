use std::cell::RefCell;

use hugewise_observe::collapse::PlannedRange;

use super::*;

const HUGE: u64 = 2 << 20;

/// A simulated kernel: the answer for each range, and the number of calls after which the process ends.
struct Table {
    /// By range index: the error, and whether the range is huge afterwards.
    answers: Vec<(Option<i32>, MappingState)>,
    lives: usize,
    last: Life,
    is_mapped: bool,
    calls: RefCell<Vec<Range<u64>>>,
}

impl Table {
    fn new(answers: &[(Option<i32>, MappingState)]) -> Self {
        Self {
            answers: answers.to_vec(),
            lives: usize::MAX,
            last: Life::Same,
            is_mapped: true,
            calls: RefCell::new(Vec::new()),
        }
    }

    fn plan(&self) -> Plan {
        Plan {
            huge_bytes: HUGE,
            ranges: (0..self.answers.len() as u64)
                .map(|index| PlannedRange {
                    start: index * HUGE,
                    bytes_added: 0,
                })
                .collect(),
            left_out: Vec::new(),
        }
    }

    fn run(&self) -> Attempt {
        let stop = AtomicBool::new(false);
        collapse(self, &self.plan(), &mut Silent, &stop, &mut |_| ())
    }

    fn tried(&self, place: u64) -> bool {
        let calls = self.calls.borrow();
        calls.iter().any(|call| call.contains(&(place * HUGE)))
    }
}

impl Advise for Table {
    fn collapse(&self, stretch: Range<u64>) -> Result<(), i32> {
        self.calls.borrow_mut().push(stretch.clone());
        let places = stretch.start / HUGE..stretch.end / HUGE;
        let errors = places.filter_map(|place| self.answers[place as usize].0);
        errors.last().map_or(Ok(()), Err)
    }
}

impl Reread for Table {
    fn state(&self, range: Range<u64>) -> MappingState {
        let place = range.start / HUGE;
        match self.answers[place as usize].1 {
            MappingState::Huge if !self.tried(place) => MappingState::Small,
            state => state,
        }
    }
}

impl Covers for Table {
    fn is_mapped(&self, _: Range<u64>) -> bool {
        self.is_mapped
    }
}

impl Lives for Table {
    fn life(&self) -> Life {
        if self.calls.borrow().len() < self.lives {
            Life::Same
        } else {
            self.last
        }
    }
}

struct Silent;

impl Reasons for Silent {
    fn forget(&mut self) {}
    fn status(&mut self) -> Option<String> {
        None
    }
}

fn refused(error: &str) -> RangeOutcome {
    RangeOutcome::Refused(Refusal {
        error: error.to_owned(),
        status: None,
    })
}

#[test]
fn neighbours_go_into_one_call_and_failures_are_tried_alone() {
    let table = Table::new(&[
        (None, MappingState::Huge),
        (Some(libc::EINVAL), MappingState::Small),
        (None, MappingState::Huge),
    ]);
    let done = table.run();
    let fates: Vec<RangeOutcome> = done.fates.into_iter().map(|(_, fate)| fate).collect();
    assert_eq!(
        fates,
        [RangeOutcome::Made, refused("EINVAL"), RangeOutcome::Made]
    );
    assert_eq!(*table.calls.borrow(), [0..3 * HUGE, HUGE..2 * HUGE]);
    assert_eq!(done.ended, End::Finished);
}

/// Detects both a success without effect and a partial success reported as a failure.
#[test]
fn the_return_value_proves_nothing() {
    let table = Table::new(&[
        (None, MappingState::Small),
        (Some(libc::EAGAIN), MappingState::Huge),
    ]);
    let fates: Vec<RangeOutcome> = table
        .run()
        .fates
        .into_iter()
        .map(|(_, fate)| fate)
        .collect();
    assert_eq!(fates, [refused("none"), RangeOutcome::Made]);
}

#[test]
fn without_a_scan_success_is_a_claim() {
    let table = Table::new(&[
        (None, MappingState::Unknown),
        (Some(libc::EBUSY), MappingState::Unknown),
    ]);
    let fates: Vec<RangeOutcome> = table
        .run()
        .fates
        .into_iter()
        .map(|(_, fate)| fate)
        .collect();
    assert_eq!(fates, [RangeOutcome::Claimed, refused("EBUSY")]);
}

#[test]
fn calls_are_of_bounded_length_and_end_at_holes() {
    let starts: Vec<u64> = (0..70).chain(100..101).map(|index| index * HUGE).collect();
    let lengths: Vec<usize> = stretches(&starts, HUGE).map(<[u64]>::len).collect();
    assert_eq!(lengths, [32, 32, 6, 1]);
}

#[test]
fn want_of_memory_stops_it() {
    let table = Table::new(&[(Some(libc::ENOMEM), MappingState::Small); 9]);
    let done = table.run();
    assert_eq!(done.fates.len(), 3);
    assert_eq!(done.ended, End::NoMemory { refusals: 3 });
}

#[test]
fn holes_are_not_want_of_memory() {
    let mut table = Table::new(&[(Some(libc::ENOMEM), MappingState::Small); 9]);
    table.is_mapped = false;
    let done = table.run();
    assert!(
        done.fates
            .iter()
            .all(|(_, fate)| *fate == RangeOutcome::Gone)
    );
    assert_eq!((done.fates.len(), done.ended), (9, End::Finished));
}

#[test]
fn an_end_in_the_middle_is_told_with_what_was_done_before() {
    for (last, ended) in [
        (Life::Ended, End::ProcessEnded),
        (Life::Replaced, End::BecameAnother),
    ] {
        let mut table = Table::new(&[(None, MappingState::Huge); 40]);
        table.lives = 1;
        table.last = last;
        let done = table.run();
        assert_eq!(done.ended, ended);
        assert_eq!(done.fates.len(), 32);
    }
}

#[test]
fn errors_about_the_process_end_it() {
    let gone = Table::new(&[(Some(libc::ESRCH), MappingState::Small)]).run();
    assert_eq!((gone.fates.len(), gone.ended), (0, End::ProcessEnded));
    let refused = Table::new(&[(Some(libc::EPERM), MappingState::Small)]).run();
    assert!(matches!(refused.ended, End::NotPermitted { .. }));
}

#[test]
fn an_interrupt_is_heeded_between_calls() {
    let table = Table::new(&[(None, MappingState::Huge); 40]);
    let stop = AtomicBool::new(false);
    let mut seen = |_| stop.store(true, Ordering::Relaxed);
    let done = collapse(&table, &table.plan(), &mut Silent, &stop, &mut seen);
    assert_eq!((done.fates.len(), done.ended), (32, End::Interrupted));
}
