//! Decides what the agent does now, from the plan, its lease, the stop file and the guardrails.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use hugewise_experiment::run::policy::Policy;
use hugewise_fleet::Phase;
use hugewise_fleet::assign::arm_name;
use hugewise_fleet::plan::{Moment, Plan};
use hugewise_fleet::schedule::{Duty, Part, duty};
use hugewise_fleet::unit::file_name;

use super::super::assign::now;
use super::super::plan_file::{self, PlanFile};
use super::super::stop;
use super::rows::write_whole;
use crate::file;
use crate::stderr::{chain, message};

/// The next action.
#[derive(Debug)]
pub(super) enum Order {
    /// The plan is over.
    Over,
    /// Nothing, for this reason.
    Nothing(String),
    /// Carry out an arm.
    Do(Box<Task>),
}

/// An arm to carry out.
#[derive(Clone, Debug)]
pub(super) struct Task {
    pub(super) file: PlanFile,
    pub(super) part: Part,
}

impl Task {
    pub(super) fn plan(&self) -> &Plan {
        &self.file.plan
    }

    pub(super) fn arm(&self) -> String {
        arm_name(self.plan(), Some(self.part.arm)).to_owned()
    }

    /// The current policy; before the arms begin, no policy of the plan.
    pub(super) fn policy(&self) -> Policy {
        match self.part.phase {
            Phase::Before => Policy::as_is(),
            _ => self.plan().arms[self.part.arm].policy.clone(),
        }
    }

    /// Returns true if a period may continue: the rows of one period belong to one task.
    pub(super) fn is_as(&self, other: &Self) -> bool {
        self.file.digest == other.file.digest && self.part == other.part
    }
}

/// The source of orders.
#[derive(Debug)]
pub(super) struct Orders {
    path: PathBuf,
    unit: String,
    out: PathBuf,
    file: PlanFile,
    /// When the plan was last read.
    read: Instant,
    /// The end of the lease by the monotonic clock, so that setting back the wall clock does not extend it.
    deadline: Option<Instant>,
    complained: bool,
}

impl Orders {
    /// Reads the plan for the first time.
    pub(super) fn begin(path: &Path, unit: &str, out: &Path) -> Result<Self> {
        let file = plan_file::read(path)?;
        Ok(Self {
            path: path.to_owned(),
            unit: unit.to_owned(),
            out: out.to_owned(),
            deadline: deadline(&file.plan),
            file,
            read: Instant::now(),
            complained: false,
        })
    }

    pub(super) fn plan(&self) -> &Plan {
        &self.file.plan
    }

    /// The next order.
    pub(super) fn next(&mut self) -> Order {
        self.refresh();
        let plan = &self.file.plan;
        if self.read.elapsed() > plan.lease {
            return Order::Nothing(format!(
                "the plan {} cannot be read, and its lease has ended",
                self.path.display()
            ));
        }
        if let Some(stop) = stop::found(&plan.name) {
            return Order::Nothing(format!("{stop} stops {}", plan.name));
        }
        if let Ok(reason) = file::read_found(&self.stopped_file()) {
            let reason = String::from_utf8_lossy(&reason);
            return Order::Nothing(format!(
                "a guardrail has stopped the arm ({}); it begins again when {} is removed",
                reason.trim(),
                self.stopped_file().display()
            ));
        }
        if self.deadline.is_some_and(|end| Instant::now() >= end) {
            return Order::Over;
        }
        match duty(plan, &self.unit, now()) {
            Duty::Over => Order::Over,
            Duty::Outside => Order::Nothing(format!("it is outside of {}", plan.name)),
            Duty::Arm(part) => Order::Do(Box::new(Task {
                file: self.file.clone(),
                part,
            })),
        }
    }

    /// Reads the plan again. If it is unreadable or wrong, the last one stays valid for its lease.
    fn refresh(&mut self) {
        match plan_file::read_again(&self.path) {
            Ok(file) => {
                if file.digest != self.file.digest {
                    self.deadline = deadline(&file.plan);
                    self.file = file;
                }
                self.read = Instant::now();
                self.complained = false;
            }
            Err(error) if !self.complained => {
                self.complained = true;
                message(format_args!(
                    "{}; the last one holds for its lease",
                    one_line(&chain(&error))
                ));
            }
            Err(_) => {}
        }
    }

    /// Remembers the stop of the arm, so that it outlasts this process and a change of the plan.
    pub(super) fn remember_stop(&self, reason: &str) -> Result<()> {
        let file = self.stopped_file();
        write_whole(&file, format!("{reason}\n").as_bytes()).with_context(|| {
            format!(
                "the arm may begin again at the next start: writing {}",
                file.display()
            )
        })
    }

    fn stopped_file(&self) -> PathBuf {
        // Several hosts may share the folder.
        let unit = file_name(&self.unit);
        self.out
            .join(format!("{}.{unit}.stopped", self.file.plan.name))
    }
}

/// The first and the last line of a text. The lines between them, which mark the place, would become separate log
/// records.
fn one_line(text: &str) -> String {
    let mut lines = text.lines().map(str::trim).filter(|line| !line.is_empty());
    let first = lines.next().unwrap_or_default();
    match lines.next_back() {
        Some(last) => format!("{first}: {last}"),
        None => first.to_owned(),
    }
}

fn deadline(plan: &Plan) -> Option<Instant> {
    let Moment(now) = now();
    let left = u64::try_from(plan.until.0.saturating_sub(now)).unwrap_or(0);
    Instant::now().checked_add(Duration::from_secs(left))
}
