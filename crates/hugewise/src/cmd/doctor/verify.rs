//! `--verify-counters`: compares hardware events with loops whose number of TLB misses is known.

use anyhow::Result;
use hugewise_linux::machine::clock::unix_ms;
use hugewise_linux::machine::root::Root;
use hugewise_linux::machine::turn::Purpose;
use hugewise_linux::observe::verify::{LaboratoryProgram, identity, measure, plan};
use hugewise_linux::perf::open::KernelCounters;
use hugewise_observe::verify::loops::LOOPS;
use hugewise_observe::verify::{FORMAT, VerificationAbsence, VerificationResult};

use crate::exit::Exit;
use crate::output::{self, Output};
use crate::stderr::message;
use crate::turn::{self, Wait};
use crate::{paths, verified};

/// Runs the loops, decides on each event, and keeps the result. Without hardware counters it reports why, and what would
/// help.
pub(super) fn run(root: &Root, output: &Output) -> Result<Exit> {
    output::check_file(output)?;
    let host = paths::host(root)?;
    let planned = match plan(root, &KernelCounters) {
        Ok(planned) => planned,
        Err(missing) => {
            let absence = VerificationAbsence::on(&host, missing);
            output::show(output, &absence, || absence.document(), || absence.csv())?;
            return Ok(Exit::Refused);
        }
    };
    let laboratory = LaboratoryProgram {
        path: paths::laboratory()?,
    };
    // Another experiment would empty the TLB, and the loops would disturb it.
    let (_turn, _) = turn::take(Purpose::Measure, Some(Wait::No))?;
    if !output.quiet {
        let groups = planned.turns();
        message(format_args!(
            "running {} loops under {groups} groups of events",
            LOOPS.len()
        ));
    }
    let counted = measure(root, &KernelCounters, &laboratory, &planned);
    let result = VerificationResult {
        format: FORMAT.to_owned(),
        program: concat!("hugewise ", env!("CARGO_PKG_VERSION")).to_owned(),
        made_unix_ms: unix_ms(),
        identity: identity(root, &host),
        events: counted.decide(),
    };
    let kept = verified::keep(&result)?;
    output::show(output, &result, || result.document(), || result.csv())?;
    if !output.quiet {
        message(format_args!("kept in {}", kept.display()));
    }
    Ok(match result.has_wrong_events() {
        true => Exit::Gate,
        false => Exit::Done,
    })
}
