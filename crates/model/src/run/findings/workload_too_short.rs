//! Claims that the workload is too short to say much.
//!
//! Evidence: the median wall time. Below 50 ms, exec, the dynamic linker and exit may be
//! a good part of it, and memory is sampled a few times at most; below 10 ms they may be most.
//! khugepaged has no part in such runs. Refuted by a program whose real runs are that short.
//! Next: more work for each trial.

use super::ground::{Absent, Ground, Look, Said, told};
use super::{Finding, Rule};
use crate::run::metric::MetricId;

/// See the module.
#[derive(Debug)]
pub(super) struct WorkloadTooShort;

const SHORT_SECONDS: f64 = 0.05;
const VERY_SHORT_SECONDS: f64 = 0.01;

impl Rule for WorkloadTooShort {
    fn id(&self) -> &'static str {
        "workload-too-short"
    }

    fn explain(&self) -> &'static str {
        "Claims that the workload is too short to say much. Evidence: its median wall time is below \
         50 ms, so that exec, the dynamic linker and exit may be a good part of it (below 10 \
         ms: most of it) and memory was sampled a few times at most. Refuted when real runs of the \
         program are that short. Next: give each trial more work, for example a larger input or a \
         loop."
    }

    fn check(&self, ground: &Ground<'_>) -> Vec<Finding> {
        let baseline = ground.baseline();
        let all = ground.of_all(self, ask);
        all.into_iter()
            .filter(|finding| finding.policy.as_deref() == Some(baseline))
            .collect()
    }
}

fn ask(look: &mut Look<'_, '_>) -> Result<Said, Absent> {
    let Ok(wall) = look.here(MetricId::WallSeconds) else {
        return Ok(Said::Nothing);
    };
    if wall >= SHORT_SECONDS {
        return Ok(Said::Nothing);
    }
    let part = if wall < VERY_SHORT_SECONDS {
        "may be most"
    } else {
        "may be a good part"
    };
    let samples = match look.here(MetricId::SamplesTotal) {
        Ok(samples) => format!(" (here: {})", told(MetricId::SamplesTotal, samples)),
        Err(_) => String::new(),
    };
    Ok(Said::Shown(format!(
        "a trial takes {} under {}: starting and ending the program {part} of it, and its memory is \
         sampled a few times at most{samples}",
        told(MetricId::WallSeconds, wall),
        look.policy
    )))
}
