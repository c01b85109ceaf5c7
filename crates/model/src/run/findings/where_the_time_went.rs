//! Claims how a difference in time is made up: user mode, each cause of kernel time that was
//! timed, page faults without these, the rest of kernel time, and what is neither.

use super::context::{Claim, Context, MissingInput, PolicyView, label, told};
use super::paired::{PairedRounds, Times};
use super::{Finding, Rule};
use crate::run::compare::Change;
use crate::run::metric::MetricId;
use crate::run::trial::{Mark, Trial};
use crate::text::number::MINUS;

/// The rule of this module.
#[derive(Debug)]
pub(super) struct WhereTheTimeWent;

/// All page faults, the causes in them included.
const FAULTS: MetricId = MetricId::PageFaultSeconds;

/// A part of page faults, in which some of the causes may lie: it would count twice.
const COPIES: MetricId = MetricId::CopyOnWriteSeconds;

/// Not a part: a thread that waits does not use the processor, and threads wait side by side.
const LOCK_WAITS: MetricId = MetricId::MmapLockWaitSeconds;

const OFF_CPU: &str = "off-CPU time";

/// What threads waited for the lock may lie in page faults; more than this share of them is too
/// much to call the rest time of a processor.
const NEGLIGIBLE: f64 = 0.1;

/// Parts of kernel time that may be timed.
const CAUSES: [MetricId; 5] = [
    MetricId::DirectCompactionSeconds,
    MetricId::DirectReclaimSeconds,
    MetricId::CgroupReclaimSeconds,
    MetricId::ZeroingSeconds,
    MetricId::SplitSeconds,
];

impl Rule for WhereTheTimeWent {
    fn id(&self) -> &'static str {
        "where-the-time-went"
    }

    fn explain(&self) -> &'static str {
        "Claims how a difference in time is made up: user mode, each cause of kernel time that \
         was timed (compaction, reclaim, zeroing, splits), other page faults (with --stalls all; else \
         in the rest), the rest of kernel time, and off-CPU time. \
         Evidence: means over the rounds of the difference of \
         each part, which add up; copy-on-write and waits for mmap_lock are given beside them, \
         because one is inside page faults and the other is not CPU time. Refuted when threads run in parallel: off-CPU time \
         is then too low by their overlap. Next: `hugewise trace` shows single \
         stalls."
    }

    fn check(&self, context: &Context<'_>) -> Vec<Finding> {
        context.of_arms(self, ask)
    }
}

fn ask(view: &mut PolicyView<'_, '_>) -> Result<Claim, MissingInput> {
    let decided = matches!(
        view.change(MetricId::WallSeconds),
        Some(Change::Lower | Change::Higher)
    );
    let pairs = PairedRounds::of(view.context, view.policy);
    let parts = Parts::of(&pairs).filter(|parts| decided && parts.is_timed());
    let Some(parts) = parts else {
        return Ok(Claim::Nothing);
    };
    let kernel = parts.kernel();
    let beside = Beside::of(&pairs);
    let figures = parts.figures().into_iter().chain(kernel.figures());
    for (name, seconds) in figures.chain(beside.figures()) {
        view.evidence.figure(&name, seconds);
    }
    let mut words = vec![format!("user mode {}", signed(parts.times.user))];
    words.extend(parts.words());
    words.extend(kernel.words(words.len() > 1));
    words.push(format!("off-CPU {}", signed(parts.neither())));
    Ok(Claim::Shown(format!(
        "{}: {} is the largest part of the time {}. Mean change per run {}: {}{}{}",
        view.policy,
        parts.largest(&contended(&pairs)),
        if parts.times.wall < 0.0 {
            "saved"
        } else {
            "lost"
        },
        signed(parts.times.wall),
        words.join(", "),
        beside.words(),
        untimed(parts.causes.len()),
    )))
}

/// The parts of the mean difference in time between a policy and the baseline, in seconds: their
/// sum is the whole. `None` where user or kernel time is not known.
pub(crate) fn time_parts(context: &Context<'_>, policy: &str) -> Option<Vec<(String, f64)>> {
    let parts = Parts::of(&PairedRounds::of(context, policy))?;
    let user = [("user mode".to_owned(), parts.times.user)];
    let causes = parts.causes.iter();
    let causes = causes.map(|(cause, seconds)| (label(*cause), *seconds));
    let changed = causes.filter(|(_, seconds)| *seconds != 0.0);
    let rest = parts.kernel().labels(parts.is_timed());
    let neither = [("off-CPU".to_owned(), parts.neither())];
    Some(
        user.into_iter()
            .chain(changed)
            .chain(rest)
            .chain(neither)
            .collect(),
    )
}

/// Mean differences, in seconds.
struct Parts {
    times: Times,
    causes: Vec<(MetricId, f64)>,
    /// Page faults, with the causes in them; `None` where they were not timed, or where the
    /// causes lay outside of them.
    faults: Option<f64>,
}

/// What of kernel time is left when the causes are taken out.
enum Kernel {
    /// Page faults without the causes, and what is no page fault.
    Apart { faults: f64, other: f64 },
    /// Both together.
    Whole(f64),
}

impl Parts {
    /// `None` where the times are not known.
    fn of(pairs: &PairedRounds<'_>) -> Option<Self> {
        let difference = |metric: MetricId| pairs.change(metric);
        let causes: Vec<(MetricId, f64)> = CAUSES
            .into_iter()
            .filter_map(|cause| Some((cause, difference(cause)?)))
            .collect();
        let hold = pairs.trials().all(|trial| faults_hold(trial, &causes));
        let faults = difference(FAULTS).filter(|_| hold);
        Some(Self {
            times: pairs.times()?,
            causes,
            faults,
        })
    }

    /// Whether anything in the kernel was timed.
    fn is_timed(&self) -> bool {
        !self.causes.is_empty() || self.faults.is_some()
    }

    fn kernel(&self) -> Kernel {
        let causes: f64 = self.causes.iter().map(|(_, seconds)| seconds).sum();
        match self.faults {
            Some(faults) => Kernel::Apart {
                faults: faults - causes,
                other: self.times.system - faults,
            },
            None => Kernel::Whole(self.times.system - causes),
        }
    }

    fn neither(&self) -> f64 {
        let Times { wall, user, system } = self.times;
        wall - user - system
    }

    /// The largest of user, kernel and off-CPU time in the direction of the whole; the last with
    /// what else may be in it.
    fn largest(&self, contended: &str) -> String {
        let parts = [
            ("user mode", self.times.user),
            ("kernel time", self.times.system),
            (OFF_CPU, self.neither()),
        ];
        let towards = |seconds: f64| seconds * self.times.wall.signum();
        let largest = parts.into_iter();
        let largest = largest.max_by(|(_, a), (_, b)| towards(*a).total_cmp(&towards(*b)));
        match largest {
            Some((OFF_CPU, _)) => format!("{OFF_CPU}{contended}"),
            Some((name, _)) => name.to_owned(),
            None => String::new(),
        }
    }

    fn figures(&self) -> Vec<(String, f64)> {
        let causes = self.causes.iter();
        let causes = causes.map(|(cause, seconds)| (format!("mean_change_{cause}"), *seconds));
        let whole = [
            ("mean_change_wall_seconds", self.times.wall),
            ("mean_change_user_seconds", self.times.user),
            ("mean_change_unexplained_seconds", self.neither()),
        ];
        let whole = whole.map(|(name, seconds)| (name.to_owned(), seconds));
        causes.chain(whole).collect()
    }

    fn words(&self) -> Vec<String> {
        let changed = self.causes.iter().filter(|(_, seconds)| *seconds != 0.0);
        changed
            .map(|(cause, seconds)| format!("{} {}", label(*cause), signed(*seconds)))
            .collect()
    }
}

impl Kernel {
    fn figures(&self) -> Vec<(String, f64)> {
        let other = "mean_change_other_kernel_seconds".to_owned();
        match *self {
            Self::Apart {
                faults,
                other: rest,
            } => vec![
                ("mean_change_other_fault_seconds".to_owned(), faults),
                (other, rest),
            ],
            Self::Whole(rest) => vec![(other, rest)],
        }
    }

    /// The same as parts of a sum.
    fn labels(&self, is_timed: bool) -> Vec<(String, f64)> {
        match *self {
            Self::Apart { faults, other } => vec![
                ("other page faults".to_owned(), faults),
                ("other kernel time".to_owned(), other),
            ],
            Self::Whole(rest) if is_timed => vec![("other kernel time".to_owned(), rest)],
            Self::Whole(rest) => vec![("kernel time".to_owned(), rest)],
        }
    }

    /// After the causes, where any was told.
    fn words(&self, after_causes: bool) -> Vec<String> {
        match self {
            Self::Apart { faults, other } => {
                let title = if after_causes {
                    "other page faults"
                } else {
                    "page faults"
                };
                vec![
                    format!("{title} {}", signed(*faults)),
                    format!("other kernel time {}", signed(*other)),
                ]
            }
            Self::Whole(rest) => vec![format!(
                "other kernel time, with page faults, {}",
                signed(*rest)
            )],
        }
    }
}

/// What is told of the same time in another way. Zero where it was timed and did not change.
struct Beside {
    copies: Option<f64>,
    lock_waits: Option<f64>,
}

impl Beside {
    fn of(pairs: &PairedRounds<'_>) -> Self {
        Self {
            copies: pairs.change(COPIES),
            lock_waits: pairs.change(LOCK_WAITS),
        }
    }

    fn figures(&self) -> Vec<(String, f64)> {
        let both = [(COPIES, self.copies), (LOCK_WAITS, self.lock_waits)];
        let timed = both
            .into_iter()
            .filter_map(|(name, seconds)| Some((format!("mean_change_{name}"), seconds?)));
        timed.collect()
    }

    fn words(&self) -> String {
        let changed = |seconds: Option<f64>| seconds.filter(|seconds| *seconds != 0.0);
        let copies = changed(self.copies)
            .map(|seconds| format!("; copy-on-write within page faults {}", signed(seconds)));
        let waits = changed(self.lock_waits).map(|seconds| {
            let seconds = signed(seconds);
            format!("; waiting for mmap_lock {seconds}, summed over threads")
        });
        copies.into_iter().chain(waits).collect()
    }
}

/// Whether the causes of a trial can have been in its page faults: they took no longer. Where
/// they did, some of them were system calls, and nobody knows how much. Nor does anybody where
/// threads waited long for a lock.
fn faults_hold(trial: &Trial, causes: &[(MetricId, f64)]) -> bool {
    let seconds = causes.iter().filter_map(|(cause, _)| trial.value(*cause));
    let waited = trial.value(LOCK_WAITS).unwrap_or(0.0);
    trial
        .value(FAULTS)
        .is_some_and(|faults| seconds.sum::<f64>() <= faults && waited <= NEGLIGIBLE * faults)
}

/// What was not timed is in the rest.
fn untimed(timed: usize) -> String {
    match CAUSES.len() - timed {
        0 => String::new(),
        count => format!("; {count} of {} causes could not be timed", CAUSES.len()),
    }
}

/// Off-CPU time cannot tell a thread that sleeps from one that waits for a processor: where
/// somebody else had the processors, it must not pass for the program's own waiting.
fn contended(pairs: &PairedRounds<'_>) -> String {
    let trials: Vec<_> = pairs.trials().collect();
    let taken = |mark: &Mark| {
        matches!(
            mark,
            Mark::OtherLoad { .. } | Mark::OtherServers { .. } | Mark::Steal { .. }
        )
    };
    let loaded = trials
        .iter()
        .filter(|it| it.marks.iter().any(taken))
        .count();
    match loaded {
        0 => String::new(),
        _ => format!(
            " (waits for a processor included: others used them in {loaded} of {} trials)",
            trials.len()
        ),
    }
}

/// A change in seconds, with its sign.
pub(crate) fn signed(seconds: f64) -> String {
    let sign = match seconds {
        less if less < 0.0 => MINUS.to_string(),
        more if more > 0.0 => "+".to_owned(),
        _ => String::new(),
    };
    format!("{sign}{}", told(MetricId::WallSeconds, seconds.abs()))
}
