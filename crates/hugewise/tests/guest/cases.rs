//! The list of tests, and the loop that runs them.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind, set_hook, take_hook};
use std::time::Instant;

use super::capability::Capability;
use super::ground::Ground;
use super::report::{self, Outcome};
use super::{attribute, collapse, doctor, faults, live, run, trace, watched, yama};

/// A condition that must hold.
pub struct Case {
    /// Its name in the table.
    pub name: &'static str,
    /// The capabilities that it needs.
    pub needs: &'static [Capability],
    /// Panics if it does not hold.
    pub test: fn(&Ground),
}

const CASES: &[Case] = &[
    Case {
        name: "faults: small pages fault once each",
        needs: &[],
        test: faults::small_pages,
    },
    Case {
        name: "faults: a huge page faults once",
        needs: &[Capability::Thp],
        test: faults::huge_pages,
    },
    Case {
        name: "faults: written after a read",
        needs: &[Capability::Thp],
        test: faults::written_after_a_read,
    },
    Case {
        name: "faults: written after an atomic 0",
        needs: &[Capability::Thp],
        test: faults::written_after_an_atomic,
    },
    Case {
        name: "faults: each kind, one by one",
        needs: &[Capability::Thp, Capability::Root],
        test: watched::each_kind,
    },
    Case {
        name: "trace: a function by call",
        needs: &[Capability::Btf, Capability::Bpf, Capability::Fentry],
        test: trace::by_call,
    },
    Case {
        name: "trace: a function by breakpoint",
        needs: &[Capability::Btf, Capability::Bpf, Capability::Kprobe],
        test: trace::by_breakpoint,
    },
    Case {
        name: "trace: faults by software events",
        needs: &[Capability::Btf, Capability::Bpf],
        test: trace::by_software_events,
    },
    Case {
        name: "trace: tracepoints, with types and without",
        needs: &[Capability::Btf, Capability::Bpf],
        test: trace::by_tracepoints,
    },
    Case {
        name: "trace: compaction of fragmented memory",
        needs: &[
            Capability::Root,
            Capability::Thp,
            Capability::Btf,
            Capability::Bpf,
            Capability::LittleMemory,
        ],
        test: trace::compaction,
    },
    Case {
        name: "run: the oracle through a trial",
        needs: &[Capability::Thp],
        test: run::oracle,
    },
    Case {
        name: "run: every policy within reach",
        needs: &[Capability::Thp],
        test: run::policies_of_a_process,
    },
    Case {
        name: "run: memory made huge later",
        needs: &[Capability::Thp, Capability::Collapse, Capability::Root],
        test: run::made_huge_later,
    },
    // Not tested on Arm so far.
    Case {
        name: "run: code made huge",
        needs: &[Capability::Thp, Capability::Collapse, Capability::Root],
        test: run::code_made_huge,
    },
    Case {
        name: "run: the system's policies, undone",
        needs: &[Capability::Thp, Capability::Root],
        test: run::policies_of_the_system,
    },
    Case {
        name: "run: sizes below the huge page",
        needs: &[Capability::Mthp, Capability::Root],
        test: run::smaller_sizes,
    },
    Case {
        name: "run: killed, and undone afterwards",
        needs: &[Capability::Thp, Capability::Root],
        test: run::killed_and_undone,
    },
    Case {
        name: "run: a cgroup for each trial",
        needs: &[Capability::Cgroup],
        test: run::own_cgroup,
    },
    Case {
        name: "run: cycles of each trial",
        needs: &[Capability::Pmu],
        test: run::cycles,
    },
    Case {
        name: "collapse: every whole range, proved",
        needs: &[Capability::Thp, Capability::Root],
        test: collapse::proved,
    },
    Case {
        name: "collapse: refused in the kernel's words",
        needs: &[Capability::Thp, Capability::Root],
        test: collapse::refused_in_words,
    },
    Case {
        name: "live: switched, and put back as found",
        needs: &[Capability::Root, Capability::Thp, Capability::Collapse],
        test: live::switched_and_put_back,
    },
    Case {
        name: "attribute: planted sites, their order and lines",
        // On a machine with other users, noise may hide the planted effect.
        needs: &[
            Capability::Root,
            Capability::Thp,
            Capability::Collapse,
            Capability::LittleMemory,
        ],
        test: attribute::ranked,
    },
    Case {
        name: "doctor: what yama leaves of tracing",
        needs: &[Capability::Root, Capability::Yama],
        test: yama::own_children,
    },
    Case {
        name: "doctor: as expected of this kernel",
        needs: &[],
        test: doctor::as_expected,
    },
];

/// Runs all tests and prints their results. Returns the number of failures.
pub fn run_all(ground: &Ground) -> usize {
    for capability in Capability::ALL {
        report::print_capability(ground.user(), capability, &capability.here(&ground.answers));
    }
    let usual = take_hook();
    set_hook(Box::new(|_| {}));
    let mut failed = 0;
    // Tests that need root are left out for the ordinary user, and not counted as skips.
    let own = |case: &&Case| !case.needs.contains(&Capability::Root) || ground.user() == "root";
    for case in CASES.iter().filter(own) {
        let began = Instant::now();
        let outcome = outcome_of(case, ground);
        failed += usize::from(matches!(outcome, Outcome::Failed(_)));
        report::print(ground.user(), case.name, &outcome);
        report::print_time(ground.user(), case.name, began.elapsed());
    }
    set_hook(usual);
    failed
}

fn outcome_of(case: &Case, ground: &Ground) -> Outcome {
    for &need in case.needs {
        if let Err(why) = need.here(&ground.answers) {
            return Outcome::Skipped(need, why);
        }
    }
    match catch_unwind(AssertUnwindSafe(|| (case.test)(ground))) {
        Ok(()) => Outcome::Passed,
        Err(panic) => Outcome::Failed(text_of(panic.as_ref())),
    }
}

fn text_of(panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<String>().cloned();
    text.or_else(|| panic.downcast_ref::<&str>().map(ToString::to_string))
        .unwrap_or_else(|| "it panicked without a word".to_owned())
}
