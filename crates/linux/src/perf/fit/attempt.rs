//! Tests whether a group fits the counters: it is opened, and must have run.

use hugewise_observe::stat::kind::{CYCLES, INSTRUCTIONS};

use super::{Chosen, Permitted, general, with};
use crate::perf::events::sources::Source;
use crate::perf::open::{
    Code, CountFrom, CountTarget, GroupRefusal, GroupRequest, PerfOpen, Switch,
};

/// The result of trying a group.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Fit {
    Fits,
    /// It was opened, but never scheduled.
    NeverRan,
    /// The kernel refused it, with this error number.
    Refused(i32),
}

/// The parameters of every attempt.
pub(super) struct Attempt<'a> {
    pub(super) opener: &'a dyn PerfOpen,
    pub(super) permitted: Permitted,
    pub(super) alone: bool,
}

impl Attempt<'_> {
    /// Returns the general events that fit together, and the others with the reason.
    pub(super) fn base(&self, source: &Source) -> (Vec<Chosen>, Vec<(Fit, Chosen)>) {
        let (mut base, mut unfit) = (Vec::new(), Vec::new());
        for event in general(source) {
            let candidate = with(&base, &event);
            match self.run(&candidate) {
                Fit::Fits => base = candidate,
                other => unfit.push((other, event)),
            }
        }
        (base, unfit)
    }

    /// Opens a group on the calling thread and lets it run for a moment.
    pub(super) fn run(&self, group: &[Chosen]) -> Fit {
        let events: Vec<Code> = group.iter().map(|event| event.code).collect();
        let request = GroupRequest {
            events: &events,
            observed: CountTarget::Caller,
            mode: self.permitted.mode,
            guests: self.permitted.guests,
            start: CountFrom::Switched,
        };
        let opened = self.opener.open(&request);
        let mut opened = match opened {
            Ok(opened) => opened,
            Err(GroupRefusal { error, .. }) => {
                return Fit::Refused(error.raw_os_error().unwrap_or(0));
            }
        };
        if !self.alone {
            // This thread may be on the other processor type, on which the group cannot run.
            return self.fits_untried(group);
        }
        let ran = (|| {
            opened.switch(Switch::On)?;
            spin();
            opened.switch(Switch::Off)?;
            opened.read()
        })();
        match ran {
            Ok(raws) if raws.iter().all(|raw| raw.running_ns > 0) => Fit::Fits,
            Ok(_) => Fit::NeverRan,
            Err(error) => Fit::Refused(error.raw_os_error().unwrap_or(0)),
        }
    }

    /// Every processor with several core types has at least four counters in addition to those of the general events,
    /// and the watchdog uses at most one of them.
    fn fits_untried(&self, group: &[Chosen]) -> Fit {
        const SAFE: usize = 3;
        let general = [CYCLES, INSTRUCTIONS];
        let own = group
            .iter()
            .filter(|event| !general.contains(&event.kind.as_str()));
        if own.count() <= SAFE {
            Fit::Fits
        } else {
            Fit::NeverRan
        }
    }
}

/// Does some work in user mode, well under a millisecond.
fn spin() {
    for number in 0..20_000_u32 {
        std::hint::black_box(number);
    }
}
