//! The family of metrics of a period of `hugewise live`.

use std::borrow::Cow;

use super::Metric;

#[rustfmt::skip]
metrics! {
    /// A reading of one period.
    pub enum LiveMetric in LIVE_METRICS;
    CpuWorkPerSecond "cpu_work_per_second" "work per CPU second" PerSecond Higher Tree Always
        "Growth of the counter of --work by the processor time of the process over the same time (its CPU clock, or cpu.stat of the cgroup).";
    WorkPerSecond "work_per_second" "work per second" PerSecond Higher Tree Always
        "Growth of the counter of --work by the time that passed.";
    ProcessorUseRatio "processor_use_ratio" "processors in use" Ratio Neither Tree Always
        "Processor time of the process, by the time that passed: 1 is one processor all the time.";
    MinorFaultsPerSecond "minor_faults_per_second" "minor faults" PerSecond Neither Tree Always
        "Page faults of the process that were served without I/O (/proc/PID/stat).";
    ResidentBytes "resident_bytes" "resident" Bytes Neither Tree OnRequest
        "Resident set of the process at the end of the period (/proc/PID/statm).";
    SwitchedBytes "switched_bytes" "memory switched" Bytes Neither Tree OnRequest
        "Memory whose page size was switched before the period.";
    HugeBeginBytes "huge_anon_begin_bytes" "huge at the begin" Bytes Neither Tree OnRequest
        "The part of it that a PMD mapped at the begin of the period (PAGEMAP_SCAN).";
    HugeEndBytes "huge_anon_end_bytes" "huge at the end" Bytes Neither Tree OnRequest
        "The same at the end of the period.";
    SwitchSeconds "switch_seconds" "time to switch" Seconds Neither Own OnRequest
        "Time of the switch before the period; a sham has two.";
    LongestCallSeconds "longest_call_seconds" "longest call" Seconds Neither Own OnRequest
        "The longest process_madvise(2) of the switch, which bounds how long it held the lock of the address space.";
    ShamTotal "sham_total" "sham switches" Count Neither Own OnRequest
        "1 if the blocks had the right pages already and were switched away and back, else 0.";
    CutTotal "cut_periods_total" "periods cut" Count Neither Own OnRequest
        "Periods before this one that the end of the program cut: those of a round that was measured again in its next start.";
}

/// Finds a metric of a period.
#[must_use]
pub fn find(name: &str) -> Option<Metric> {
    let id: LiveMetric = name.parse().ok()?;
    Some(id.metric().clone())
}

/// Names a metric by the unit of the work: `commands per CPU second`.
#[must_use]
pub fn of_work(metric: Metric, unit: &str) -> Metric {
    let label = match metric.name.parse() {
        Ok(LiveMetric::CpuWorkPerSecond) => format!("{unit} per CPU second"),
        Ok(LiveMetric::WorkPerSecond) => format!("{unit} per second"),
        _ => return metric,
    };
    Metric {
        label: Cow::Owned(label),
        ..metric
    }
}
