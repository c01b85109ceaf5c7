//! Samples the ranges of a long run to find its frames.

use hugewise_base::missing::Missing;
use hugewise_observe::address_space::{Frames, Run};

use super::{Reader, Thoroughness, Words, unreadable};

/// A run of at least this many ranges is sampled first: 512 MiB in ranges of 2 MiB.
const LONG_RUN: u64 = 256;
/// The number of ranges sampled. If they are all equal, fewer than 4.6 % of the others differ, at 95 % confidence (1 -
/// 0.05^(1/64)).
const SAMPLE: u64 = 64;

impl Reader<'_> {
    /// Returns the frames of a long run if those of the sampled ranges are all equal; `None` if every range must be
    /// read. The run is divided into equal parts, and one range is drawn from each.
    pub(super) fn sample(&mut self, run: &Run) -> Result<Option<Frames>, Missing> {
        let ranges = run.ranges(self.sizes.huge);
        if self.thoroughness == Thoroughness::All || ranges < LONG_RUN {
            return Ok(None);
        }
        let mut draw = fastrand::Rng::with_seed(run.start);
        let mut entries = Words::default();
        let mut first = None;
        for part in 0..SAMPLE {
            let (from, to) = (part * ranges / SAMPLE, (part + 1) * ranges / SAMPLE);
            let start = run.start + draw.u64(from..to) * self.sizes.huge;
            let read = entries.read(
                self.pagemap,
                start / self.sizes.page,
                self.sizes.huge / self.sizes.page,
            );
            read.map_err(|error| unreadable(&error))?;
            let frames = self.frames(&entries.all)?;
            if *first.get_or_insert_with(|| frames.clone()) != frames {
                return Ok(None);
            }
        }
        self.sampled.ranges += ranges;
        self.sampled.looked_at += SAMPLE;
        Ok(first)
    }
}
