//! `--host-memory`: the state of free memory in the host before each trial.

use std::cell::{Cell, RefCell};
use std::time::Duration;

use hugewise_base::units::{KIB, MIB, bytes_text};
use hugewise_experiment::run::plan::HostMemory;
use hugewise_experiment::run::policy::Policy;
use hugewise_experiment::run::record::Header;
use hugewise_experiment::run::trial::{FirstTouch, Mark, Trial};
use hugewise_linux::apply::first_touch::{Held, room, touch, warm};
use hugewise_linux::machine::root::Root;

use crate::interrupt::Interrupt;
use crate::stderr::message;

/// Factor by which the warmed memory exceeds the largest trial so far.
const MARGIN: f64 = 1.25;
/// Minimum size to warm; the first trial's need is unknown.
const LEAST_BYTES: u64 = 64 * MIB;
/// Size to touch and hold after a rest, to see how cold memory is.
const SAMPLE_BYTES: u64 = 32 * MIB;
/// Block size if the kernel has no huge pages.
const USUAL_BLOCK: u64 = 2 * MIB;

/// The state of free memory, set up before each trial.
#[derive(Debug)]
pub struct FreeMemory<'a> {
    root: &'a Root,
    interrupt: &'a Interrupt,
    state: HostMemory,
    page_bytes: u64,
    block_bytes: u64,
    /// Peak memory of the trials so far.
    taken_bytes: Cell<u64>,
    /// Times for touching warmed memory in the trials so far, in seconds.
    warm_touches: RefCell<Vec<f64>>,
    shortage_reported: Cell<bool>,
}

/// The memory touched before a trial, and the part held while it runs.
#[derive(Debug, Default)]
pub struct Before {
    touch: Option<FirstTouch>,
    _held: Option<Held>,
}

impl<'a> FreeMemory<'a> {
    /// The state that the plan requests.
    pub fn new(root: &'a Root, interrupt: &'a Interrupt, header: &Header) -> Self {
        let host = &header.host;
        let block = host.pmd_bytes().or(host.taken_back_bytes());
        Self {
            root,
            interrupt,
            state: header.plan.host_memory,
            page_bytes: host.page_bytes,
            block_bytes: block.unwrap_or(USUAL_BLOCK),
            taken_bytes: Cell::new(0),
            warm_touches: RefCell::default(),
            shortage_reported: Cell::new(false),
        }
    }

    /// Sets up the plan's state for a trial of a policy.
    pub fn prepare(&self, policy: &Policy) -> Result<Before, String> {
        match self.state {
            HostMemory::AsIs => Ok(Before::default()),
            HostMemory::Warm => self.warm(pool_bytes(policy)),
            HostMemory::Rest(time) => self.rest(time),
        }
    }

    /// Rests, then measures how cold memory is. The sampled memory stays held, so that the trial gets other memory.
    pub fn rest(&self, time: Duration) -> Result<Before, String> {
        self.interrupt.wait(time);
        let bytes = SAMPLE_BYTES.min(self.room()?);
        let touched = touch(bytes, self.block_bytes, self.interrupt.flag());
        let (touch, held) = touched.map_err(|error| error.to_string())?;
        Ok(Before {
            touch: Some(touch),
            _held: Some(held),
        })
    }

    /// Warms memory and frees it for the trial. A pool is filled at once.
    fn warm(&self, pool_bytes: u64) -> Result<Before, String> {
        let wanted = (self.taken_bytes.get() as f64 * MARGIN) as u64;
        let wanted = wanted.max(LEAST_BYTES).saturating_add(pool_bytes);
        let bytes = wanted.min(self.room()?);
        if bytes < wanted {
            self.report_shortage(bytes, wanted);
        }
        let warmed = warm(bytes, self.block_bytes, pool_bytes, self.interrupt.flag());
        let (touch, held) = warmed
            .map_err(|error| format!("{error}; --host-memory as-is leaves memory as it is"))?;
        Ok(Before {
            touch: Some(FirstTouch {
                wanted_bytes: (bytes < wanted).then_some(wanted),
                ..touch
            }),
            _held: Some(held),
        })
    }

    fn room(&self) -> Result<u64, String> {
        let room = room(self.root, self.page_bytes, self.block_bytes);
        room.map_err(|error| format!("free memory: {error}"))
    }

    /// Notes the memory touched before a finished trial, marks the trial if its memory did not become warm, and updates
    /// the estimate for the next one.
    pub fn note(&self, trial: &mut Trial, before: Before) {
        trial.first_touch = before.touch;
        let taken = trial.taken_bytes(self.page_bytes, self.block_bytes);
        self.taken_bytes.set(self.taken_bytes.get().max(taken));
        if self.state == HostMemory::Warm
            && let Some(touch) = &trial.first_touch
        {
            trial.marks.extend(self.judge(touch));
        }
    }

    /// Compares with the lower quartile of the trials so far, which counts as quiet.
    fn judge(&self, touch: &FirstTouch) -> Option<Mark> {
        let mut touches = self.warm_touches.borrow_mut();
        touches.extend(touch.warm_touch_seconds);
        touches.sort_by(f64::total_cmp);
        let quiet = *touches.get(touches.len() / 4)?;
        touch.stays_cold(quiet).then(|| Mark::ColdMemory {
            touch_us: microseconds(touch.warm_touch_seconds.unwrap_or(quiet)),
            quiet_us: microseconds(quiet),
        })
    }

    /// Reports only after the first trial, which shows how much a trial needs.
    fn report_shortage(&self, bytes: u64, wanted: u64) {
        if self.taken_bytes.get() > 0 && !self.shortage_reported.replace(true) {
            message(format_args!(
                "--host-memory warm: {} are warmed of the {} that a trial may take, because no more \
                 memory is free; the others' first touch may be slow",
                bytes_text(bytes),
                bytes_text(wanted)
            ));
        }
    }
}

/// The memory of the pools that a policy creates.
fn pool_bytes(policy: &Policy) -> u64 {
    let pools = policy.settings.hugetlb.iter();
    pools
        .map(|(&kib, &pages)| kib.saturating_mul(KIB).saturating_mul(pages))
        .fold(0, u64::saturating_add)
}

fn microseconds(seconds: f64) -> u64 {
    (seconds * 1e6) as u64
}
