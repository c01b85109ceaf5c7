//! Rates of a running process in a time window, which `collapse --measure` compares.

#[rustfmt::skip]
metrics! {
    /// A rate or an amount of one process.
    pub enum RateMetric in RATE_METRICS;
    ProcessorUseRatio "processor_use_ratio" "processors in use" Ratio Lower Process Always
        "Processor time of the process, divided by the elapsed time (/proc/PID/stat): 1 is one fully used processor.";
    SystemUseRatio "system_use_ratio" "processors in kernel" Ratio Lower Process Always
        "The part of it in kernel mode.";
    MinorFaultsPerSecond "minor_faults_per_second" "minor faults" PerSecond Lower Process Always
        "Page faults served without I/O (/proc/PID/stat).";
    MajorFaultsPerSecond "major_faults_per_second" "major faults" PerSecond Lower Process Always
        "Page faults that waited for I/O (/proc/PID/stat).";
    ResidentBytes "resident_bytes" "resident" Bytes Lower Process Always
        "Resident set of the process at the end of the window (/proc/PID/stat).";
}
