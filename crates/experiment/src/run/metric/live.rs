//! The family of metrics of a period of `hugewise live`.

use std::borrow::Cow;

use super::Metric;

#[rustfmt::skip]
metrics! {
    /// A reading of one period.
    pub enum LiveMetric in LIVE_METRICS;
    CpuWorkPerSecond "cpu_work_per_second" "work per CPU second" PerSecond Higher Tree Always
        "Growth of the counter of --work, divided by the processor time of the process over the same time (its CPU clock, or cpu.stat of the cgroup).";
    SameInputPerSecond "cpu_work_same_input_per_second" "same-input work rate" PerSecond Higher Tree Always
        "For a program that starts again whenever it ends: cpu_work_per_second, times the relative cost of this stretch of its work. That cost is the processor time of a unit here, divided by the mean of a whole run, in earlier starts; 1 without one.";
    WorkPerSecond "work_per_second" "work per second" PerSecond Higher Tree Always
        "Growth of the counter of --work, divided by the elapsed time.";
    ProcessorUseRatio "processor_use_ratio" "processors in use" Ratio Neither Tree Always
        "Processor time of the process, divided by the elapsed time: 1 is one fully used processor.";
    MinorFaultsPerSecond "minor_faults_per_second" "minor faults" PerSecond Neither Tree Always
        "Page faults of the process, served without I/O (/proc/PID/stat).";
    ResidentBytes "resident_bytes" "resident" Bytes Neither Tree OnRequest
        "Resident set of the process at the end of the period (/proc/PID/statm).";
    SwitchedBytes "switched_bytes" "memory switched" Bytes Neither Tree OnRequest
        "Memory whose page size was switched before the period.";
    HugeBeginBytes "huge_anon_begin_bytes" "huge at the start" Bytes Neither Tree OnRequest
        "The PMD-mapped part of it at the start of the period (PAGEMAP_SCAN).";
    HugeEndBytes "huge_anon_end_bytes" "huge at the end" Bytes Neither Tree OnRequest
        "The same at the end of the period.";
    SwitchSeconds "switch_seconds" "time to switch" Seconds Neither Own OnRequest
        "Time of the switch before the period; a placebo switch counts both ways.";
    LongestCallSeconds "longest_call_seconds" "longest call" Seconds Neither Own OnRequest
        "The longest process_madvise(2) of the switch. A call that splits holds the lock of the address space throughout, a call that makes pages huge for each block.";
    ShamTotal "sham_total" "placebo switches" Count Neither Own OnRequest
        "1 if the blocks already had the right pages and were switched away and back, otherwise 0.";
    WorkBeginTotal "work_begin_total" "work at the start" Count Neither Tree OnRequest
        "The counter of --work at the start of the period.";
    WorkEndTotal "work_end_total" "work at the end" Count Neither Tree OnRequest
        "The counter of --work at the end of the period.";
    CpuBeginSeconds "cpu_begin_seconds" "CPU time at the start" Seconds Neither Tree OnRequest
        "Processor time of the process at the start of the period.";
    CpuEndSeconds "cpu_end_seconds" "CPU time at the end" Seconds Neither Tree OnRequest
        "The same at the end of the period.";
    CutTotal "cut_periods_total" "periods cut" Count Neither Own OnRequest
        "Periods before this one that the end of the program cut: those of a round that was measured again in its next start.";
}

/// Finds a metric of a period.
#[must_use]
pub fn find(name: &str) -> Option<Metric> {
    let id: LiveMetric = name.parse().ok()?;
    Some(id.metric().clone())
}

/// The name of a metric with the unit of the work: `commands per CPU second`.
#[must_use]
pub fn of_work(metric: Metric, unit: &str) -> Metric {
    let label = match metric.name.parse() {
        Ok(LiveMetric::CpuWorkPerSecond) => format!("{unit} per CPU second"),
        Ok(LiveMetric::SameInputPerSecond) => format!("{unit} per CPU second, same input"),
        Ok(LiveMetric::WorkPerSecond) => format!("{unit} per second"),
        _ => return metric,
    };
    Metric {
        label: Cow::Owned(label),
        ..metric
    }
}
