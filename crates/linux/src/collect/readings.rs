//! One reading for every metric of the table, from all evidence.

use std::collections::BTreeMap;

use hugewise_model::base::host::Host;
use hugewise_model::base::missing::Missing;
use hugewise_model::run::metric::METRICS;
use hugewise_model::run::policy::realise::Realisation;
use hugewise_model::run::trial::{ReadBack, Reading};

use super::account::Account;
use super::counts::TrialCounts;
use super::machine::Machine;
use super::marks::Circumstances;
use super::sampler::{Mean, Samples};
use super::service_evidence::{self, ServiceEvidence};
use super::sharing::Sharing;
use super::stalls::Seconds;
use crate::proc::buddyinfo::{free_huge_pages, small_block_share};
use crate::proc::smaps_rollup::Rollup;
use crate::proc::stat::ticks_per_second;
use crate::spawn::ExitReading;

/// Everything that was observed in one trial.
pub(super) struct Evidence<'a> {
    pub(super) host: &'a Host,
    pub(super) account: &'a Account,
    pub(super) samples: &'a Samples,
    pub(super) counted: &'a TrialCounts<'a>,
    pub(super) before: &'a Machine,
    pub(super) after: &'a Machine,
    pub(super) cgroup_peak: Result<u64, Missing>,
    pub(super) stalls: &'a Seconds,
    /// How the subject was driven, where it is a server.
    pub(super) driven: Option<ServiceEvidence>,
}

type Value = Result<f64, Missing>;

impl Evidence<'_> {
    /// One reading for every metric of the table and for every watched folio size.
    pub(super) fn readings(&self, sizes: &[u64]) -> BTreeMap<String, Reading> {
        let mut values = self.folios(sizes);
        let table = METRICS.iter().map(|metric| &*metric.name);
        values.extend(table.map(|name| (name.to_owned(), self.value(name))));
        let readings = values.into_iter();
        readings
            .map(|(name, value)| (name, Reading::from(value)))
            .collect()
    }

    fn value(&self, name: &str) -> Value {
        service_evidence::value(self.driven.as_ref(), self.account, name)
            .or_else(|| self.of_tree(name))
            .or_else(|| self.of_memory(name))
            .or_else(|| self.of_machine(name))
            .or_else(|| self.counted.value(name, self.host))
            .or_else(|| self.stalls.of(name))
            .unwrap_or_else(|| self.event(name))
    }

    fn of_tree(&self, name: &str) -> Option<Value> {
        let usage = self.account.usage;
        let seconds = |ns: u64| ns as f64 / 1e9;
        Some(Ok(match name {
            "wall_seconds" => seconds(self.account.wall_ns),
            "user_seconds" => seconds(usage.user_ns),
            "system_seconds" => seconds(usage.system_ns),
            "minor_faults_total" => usage.minor_faults as f64,
            "major_faults_total" => usage.major_faults as f64,
            "voluntary_switches_total" => return Some(self.switches(usage.voluntary_switches)),
            "involuntary_switches_total" => return Some(self.switches(usage.involuntary_switches)),
            "samples_total" => self.samples.count as f64,
            "sampling_ratio" => self.samples.cost_seconds / self.samples.span_seconds,
            _ => return None,
        }))
    }

    fn switches(&self, number: u64) -> Value {
        self.account.switches.clone().map(|()| number as f64)
    }

    fn of_memory(&self, name: &str) -> Option<Value> {
        Some(match name {
            "peak_rss_bytes" => self.peak_rss().map(|bytes| bytes as f64),
            "peak_tree_rss_bytes" => self.peak_tree_rss(),
            "peak_tree_pss_bytes" => self.peak_tree_pss(),
            "cgroup_peak_bytes" => self.cgroup_peak.clone().map(|bytes| bytes as f64),
            "rss_mean_bytes" => self.mean(|mean| mean.rss),
            "anon_peak_bytes" => self.peak(|sum| sum.anon_bytes),
            "fork_shared_peak_bytes" => self.sharing(Sharing::shared_peak),
            "fork_copied_bytes" => self.sharing(Sharing::copied),
            "huge_zero_exit_bytes" => self
                .exit()
                .and_then(|exit| exit.huge_zero_bytes.clone())
                .map(|bytes| bytes as f64),
            _ => return self.of_kind(name),
        })
    }

    /// The four kinds of huge memory, each as peak, mean and at exit.
    fn of_kind(&self, name: &str) -> Option<Value> {
        type Kind = (&'static str, fn(&Rollup) -> u64, fn(&Mean) -> f64);
        const KINDS: [Kind; 4] = [
            (
                "huge_anon",
                |sum| sum.huge_anon_bytes,
                |mean| mean.huge_anon,
            ),
            (
                "huge_file",
                |sum| sum.huge_file_bytes,
                |mean| mean.huge_file,
            ),
            (
                "huge_shmem",
                |sum| sum.huge_shmem_bytes,
                |mean| mean.huge_shmem,
            ),
            ("hugetlb", |sum| sum.hugetlb_bytes, |mean| mean.hugetlb),
        ];
        let (prefix, bytes, mean) = KINDS.iter().find(|(kind, ..)| name.starts_with(kind))?;
        Some(match name.strip_prefix(prefix)? {
            "_peak_bytes" => self.peak(*bytes),
            "_mean_bytes" => self.mean(*mean),
            "_exit_bytes" => self.exit_rollup().map(|rollup| bytes(&rollup) as f64),
            _ => return None,
        })
    }

    fn exit(&self) -> Result<&ExitReading, Missing> {
        self.account.exit.as_ref().map_err(Clone::clone)
    }

    fn exit_rollup(&self) -> Result<Rollup, Missing> {
        self.exit()?.rollup.clone()
    }

    /// The largest of the samples and the exit reading. Without samples the exit reading alone
    /// stands for the tree only when the main process had no children.
    fn peak(&self, bytes: fn(&Rollup) -> u64) -> Value {
        let sampled = (self.samples.count > 0).then(|| bytes(&self.samples.peak));
        let childless = self.exit().is_ok_and(|exit| !exit.had_children);
        let at_exit = self.exit_rollup().map(|rollup| bytes(&rollup));
        match (sampled, at_exit) {
            (Some(sampled), Ok(at_exit)) => Ok(sampled.max(at_exit) as f64),
            (Some(sampled), Err(_)) => Ok(sampled as f64),
            (None, Ok(at_exit)) if childless => Ok(at_exit as f64),
            (None, _) => Err(self.no_samples()),
        }
    }

    fn mean(&self, field: impl Fn(&Mean) -> f64) -> Value {
        let mean = self.samples.mean.as_ref();
        mean.map(field).ok_or_else(|| self.no_samples())
    }

    fn sharing(&self, what: fn(&Sharing) -> Result<u64, Missing>) -> Value {
        match self.samples.count {
            0 => Err(self.no_samples()),
            _ => what(&self.samples.sharing).map(|bytes| bytes as f64),
        }
    }

    fn no_samples(&self) -> Missing {
        self.samples.trouble.clone().unwrap_or(Missing::TooShort)
    }

    /// `ru_maxrss` is true above the floor that exec hands down. Below it, `VmHWM` at exit is,
    /// which covers the main process: of the tree only when there were no children.
    fn peak_rss(&self) -> Result<u64, Missing> {
        let floor = self.account.floor_bytes;
        let inherited = self.account.usage.peak_rss_bytes;
        let exit = self.exit().ok();
        let at_exit = exit
            .and_then(|exit| exit.peak_rss_bytes.as_ref().ok())
            .copied();
        let childless = exit.is_some_and(|exit| !exit.had_children);
        match at_exit {
            // The counters behind ru_maxrss lag a little; VmHWM is summed up exactly.
            Some(exact) if exact.max(inherited) > floor => Ok(exact.max(inherited)),
            Some(exact) if childless => Ok(exact),
            None if inherited > floor => Ok(inherited),
            _ => Err(Missing::BelowFloor { floor }),
        }
    }

    fn peak_tree_rss(&self) -> Value {
        let sampled = self.peak(|sum| sum.rss_bytes)?;
        Ok(self
            .peak_rss()
            .map_or(sampled, |one| sampled.max(one as f64)))
    }

    /// Of one process it would be a worse `peak_rss_bytes`: sampled, and less what it shares.
    fn peak_tree_pss(&self) -> Value {
        match self.samples.processes {
            0 => Err(self.no_samples()),
            1 => Err(Missing::NotCounted {
                obstacle: "no sample saw two processes; see peak_rss_bytes".to_owned(),
            }),
            _ => Ok(self.samples.peak.pss_bytes as f64),
        }
    }

    fn of_machine(&self, name: &str) -> Option<Value> {
        Some(match name {
            "steal_seconds" => self.ticks(|time| time.steal_ticks),
            "other_busy_seconds" => self.other_busy(),
            "free_huge_pages_before_total" => self.free(self.before),
            "free_huge_pages_after_total" => self.free(self.after),
            "fragmented_before_ratio" => self.fragmented(),
            "khugepaged_collapsed_total" => self.collapsed(),
            _ => return None,
        })
    }

    fn ticks(&self, field: fn(&crate::proc::stat::MachineTime) -> u64) -> Value {
        let (before, after) = (self.before.time.clone()?, self.after.time.clone()?);
        let ticks = field(&after).saturating_sub(field(&before));
        Ok(ticks as f64 / ticks_per_second() as f64)
    }

    /// Not below zero: the machine counts in ticks, the tree in nanoseconds.
    fn other_busy(&self) -> Value {
        let own = self.after.own_cpu_ns.saturating_sub(self.before.own_cpu_ns);
        let known = own + self.account.aside_cpu_ns + self.account.usage.cpu_ns();
        Ok((self.ticks(|time| time.busy_ticks)? - known as f64 / 1e9).max(0.0))
    }

    fn collapsed(&self) -> Value {
        let (before, after) = (
            self.before.collapsed.clone()?,
            self.after.collapsed.clone()?,
        );
        Ok(after.saturating_sub(before) as f64)
    }

    fn free(&self, machine: &Machine) -> Value {
        let huge_bytes = self.huge_bytes()?;
        let blocks = machine.free_blocks.clone()?;
        Ok(free_huge_pages(&blocks, self.host.page_bytes, huge_bytes) as f64)
    }

    fn fragmented(&self) -> Value {
        let huge_bytes = self.huge_bytes()?;
        let blocks = self.before.free_blocks.clone()?;
        Ok(small_block_share(&blocks, self.host.page_bytes, huge_bytes))
    }

    fn huge_bytes(&self) -> Result<u64, Missing> {
        self.host.pmd_bytes().ok_or_else(|| Missing::NotSupported {
            what: "transparent huge pages".to_owned(),
        })
    }

    /// The growth of a counter of `/proc/vmstat`.
    fn event(&self, name: &str) -> Value {
        let event = name.strip_suffix("_total").unwrap_or(name);
        match event {
            "allocstall" => self.growth(event, |found| found.starts_with("allocstall")),
            "swapped_pages" => self.growth("pswpin", |found| matches!(found, "pswpin" | "pswpout")),
            _ => self.growth(event, |found| found == event),
        }
    }

    /// The growth of all counters that are wanted, known to people as `event`.
    fn growth(&self, event: &str, wanted: impl Fn(&str) -> bool) -> Value {
        let (before, after) = (self.before.events.as_ref(), self.after.events.as_ref());
        let (before, after) = (before.map_err(Clone::clone)?, after.map_err(Clone::clone)?);
        let grown = |(name, now): (&String, &u64)| {
            now.saturating_sub(before.get(name).copied().unwrap_or(0))
        };
        let found = after.iter().filter(|(name, _)| wanted(name));
        let sum = found.map(grown).reduce(u64::saturating_add);
        sum.map(|sum| sum as f64)
            .ok_or_else(|| Missing::NotSupported {
                what: format!("{event} in /proc/vmstat"),
            })
    }

    /// The families of metrics that depend on the folio sizes of the machine.
    fn folios(&self, sizes: &[u64]) -> BTreeMap<String, Value> {
        let mut values = BTreeMap::new();
        for kib in sizes {
            values.insert(format!("mthp_{kib}kib_peak_bytes"), self.folio_peak(*kib));
            values.insert(format!("mthp_{kib}kib_exit_bytes"), self.folio_exit(*kib));
            let nothing = BTreeMap::new();
            let before = self.before.folio_events.get(kib).unwrap_or(&nothing);
            let after = self.after.folio_events.get(kib).unwrap_or(&nothing);
            for (event, now) in after {
                let then = before.get(event).copied().unwrap_or(0);
                let growth = now.saturating_sub(then) as f64;
                values.insert(format!("mthp_{kib}kib_{event}_total"), Ok(growth));
            }
        }
        values
    }

    /// The largest growth of the machine's gauge among the samples, and no less than what the
    /// main process held at its end: samples are few, and may all lie before the peak.
    fn folio_peak(&self, kib: u64) -> Value {
        let growth = self.samples.folio_growth.get(&kib);
        let sampled = growth.map(|folios| folios.saturating_mul(kib * 1024) as f64);
        let childless = self.exit().is_ok_and(|exit| !exit.had_children);
        match (sampled, self.folio_exit(kib)) {
            (Some(sampled), Ok(at_exit)) => Ok(sampled.max(at_exit)),
            (Some(sampled), Err(_)) => Ok(sampled),
            (None, Ok(at_exit)) if childless => Ok(at_exit),
            (None, _) => Err(self.no_samples()),
        }
    }

    fn folio_exit(&self, kib: u64) -> Value {
        let sizes = self.exit()?.folio_bytes.as_ref().map_err(Clone::clone)?;
        Ok(sizes.get(&kib).copied().unwrap_or(0) as f64)
    }

    /// What the marks are judged by.
    pub(super) fn circumstances<'b>(
        &self,
        expected: &'b Realisation,
        read_back: &'b ReadBack,
        files_after: &'b BTreeMap<String, String>,
    ) -> Circumstances<'b> {
        let known = |value: Value| value.ok();
        let whole = |value: Value| value.ok().map(|number| number as u64);
        Circumstances {
            processor_seconds: self.after.at.duration_since(self.before.at).as_secs_f64()
                * f64::from(self.host.cpus.max(1)),
            tick_seconds: 1.0 / ticks_per_second() as f64,
            other_busy_seconds: known(self.other_busy()),
            steal_seconds: known(self.value("steal_seconds")),
            free_huge_pages: whole(self.free(self.before)),
            huge_bytes: self.host.pmd_bytes(),
            peak_rss_bytes: self.peak_rss().ok(),
            major_faults: self.account.usage.major_faults,
            swapped_pages: whole(self.value("swapped_pages_total")).unwrap_or(0),
            expected,
            read_back,
            files_after,
        }
    }
}
