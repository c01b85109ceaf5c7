//! Derives one reading for every metric of the table from all evidence.

use std::collections::BTreeMap;
use std::time::Duration;

use hugewise_base::counter::Counter;
use hugewise_base::host::Host;
use hugewise_base::missing::Missing;
use hugewise_experiment::run::metric::MetricId as Id;
use hugewise_experiment::run::policy::realise::Realisation;
use hugewise_experiment::run::trial::{ReadBack, Reading};
use hugewise_observe::stat::kind::{CYCLES, INSTRUCTIONS};

use super::account::Account;
use super::arrival::Arrival;
use super::counts::TrialCounts;
use super::machine::Machine;
use super::marks::Circumstances;
use super::sampler::{Mean, TrialSamples};
use super::service_evidence::ServiceEvidence;
use super::sharing::Sharing;
use super::stacks::Stacks;
use super::stalls::Seconds;
use crate::proc::buddyinfo::{free_huge_pages, small_block_share};
use crate::proc::smaps_rollup::Rollup;
use crate::proc::stat::seconds_of_ticks;
use crate::spawn::ExitReading;

/// All observations of one trial.
pub(super) struct Evidence<'a> {
    pub(super) host: &'a Host,
    pub(super) account: &'a Account,
    pub(super) samples: &'a TrialSamples,
    pub(super) counted: &'a TrialCounts<'a>,
    pub(super) before: &'a Machine,
    pub(super) after: &'a Machine,
    pub(super) cgroup_peak: Result<u64, Missing>,
    pub(super) stalls: &'a Seconds,
    /// How the subject was driven, if it is a server.
    pub(super) driven: Option<ServiceEvidence>,
}

pub(super) type Value = Result<f64, Missing>;

impl Evidence<'_> {
    /// Returns one reading for every metric of the table and for every watched folio size.
    pub(super) fn readings(&self, sizes: &[u64]) -> BTreeMap<String, Reading> {
        let mut values = self.folios(sizes);
        values.extend(Id::all().map(|id| (id.to_string(), self.value(id))));
        let readings = values.into_iter();
        readings
            .map(|(name, value)| (name, Reading::from(value)))
            .collect()
    }

    /// Selects the source of each reading.
    fn value(&self, id: Id) -> Value {
        let usage = &self.account.usage;
        let seconds = |ns: u64| Ok(ns as f64 / 1e9);
        match id {
            Id::WallSeconds => seconds(self.account.wall_ns),
            Id::UserSeconds => seconds(usage.user_ns),
            Id::SystemSeconds => seconds(usage.system_ns),
            Id::MinorFaultsTotal => Ok(usage.minor_faults as f64),
            Id::MajorFaultsTotal => Ok(usage.major_faults as f64),
            Id::VoluntarySwitchesTotal => self.switches(usage.voluntary_switches),
            Id::InvoluntarySwitchesTotal => self.switches(usage.involuntary_switches),
            Id::SamplesTotal => Ok(self.samples.count as f64),
            Id::SamplingRatio => Ok(self.samples.cost_seconds / self.samples.span_seconds),

            Id::ServiceReadySeconds => Ok(self.driven()?.ready.as_secs_f64()),
            Id::ServiceUseRatio => self.driven().map(|_| self.by_wall(usage.cpu_ns())),
            Id::LoadUseRatio => Ok(self.by_wall(self.driven()?.load_cpu_ns)),
            Id::ThreadStacksBytes => Ok(self.stacks()?.resident as f64),
            Id::ThreadStacksHugeBytes => Ok(self.stacks()?.huge as f64),
            Id::ThreadsTotal => Ok(self.stacks()?.threads as f64),

            Id::ArrivalSeconds => Ok(self.arrival()?.seconds),
            Id::ArrivalUserSeconds => Ok(seconds_of_ticks(self.arrival()?.used.user_ticks)),
            Id::ArrivalSystemSeconds => Ok(seconds_of_ticks(self.arrival()?.used.system_ticks)),
            Id::ArrivalFaultsTotal => Ok(self.arrival()?.used.minor_faults as f64),

            Id::PeakRssBytes => self.peak_rss().map(|bytes| bytes as f64),
            Id::PeakTreeRssBytes => self.peak_tree_rss(),
            Id::PeakTreePssBytes => self.peak_tree_pss(),
            Id::CgroupPeakBytes => self.cgroup_peak.clone().map(|bytes| bytes as f64),
            Id::RssMeanBytes => self.mean(|mean| mean.rss),
            Id::AnonPeakBytes => self.peak(|sum| sum.anon_bytes),
            Id::ForkSharedPeakBytes => self.sharing(Sharing::shared_peak),
            Id::ForkCopiedBytes => self.sharing(Sharing::copied),
            Id::HugeAnonPeakBytes => self.peak(|sum| sum.huge_anon_bytes),
            Id::HugeAnonMeanBytes => self.mean(|mean| mean.huge_anon),
            Id::HugeAnonExitBytes => self.at_exit(|sum| sum.huge_anon_bytes),
            Id::HugeFilePeakBytes => self.peak(|sum| sum.huge_file_bytes),
            Id::HugeFileMeanBytes => self.mean(|mean| mean.huge_file),
            Id::HugeFileExitBytes => self.at_exit(|sum| sum.huge_file_bytes),
            Id::HugeCodeExitBytes => self.huge_code_at_exit(),
            Id::HugeShmemPeakBytes => self.peak(|sum| sum.huge_shmem_bytes),
            Id::HugeShmemMeanBytes => self.mean(|mean| mean.huge_shmem),
            Id::HugeShmemExitBytes => self.at_exit(|sum| sum.huge_shmem_bytes),
            Id::HugetlbPeakBytes => self.peak(|sum| sum.hugetlb_bytes),
            Id::HugetlbMeanBytes => self.mean(|mean| mean.hugetlb),
            Id::HugetlbExitBytes => self.at_exit(|sum| sum.hugetlb_bytes),
            Id::HugeZeroExitBytes => self.huge_zero_at_exit(),

            Id::CyclesTotal => self.counted.total(CYCLES),
            Id::InstructionsTotal => self.counted.total(INSTRUCTIONS),
            Id::DtlbWalksTotal => self.counted.data_walks(),
            Id::ItlbWalksTotal => self.counted.total("itlb_walks"),
            Id::DataWalkCyclesRatio => self.counted.data_walk_cycles(self.host),
            Id::CodeWalkCyclesRatio => self.counted.code_walk_cycles(self.host),

            Id::DirectCompactionSeconds
            | Id::DirectReclaimSeconds
            | Id::CgroupReclaimSeconds
            | Id::ZeroingSeconds
            | Id::SplitSeconds
            | Id::PageFaultSeconds
            | Id::CopyOnWriteSeconds
            | Id::MmapLockWaitSeconds => self.stalls.of(id),

            Id::StealSeconds => self.ticks(|time| time.steal_ticks),
            Id::OtherBusySeconds => self.other_busy(),
            Id::FreeHugePagesBeforeTotal => self.free(self.before),
            Id::FreeHugePagesAfterTotal => self.free(self.after),
            Id::FragmentedBeforeRatio => self.fragmented(),
            Id::Counter(Counter::KhugepagedCollapsed) => self.collapsed(),
            Id::Counter(counter) => self.growth(counter),
        }
    }

    fn driven(&self) -> Result<&ServiceEvidence, Missing> {
        self.driven.as_ref().ok_or(Missing::NotAsked)
    }

    /// Returns processor time as a share of the wall time.
    fn by_wall(&self, cpu_ns: u64) -> f64 {
        cpu_ns as f64 / self.account.wall_ns as f64
    }

    fn stacks(&self) -> Result<&Stacks, Missing> {
        self.driven()?.stacks.as_ref().map_err(Clone::clone)
    }

    fn switches(&self, number: u64) -> Value {
        self.account.switches.clone().map(|()| number as f64)
    }

    pub(super) fn exit(&self) -> Result<&ExitReading, Missing> {
        self.account.exit.as_ref().map_err(Clone::clone)
    }

    fn exit_rollup(&self) -> Result<Rollup, Missing> {
        self.exit()?.rollup.clone()
    }

    fn at_exit(&self, bytes: fn(&Rollup) -> u64) -> Value {
        self.exit_rollup().map(|rollup| bytes(&rollup) as f64)
    }

    fn huge_code_at_exit(&self) -> Value {
        let bytes = self.exit()?.huge_code_bytes.clone()?;
        Ok(bytes as f64)
    }

    fn huge_zero_at_exit(&self) -> Value {
        let bytes = self.exit()?.huge_zero_bytes.clone()?;
        Ok(bytes as f64)
    }

    /// Returns the maximum of the samples and the exit reading. Without samples, the exit reading represents the tree
    /// only if the main process had no children.
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

    /// Returns when the memory of a program was populated; that of a server was populated before its load.
    fn arrival(&self) -> Result<Arrival, Missing> {
        if self.driven.is_some() {
            return Err(Missing::NotAsked);
        }
        let peak = self.peak(|sum| sum.rss_bytes)?;
        let arrival = self.samples.arrivals.of(peak as u64);
        arrival.ok_or_else(|| self.no_samples())
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

    pub(super) fn no_samples(&self) -> Missing {
        self.samples.trouble.clone().unwrap_or(Missing::TooShort)
    }

    /// `ru_maxrss` is valid above the floor inherited through exec. Below it, `VmHWM` at exit is, which covers the main
    /// process: of the tree only when there were no children.
    fn peak_rss(&self) -> Result<u64, Missing> {
        let floor = self.account.floor_bytes;
        let inherited = self.account.usage.peak_rss_bytes;
        let exit = self.exit().ok();
        let at_exit = exit
            .and_then(|exit| exit.peak_rss_bytes.as_ref().ok())
            .copied();
        let childless = exit.is_some_and(|exit| !exit.had_children);
        match at_exit {
            // The counters behind ru_maxrss lag a little; VmHWM is an exact sum.
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

    /// For one process it would be a worse `peak_rss_bytes`: sampled, and without the shared part.
    fn peak_tree_pss(&self) -> Value {
        match self.samples.processes {
            0 => Err(self.no_samples()),
            1 => Err(Missing::NotCounted {
                obstacle: "no sample saw two processes; see peak_rss_bytes".to_owned(),
            }),
            _ => Ok(self.samples.peak.pss_bytes as f64),
        }
    }

    fn ticks(&self, field: fn(&crate::proc::stat::MachineTime) -> u64) -> Value {
        let (before, after) = (self.before.time.clone()?, self.after.time.clone()?);
        let ticks = field(&after).saturating_sub(field(&before));
        Ok(seconds_of_ticks(ticks))
    }

    /// Not negative: the machine counts in ticks, the tree in nanoseconds.
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

    /// Returns the growth of a counter of `/proc/vmstat`.
    fn growth(&self, counter: Counter) -> Value {
        let (before, after) = (self.before.events.as_ref(), self.after.events.as_ref());
        let (before, after) = (before.map_err(Clone::clone)?, after.map_err(Clone::clone)?);
        let now = counter.total(after).ok_or_else(|| Missing::NotSupported {
            what: format!("{} in /proc/vmstat", counter.field().trim_end_matches("_*")),
        })?;
        Ok(now.saturating_sub(counter.total(before).unwrap_or(0)) as f64)
    }

    /// Returns the time during which some task of the machine waited for a disk.
    fn io_wait_seconds(&self) -> Option<f64> {
        let (before, after) = self.before.io_wait_us.zip(self.after.io_wait_us)?;
        Some(Duration::from_micros(after.saturating_sub(before)).as_secs_f64())
    }

    /// Returns the facts from which the marks are derived.
    pub(super) fn circumstances<'b>(
        &self,
        expected: &'b Realisation,
        read_back: &'b ReadBack,
        files_after: &'b BTreeMap<String, String>,
    ) -> Circumstances<'b> {
        let known = |value: Value| value.ok();
        let whole = |value: Value| value.ok().map(|number| number as u64);
        Circumstances {
            trial_seconds: self.after.at.duration_since(self.before.at).as_secs_f64(),
            processors: self.host.cpus.max(1),
            tick_seconds: seconds_of_ticks(1),
            other_busy_seconds: known(self.other_busy()),
            other_server_seconds: self
                .driven
                .as_ref()
                .map(ServiceEvidence::other_server_seconds),
            steal_seconds: known(self.value(Id::StealSeconds)),
            free_huge_pages: whole(self.free(self.before)),
            huge_bytes: self.host.pmd_bytes(),
            peak_rss_bytes: self.peak_rss().ok(),
            major_faults: self.account.usage.major_faults,
            io_wait_seconds: self.io_wait_seconds(),
            swapped_pages: whole(self.value(Id::Counter(Counter::SwappedPages))).unwrap_or(0),
            expected,
            read_back,
            files_after,
        }
    }
}
