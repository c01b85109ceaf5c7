//! Converts hardware samples to misses, for each of the three facilities.

use hugewise_tlb::misses::{AccessKind, Miss};

use super::{ibs, spe};
use crate::perf::sample::{Piece, Sample};

/// Converts a PEBS sample; the event determines the kind of access.
pub(super) fn retired(sample: &Sample, access: AccessKind) -> Miss {
    Miss {
        time_ns: sample.time_ns,
        pid: sample.pid,
        tid: sample.tid,
        address: sample.address,
        code: sample.code.unwrap_or(0),
        access,
        page_bytes: size(sample),
        refill_cycles: None,
    }
}

/// Converts an IBS sample; `None` if it is not a miss.
pub(super) fn executed(sample: &Sample) -> Result<Option<Miss>, String> {
    let operation = ibs::parse_operation(&sample.raw)?;
    if !operation.missed || !(operation.load || operation.store) {
        return Ok(None);
    }
    let access = if operation.store {
        AccessKind::Store
    } else {
        AccessKind::Load
    };
    Ok(Some(Miss {
        address: operation.address.unwrap_or(0),
        code: operation.code.or(sample.code).unwrap_or(0),
        refill_cycles: Some(operation.refill_cycles),
        ..retired(sample, access)
    }))
}

/// Converts an SPE record; the kernel reported the running process when it handed over the piece.
pub(super) fn walked(operation: &spe::Operation, piece: Piece) -> Miss {
    Miss {
        time_ns: piece.time_ns,
        pid: piece.pid,
        tid: piece.tid,
        address: operation.address.unwrap_or(0),
        code: operation.code.unwrap_or(0),
        access: if operation.store {
            AccessKind::Store
        } else {
            AccessKind::Load
        },
        page_bytes: None,
        refill_cycles: operation.translation_cycles,
    }
}

/// The kernel reports 0 if it cannot walk the tables.
fn size(sample: &Sample) -> Option<u64> {
    sample.page_bytes.filter(|&bytes| bytes > 0)
}
