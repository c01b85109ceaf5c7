//! From options to an experiment: the only place that turns words into a plan.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::ffi::OsString;

use std::time::Duration;

use anyhow::Result;
use hugewise_base::host::Host;
use hugewise_base::plain::plain;
use hugewise_experiment::run::compare::fewest_rounds_of;
use hugewise_experiment::run::metric::MetricId;
use hugewise_experiment::run::plan::service::CommandLine;
use hugewise_experiment::run::plan::{
    Blocks, Bounds, Criterion, HostMemory, LatencyPlace, LatencySource, Plan, Program, USUAL_TIME,
    arms,
};
use hugewise_experiment::run::policy::realise::{Reach, Realisation, Unreachable, realise};
use hugewise_experiment::run::policy::{
    Heap, Omission, Policy, Settings, cross, defaults, heeds_advice, omission,
};
use hugewise_linux::apply::executable::read_executable;
use hugewise_linux::machine::turn::Purpose;

use crate::exit::{self, Exit};
use crate::experiment::latency_files::FOLDER;
use crate::experiment::metrics::{check_gates, is_known, metric_hint};
use crate::experiment::workload::Workload;
use crate::experiment::{file_cache, own_mount, own_setting};
use crate::options::{Options, Streams, check_workload};
use crate::program;
use hugewise_text::suggest::hint;

/// No new round of a bench begins after this time, unless the user sets another: each of its cells takes a part of a
/// trial.
pub const USUAL_BENCH_TIME: Duration = Duration::from_secs(180);
/// The round limit, unless the user asks for more.
pub(super) const MOST_ROUNDS: u32 = 400;
/// Rounds of a policy that is measured without a comparison.
pub(super) const ROUNDS_ALONE: u32 = 10;

impl Options {
    /// Whether the machine's settings may be written.
    pub fn reach(&self) -> Reach {
        if self.system {
            Reach::System
        } else {
            Reach::Process
        }
    }

    /// The purpose for which the machine is taken.
    pub fn purpose(&self) -> Purpose {
        match self.reach() {
            Reach::System | Reach::Machine => Purpose::Change,
            Reach::Process => Purpose::Measure,
        }
    }

    /// The plan on this host; `clock_seed` is used without `--seed`.
    pub fn plan(&self, host: &Host, clock_seed: u64) -> Result<Plan> {
        let programs = self.programs()?;
        check_workload(self, &programs)?;
        self.check_latency()?;
        let heap = self.heap(&programs);
        let (policies, baseline) = self.arms(host, heap, &programs)?;
        let first = programs.first();
        let service = self.driven(&policies)?;
        let blocks = match service.is_none() && programs.is_empty() {
            true => Blocks::Even,
            false => Blocks::Shared,
        };
        let fewest = fewest_rounds_of(&policies, &baseline, blocks);
        Ok(Plan {
            command: first.map_or_else(|| texts(&self.command), |it| it.command.clone()),
            shell: self.shell,
            service,
            seed: self.seed.unwrap_or(clock_seed),
            bounds: self.bounds(policies.len(), fewest)?,
            baseline,
            not_tried: self.not_tried(host, heap),
            policies,
            verdict_metric: self.checked_verdict_metric(&programs)?,
            programs,
            judge_by: self
                .judge_by
                .as_ref()
                .and_then(Criterion::property)
                .unwrap_or_default(),
            printed: self.metric.clone(),
            bench: None,
            latency: self.latency.clone(),
            fragment: self.checked_fragment()?,
            host_memory: self.checked_host_memory(host)?,
            blocks,
            live: None,
        })
    }

    /// The policies, or every program under every policy; and the name of the baseline.
    fn arms(&self, host: &Host, heap: Heap, programs: &[Program]) -> Result<(Vec<Policy>, String)> {
        let policies = self.policies(host, heap, programs)?;
        self.check_places(programs, &policies)?;
        own_mount::check_hidden(self, &policies, programs)?;
        let baseline = baseline(self.baseline.as_deref(), &policies)?;
        match programs.first() {
            None => Ok((policies, baseline)),
            Some(first) => {
                let arms = arms(programs, &policies).map_err(exit::usage)?;
                Ok((arms, first.under(&baseline)))
            }
        }
    }

    /// The allocator of the command, or of the first program. Only the default policies need it, and finding it means
    /// reading the whole file.
    fn heap(&self, programs: &[Program]) -> Heap {
        if self.names_policies() {
            return Heap::default();
        }
        let folder = self.directory.as_deref();
        let first = self.first_word(programs);
        let file = first.and_then(|it| program::file(&it, folder));
        let executable = file.and_then(|path| read_executable(&path));
        executable.map(|it| it.heap()).unwrap_or_default()
    }

    /// The first executed program, as far as a shell line shows it.
    fn first_word(&self, programs: &[Program]) -> Option<OsString> {
        let line = self.command.first();
        match line.filter(|_| self.shell && programs.is_empty()) {
            Some(line) => {
                let line = CommandLine::Line(line.to_string_lossy().into_owned());
                line.program().map(OsString::from)
            }
            None => match programs.first() {
                Some(program) => program.command.first().map(OsString::from),
                None => self.command.first().cloned(),
            },
        }
    }

    fn policies(&self, host: &Host, heap: Heap, programs: &[Program]) -> Result<Vec<Policy>> {
        let mut policies = self.policy.clone();
        let axes = self.axes();
        if !axes.is_empty() {
            policies.extend(cross(&axes).map_err(exit::usage)?);
        }
        if policies.is_empty() {
            self.check_system(host)?;
            policies = defaults(host, self.reach(), heap);
            // Between programs, only the total gain from malloc=thp matters.
            let is_left_out = |it: &Policy| it.settings.is_malloc_alone() && !programs.is_empty();
            policies.retain(|it| !is_left_out(it));
            let controls = policies
                .iter()
                .position(Policy::is_set_as_an_overhead_control);
            let behind = controls.unwrap_or(policies.len());
            policies.splice(behind..behind, self.own_arguments(host, programs));
        }
        // A single policy is compared with as-is.
        if let [alone] = policies.as_slice()
            && self.baseline.is_none()
            && alone.settings != Settings::default()
        {
            policies.insert(0, Policy::as_is());
        }
        name_apart(&mut policies)?;
        Ok(policies)
    }

    /// The arguments with which the program itself requests huge pages, if it would get any. Arguments of one program
    /// are no policy for others.
    fn own_arguments(&self, host: &Host, programs: &[Program]) -> Option<Policy> {
        if !programs.is_empty() || !heeds_advice(host) {
            return None;
        }
        let first = self.first_word(programs)?;
        let file = program::file(&first, self.directory.as_deref())?;
        own_setting::arguments(&file, &texts(&self.command))
    }

    /// Refuses `--system` if it has no effect: the default policies would be those without it. A named policy is
    /// refused for its own needs, and fragmenting free memory needs no privilege.
    fn check_system(&self, host: &Host) -> Result<()> {
        if !self.system || host.user.can_write_thp || self.fragment.is_some() {
            return Ok(());
        }
        let why = match host.user.uid {
            0 => {
                "the settings below /sys/kernel/mm/transparent_hugepage cannot be written here, as in \
                  many containers; run it on the host, or leave --system out"
            }
            _ => {
                "only root can write the settings of the machine; run it with sudo, or leave --system \
                  out"
            }
        };
        Err(exit::refused(format!("nothing was run: --system: {why}")))
    }

    /// Returns true if the user chose policies.
    pub(super) fn names_policies(&self) -> bool {
        !self.policy.is_empty() || !self.axes().is_empty()
    }

    /// Refuses placeholders without a value, values without a placeholder, and arguments that are set already.
    fn check_places(&self, programs: &[Program], policies: &[Policy]) -> Result<()> {
        let check = |program| Workload::among(self, program, policies).check(policies);
        match programs.is_empty() {
            true => check(None),
            false => programs.iter().map(Some).try_for_each(check),
        }
    }

    /// The policies that the defaults leave out; `None` if the user chose policies.
    fn not_tried(&self, host: &Host, heap: Heap) -> Option<Omission> {
        let is_usual = !self.names_policies();
        is_usual
            .then(|| omission(host, self.reach(), heap))
            .flatten()
    }

    /// The checked state of free memory, which all programs share.
    fn checked_fragment(&self) -> Result<Option<u32>> {
        if self.fragment.is_some() && !self.system {
            return Err(exit::usage(
                "--fragment fragments the free memory of the whole machine, which can slow other \
                 programs; add --system to allow that",
            ));
        }
        Ok(self.fragment)
    }

    fn checked_host_memory(&self, host: &Host) -> Result<HostMemory> {
        if self.host_memory == Some(HostMemory::Warm) && self.fragment.is_some() {
            return Err(exit::usage(
                "--host-memory warm touches huge pages, for which the kernel may compact memory, \
                 and so undoes --fragment; use rest:3s or as-is",
            ));
        }
        let usual = HostMemory::usual(host, self.fragment);
        Ok(self.host_memory.unwrap_or(usual))
    }

    fn check_latency(&self) -> Result<()> {
        let from_stdout = |source: &LatencySource| source.place == LatencyPlace::Stdout;
        if self.output == Some(Streams::Show) && self.latency.as_ref().is_some_and(from_stdout) {
            return Err(exit::usage(
                "--output show leaves no stdout for --latency to read; use --output keep",
            ));
        }
        match self.latency.as_ref().map(|source| &source.place) {
            Some(LatencyPlace::Files(path)) => self.check_latency_path(path),
            _ => Ok(()),
        }
    }

    /// Only a server has a temporary folder; other files are listed before the port is known.
    fn check_latency_path(&self, path: &str) -> Result<()> {
        let named = ["{dir}", "{port}"].iter().find(|it| path.contains(**it));
        let Some(named) = named else {
            return Ok(());
        };
        let problem = if self.server.service.is_none() {
            format!("{named} needs --service")
        } else if !path.starts_with(FOLDER) {
            format!("a path with {named} must begin with {FOLDER}")
        } else {
            return Ok(());
        };
        Err(exit::usage(format!("--latency …:{path}: {problem}")))
    }

    /// A comparison ends as soon as it is decided; a policy without a comparison runs a few times.
    fn bounds(&self, policies: usize, fewest: u32) -> Result<Bounds> {
        let (usual, most) = match policies {
            0 | 1 => (ROUNDS_ALONE, ROUNDS_ALONE),
            // A `--fail-if` needs an interval, even if the pages show that a policy does nothing.
            _ if !self.demands.fail_if.is_empty() => (fewest, MOST_ROUNDS),
            _ => (1, MOST_ROUNDS),
        };
        let min_rounds = self.min_rounds.unwrap_or(usual);
        let max_rounds = self
            .limits
            .max_rounds
            .unwrap_or_else(|| min_rounds.max(most));
        if min_rounds == 0 {
            return Err(exit::usage("--min-rounds 0: need at least 1"));
        }
        if max_rounds < min_rounds {
            return match self.min_rounds {
                Some(_) => Err(exit::usage(format!(
                    "--max-rounds {max_rounds} is less than --min-rounds {min_rounds}"
                ))),
                None if max_rounds == 0 => Err(exit::usage("--max-rounds 0: need at least 1")),
                // The user asked for fewer rounds than the default minimum; the interval will show their worth.
                None => Ok(self.bounds_of(max_rounds, max_rounds)),
            };
        }
        let bounds = self.bounds_of(min_rounds, max_rounds);
        if self.limits.max_rounds.is_some() || self.limits.max_time.is_some() {
            return Ok(bounds);
        }
        Ok(Bounds {
            max_time: Some(USUAL_TIME),
            least_rounds: Some(fewest.max(min_rounds)),
            ..bounds
        })
    }

    fn bounds_of(&self, min_rounds: u32, max_rounds: u32) -> Bounds {
        Bounds {
            threshold: self.threshold.unwrap_or(0.01),
            precision: self.precision,
            warmup_rounds: self.warmup.unwrap_or(1),
            min_rounds,
            max_rounds,
            max_time: self.limits.max_time,
            least_rounds: None,
        }
    }

    fn checked_verdict_metric(&self, programs: &[Program]) -> Result<String> {
        check_gates(&self.demands.fail_if, &self.metric, programs)?;
        let of_latency = self
            .latency
            .as_ref()
            .and_then(LatencySource::verdict_metric);
        let asked = self.judge_by.as_ref().and_then(Criterion::metric);
        let name = asked.or(of_latency).unwrap_or(MetricId::WallSeconds.name());
        if is_known(name, &self.metric) {
            Ok(name.to_owned())
        } else {
            Err(exit::usage(format!(
                "--judge-by {name}: write typical, mean, p95 or a metric; {}",
                metric_hint(name, &self.metric)
            )))
        }
    }
}
fn baseline(asked: Option<&str>, policies: &[Policy]) -> Result<String> {
    let Some(asked) = asked else {
        return Ok(policies
            .first()
            .map_or_else(String::new, |policy| policy.name.clone()));
    };
    if policies.iter().any(|policy| policy.name == asked) {
        return Ok(asked.to_owned());
    }
    let names: Vec<&str> = policies.iter().map(|policy| policy.name.as_str()).collect();
    Err(exit::usage(format!(
        "--baseline {asked}: no policy has that name; {}",
        hint(asked, names)
    )))
}

/// A command line as lossy UTF-8 text.
fn texts(words: &[OsString]) -> Vec<String> {
    let words = words.iter().map(|word| word.to_string_lossy());
    words.map(Cow::into_owned).collect()
}

/// Numbers the second of two equal policies, because an A/A test is a valid question. Refuses the same name for
/// different settings.
fn name_apart(policies: &mut [Policy]) -> Result<()> {
    let mut seen: BTreeMap<String, (usize, usize)> = BTreeMap::new();
    for index in 0..policies.len() {
        let name = policies[index].name.clone();
        if let Some((first, count)) = seen.get_mut(&name) {
            if policies[*first].settings != policies[index].settings {
                return Err(exit::usage(format!(
                    "two different policies are called `{name}`; rename one"
                )));
            }
            *count += 1;
            policies[index].name = format!("{name} #{count}");
        } else {
            seen.insert(name, (index, 1));
        }
    }
    Ok(())
}

/// How a policy is realised on a host.
///
/// # Errors
/// The obstacles, one per line.
pub fn realise_one(host: &Host, policy: &Policy, reach: Reach) -> Result<Realisation> {
    reached(policy, host, reach).map_err(|obstacles| {
        let obstacles: Vec<String> = obstacles.iter().map(|it| plain(&it.to_string())).collect();
        exit::lines(Exit::Refused, obstacles.join("\n"))
    })
}

/// How a policy is realised, after its mount and its files were tried.
fn reached(
    policy: &Policy,
    host: &Host,
    reach: Reach,
) -> std::result::Result<Realisation, Vec<Unreachable>> {
    let realisation = realise(policy, host, reach)?;
    let tried = own_mount::check(policy).and_then(|()| file_cache::check(policy, host));
    tried.map_err(|obstacle| vec![obstacle])?;
    Ok(realisation)
}

/// How every policy of the plan is realised, or all obstacles, before anything runs.
pub fn realise_all(
    plan: &Plan,
    host: &Host,
    reach: Reach,
) -> Result<BTreeMap<String, Realisation>> {
    let mut realisations = BTreeMap::new();
    let mut obstacles = Vec::new();
    for policy in &plan.policies {
        match reached(policy, host, reach) {
            Ok(realisation) => {
                realisations.insert(policy.name.clone(), realisation);
            }
            // The obstacles of one program are those of all.
            Err(_) if plan.program_of(&policy.name) != plan.programs.first() => {}
            Err(unreachable) => {
                obstacles.extend(
                    unreachable
                        .iter()
                        .map(|obstacle| format!("  {}", plain(&obstacle.to_string()))),
                );
            }
        }
    }
    if obstacles.is_empty() {
        return Ok(realisations);
    }
    let obstacles = obstacles.join("\n");
    Err(exit::lines(
        Exit::Refused,
        format_args!("nothing was run, because this is not possible here:\n{obstacles}"),
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_policy_twice_is_told_apart() {
        let mut policies = vec![Policy::as_is(), Policy::as_is(), Policy::as_is()];
        name_apart(&mut policies).expect("equal settings");
        let names: Vec<&str> = policies.iter().map(|policy| policy.name.as_str()).collect();
        assert_eq!(names, ["as-is", "as-is #2", "as-is #3"]);
    }

    #[test]
    fn one_name_for_two_policies_is_refused() {
        let mut other = Policy::as_is();
        other.settings.thp = Some(hugewise_experiment::run::policy::Thp::Never);
        let error = name_apart(&mut [Policy::as_is(), other]).expect_err("one name, two policies");
        assert!(error.to_string().contains("as-is"), "{error}");
    }
}
