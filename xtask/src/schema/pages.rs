//! The pages of types: the root types of each, and text that is not from a type.

/// One page.
pub struct Page {
    /// Its file name.
    pub file: &'static str,
    /// Its title.
    pub title: &'static str,
    /// Markdown above the types.
    pub lead: &'static str,
    /// The root types for readers, by module and name.
    pub roots: &'static [(&'static str, &'static str)],
}

/// All pages.
pub const PAGES: &[Page] = &[
    Page {
        file: "format-report.md",
        title: "The answer in a report as JSON",
        lead: include_str!("lead/report.md"),
        roots: &[("hugewise_experiment::run::answer", "Answer")],
    },
    Page {
        file: "format-record.md",
        title: "The record, hugewise-record 1",
        lead: include_str!("lead/record.md"),
        roots: &[
            ("hugewise_experiment::run::record", "Line"),
            ("hugewise_experiment::run::trial::reading", "Reading"),
        ],
    },
    Page {
        file: "format-history.md",
        title: "The history as JSON, hugewise-history 2",
        lead: include_str!("lead/history.md"),
        roots: &[
            ("hugewise_experiment::run::history", "Entry"),
            ("hugewise_experiment::run::history", "Split"),
        ],
    },
    Page {
        file: "format-attribute.md",
        title: "The JSON of attribute",
        lead: include_str!("lead/attribute.md"),
        roots: &[
            ("hugewise_attribute::attribution", "Attribution"),
            ("hugewise_attribute::sites_file", "SitesFile"),
        ],
    },
    Page {
        file: "format-doctor.md",
        title: "The diagnosis as JSON, hugewise-diagnosis 1",
        lead: include_str!("lead/doctor.md"),
        roots: &[("hugewise_observe::doctor", "Diagnosis")],
    },
    Page {
        file: "format-advise.md",
        title: "The JSON of advise, and its knowledge",
        lead: include_str!("lead/advise.md"),
        roots: &[
            ("hugewise_advise::advice", "Advice"),
            ("hugewise_advise::subject", "Subject"),
        ],
    },
    Page {
        file: "format-inspect.md",
        title: "The inspection as JSON, hugewise-inspection 1",
        lead: include_str!("lead/inspect.md"),
        roots: &[("hugewise_observe::inspect::view", "Inspection")],
    },
    Page {
        file: "format-faults.md",
        title: "The JSON of faults",
        lead: include_str!("lead/faults.md"),
        roots: &[
            ("hugewise_observe::faults::event", "Event"),
            ("hugewise_observe::faults::summary", "FaultSummary"),
        ],
    },
    Page {
        file: "format-stat.md",
        title: "The recording of stat, hugewise-stat 1",
        lead: include_str!("lead/stat.md"),
        roots: &[("hugewise_observe::stat", "Line")],
    },
    Page {
        file: "format-watch.md",
        title: "The recording of watch, hugewise-watch 1",
        lead: include_str!("lead/watch.md"),
        roots: &[("hugewise_monitor::watch::recording", "Line")],
    },
    Page {
        file: "format-misses.md",
        title: "The JSON of misses",
        lead: include_str!("lead/misses.md"),
        roots: &[
            ("hugewise_tlb::misses::event", "Event"),
            ("hugewise_tlb::misses::summary", "Summary"),
            ("hugewise_tlb::misses::absence", "Absence"),
        ],
    },
    Page {
        file: "format-trace.md",
        title: "The document of trace, hugewise-trace 1",
        lead: include_str!("lead/trace.md"),
        roots: &[("hugewise_observe::trace", "Trace")],
    },
    Page {
        file: "format-progress.md",
        title: "The progress of a process as JSON, hugewise-progress 1",
        lead: include_str!("lead/progress.md"),
        roots: &[("hugewise_observe::progress", "Progress")],
    },
    Page {
        file: "format-collapse.md",
        title: "A collapse as JSON, hugewise-collapse 2",
        lead: include_str!("lead/collapse.md"),
        roots: &[("hugewise_observe::collapse::report", "Report")],
    },
    Page {
        file: "format-simulate.md",
        title: "The simulation as JSON, hugewise-simulation 1",
        lead: include_str!("lead/simulate.md"),
        roots: &[("hugewise_tlb::simulation::outcome", "Simulation")],
    },
    Page {
        file: "format-fleet.md",
        title: "The rows and the report of a fleet",
        lead: include_str!("lead/fleet.md"),
        roots: &[
            ("hugewise_fleet::row", "Row"),
            ("hugewise_fleet::analyse::analysis", "Analysis"),
        ],
    },
];
