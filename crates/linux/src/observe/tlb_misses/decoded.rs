//! From what the hardware wrote to a miss, by each of the three means.

use hugewise_tlb::misses::{AccessKind, Miss};

use super::{ibs, spe};
use crate::perf::sample::{Piece, Sample};

/// A sample of PEBS: the event says what it did.
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

/// A sample of IBS: a miss, or nothing.
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

/// A record of SPE: who ran is what the kernel said when it handed the piece over.
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

/// The kernel says 0 where it cannot walk the tables.
fn size(sample: &Sample) -> Option<u64> {
    sample.page_bytes.filter(|&bytes| bytes > 0)
}
