//! Differences of the kernel's counters between two readings.

use std::collections::BTreeMap;
use std::time::Duration;

use hugewise_base::counter::{Counter, File, Place};
use hugewise_base::host::Host;
use hugewise_base::missing::Missing;
use hugewise_experiment::run::metric::Scope;
use hugewise_experiment::run::trial::Reading;
use hugewise_observe::stat::KernelReading;

use super::memory::{Memory, read_group};
use super::subject::Subject;
use super::usage::UsageObserver;
use crate::machine::root::Root;
use crate::observe::khugepaged::Khugepaged;
use crate::proc::buddyinfo::{free_huge_pages, read_buddyinfo};
use crate::proc::vmstat::read_vmstat;

type Events = Result<BTreeMap<String, u64>, Missing>;
type Value = Result<f64, Missing>;

/// Reads the kernel's counters.
#[derive(Debug)]
pub(super) struct Kernel<'a> {
    root: &'a Root,
    subject: Subject,
    page_bytes: u64,
    huge_bytes: Option<u64>,
    khugepaged: Khugepaged,
    memory: Memory,
    usage: Option<UsageObserver<'a>>,
    before: Look,
}

/// One reading.
#[derive(Clone, Debug)]
struct Look {
    machine: Events,
    group: Events,
    khugepaged_ns: Result<u64, Missing>,
}

impl<'a> Kernel<'a> {
    pub(super) fn begin(root: &'a Root, host: &Host, subject: Subject, interval: Duration) -> Self {
        let khugepaged = Khugepaged::find(root);
        let before = look(root, &subject, khugepaged);
        Self {
            root,
            page_bytes: host.page_bytes,
            huge_bytes: host.pmd_bytes(),
            khugepaged,
            memory: Memory::new(interval),
            usage: subject
                .usage_scope()
                .map(|scope| UsageObserver::begin(root, scope)),
            before,
            subject,
        }
    }

    /// Reads, `now` after the begin of the interval, a process that may end before the interval does. The usage of a
    /// command is inherited by its keeper.
    pub(super) fn read_between(&mut self, now: Duration) {
        if let (Subject::Process(_), Some(usage)) = (&self.subject, &mut self.usage) {
            usage.read_between(now);
        }
    }

    /// Returns the scope of each reading.
    pub(super) fn scopes(&self) -> BTreeMap<String, Scope> {
        let own = match &self.subject {
            Subject::Machine => Scope::Machine,
            Subject::Cgroup(_) => Scope::Group,
            Subject::Command { .. } | Subject::Process(_) => Scope::Tree,
        };
        let events = Counter::at(Place::Stat).map(|counter| {
            let scope = match self.of_group(counter) {
                true => Scope::Group,
                false => Scope::Machine,
            };
            (counter.name().to_owned(), scope)
        });
        let machine = [
            KernelReading::KhugepagedSeconds,
            KernelReading::FreeHugePagesTotal,
        ];
        let owned = [
            KernelReading::MinorFaultsTotal,
            KernelReading::MajorFaultsTotal,
            KernelReading::HugeRatio,
            self.memory_name(),
        ];
        events
            .chain(machine.map(|name| (name.to_string(), Scope::Machine)))
            .chain(owned.map(|name| (name.to_string(), own)))
            .collect()
    }

    /// Returns notes for the user.
    pub(super) fn notes(&self) -> Vec<String> {
        match self.subject {
            Subject::Cgroup(_) => {
                vec!["for a cgroup, huge_ratio counts only anonymous memory".to_owned()]
            }
            _ => Vec::new(),
        }
    }

    fn memory_name(&self) -> KernelReading {
        match self.subject {
            Subject::Cgroup(_) => KernelReading::AnonBytes,
            _ => KernelReading::RssBytes,
        }
    }

    fn of_group(&self, counter: Counter) -> bool {
        let group = self.before.group.as_ref();
        counter.row().file == File::VmstatAndGroups
            && group.is_ok_and(|stat| counter.total(stat).is_some())
    }

    /// Returns the growth of counters since the last call, and the current value of gauges.
    pub(super) fn grown(&mut self) -> BTreeMap<String, Reading> {
        let now = look(self.root, &self.subject, self.khugepaged);
        let mut values: Vec<(String, Value)> = Vec::new();
        for counter in Counter::at(Place::Stat) {
            let value = match self.of_group(counter) {
                true => growth(&self.before.group, &now.group, counter, "memory.stat"),
                false => growth(&self.before.machine, &now.machine, counter, "/proc/vmstat"),
            };
            values.push((counter.name().to_owned(), value));
        }
        let (minor, major) = self.faults(&now);
        values.push((KernelReading::MinorFaultsTotal.to_string(), minor));
        values.push((KernelReading::MajorFaultsTotal.to_string(), major));
        values.push((
            KernelReading::KhugepagedSeconds.to_string(),
            self.khugepaged(&now),
        ));
        values.push((KernelReading::FreeHugePagesTotal.to_string(), self.free()));
        values.extend(self.memory());
        self.before = now;
        let named = values.into_iter();
        named.map(|(name, value)| (name, value.into())).collect()
    }

    fn faults(&mut self, now: &Look) -> (Value, Value) {
        match &self.subject {
            Subject::Machine => of_stat(&self.before.machine, &now.machine, "/proc/vmstat"),
            Subject::Cgroup(_) => of_stat(&self.before.group, &now.group, "memory.stat"),
            Subject::Command { .. } | Subject::Process(_) => {
                match self.usage.as_mut().and_then(UsageObserver::growth) {
                    Some(used) => (Ok(used.minor_faults as f64), Ok(used.major_faults as f64)),
                    None => (Err(Missing::TooShort), Err(Missing::TooShort)),
                }
            }
        }
    }

    fn khugepaged(&self, now: &Look) -> Value {
        let (before, now) = (
            self.before.khugepaged_ns.clone()?,
            now.khugepaged_ns.clone()?,
        );
        Ok(now.saturating_sub(before) as f64 / 1e9)
    }

    fn free(&self) -> Value {
        let huge_bytes = self
            .huge_bytes
            .ok_or_else(|| Missing::not_supported("transparent huge pages"))?;
        let blocks = read_buddyinfo(self.root).map_err(|error| error.into_missing("root"))?;
        Ok(free_huge_pages(&blocks, self.page_bytes, huge_bytes) as f64)
    }

    fn memory(&mut self) -> [(String, Value); 2] {
        let share = self.memory.read(self.root, &self.subject);
        let all = share.clone().map(|share| share.of_bytes as f64);
        let huge = share.and_then(|share| match share.of_bytes {
            0 => Err(Missing::not_supported("memory in use")),
            all => Ok((share.huge_bytes as f64 / all as f64).min(1.0)),
        });
        [
            (self.memory_name().to_string(), all),
            (KernelReading::HugeRatio.to_string(), huge),
        ]
    }
}

fn look(root: &Root, subject: &Subject, khugepaged: Khugepaged) -> Look {
    let group = match subject {
        Subject::Cgroup(group) => read_group(root, group),
        _ => Err(Missing::NotAsked),
    };
    Look {
        machine: read_vmstat(root).map_err(|error| error.into_missing("root")),
        group,
        khugepaged_ns: khugepaged.cpu_ns(root),
    }
}

fn growth(before: &Events, now: &Events, counter: Counter, file: &str) -> Value {
    let (before, now) = (before.as_ref(), now.as_ref());
    let (before, now) = (before.map_err(Clone::clone)?, now.map_err(Clone::clone)?);
    let known = counter.total(before).zip(counter.total(now));
    known
        .map(|(before, now)| now.saturating_sub(before) as f64)
        .ok_or_else(|| Missing::not_supported(format!("{} in {file}", counter.field())))
}

/// `pgfault` counts all faults, including those with I/O (`pgmajfault`).
fn of_stat(before: &Events, now: &Events, file: &str) -> (Value, Value) {
    let all = growth(before, now, Counter::PageFaults, file);
    let major = growth(before, now, Counter::WaitingFaults, file);
    let minor = all.and_then(|all| Ok((all - major.clone()?).max(0.0)));
    (minor, major)
}

#[cfg(test)]
mod tests {
    use hugewise_observe::stat::is_reading;

    use super::*;

    fn events(pairs: &[(&str, u64)]) -> Events {
        Ok(pairs
            .iter()
            .map(|(name, n)| ((*name).to_owned(), *n))
            .collect())
    }

    #[test]
    fn every_reading_is_explained() {
        let root = Root::real();
        let (subject, huge) = (Subject::Machine, Some(2 << 20));
        let mut kernel = Kernel {
            page_bytes: 4096,
            huge_bytes: huge,
            khugepaged: Khugepaged::default(),
            memory: Memory::new(Duration::from_secs(1)),
            before: look(&root, &subject, Khugepaged::default()),
            usage: None,
            root: &root,
            subject,
        };
        let explained = |name: &String| is_reading(name);
        assert!(kernel.grown().keys().all(explained));
        assert!(kernel.scopes().keys().all(explained));
    }

    #[test]
    fn faults_without_io_are_all_less_those_with() {
        let before = events(&[("pgfault", 100), ("pgmajfault", 10)]);
        let now = events(&[("pgfault", 150), ("pgmajfault", 12)]);
        assert_eq!(of_stat(&before, &now, "x"), (Ok(48.0), Ok(2.0)));
    }

    #[test]
    fn a_counter_that_is_not_there_is_not_zero() {
        let none = events(&[]);
        let why = growth(&none, &none, Counter::CompactStall, "/proc/vmstat").unwrap_err();
        assert_eq!(
            why.to_string(),
            "not on this machine: compact_stall in /proc/vmstat"
        );
    }
}
