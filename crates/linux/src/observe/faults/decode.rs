use hugewise_observe::faults::{Event, Map, Served, Sharing, Weight};

use super::chains::Chain;
use super::open::Role;
use crate::perf::sample::{MapRecord, Record, Sample};

/// A decoded sample.
pub(super) enum FaultSample {
    Start(Event),
    End(Box<Served>),
}

/// Decodes a sample of a ring of events. A sample without a call chain may get it later.
pub(super) fn decode(sample: Sample, role: Role) -> FaultSample {
    match role {
        Role::Starts => FaultSample::Start(Event::Start {
            time_ns: sample.time_ns,
            pid: sample.pid,
            tid: sample.tid,
            address: sample.address,
        }),
        Role::Minor | Role::Chains | Role::FewChains => {
            FaultSample::End(served(sample, Weight::Minor))
        }
        Role::Major => FaultSample::End(served(sample, Weight::Major)),
    }
}

impl From<Sample> for Chain {
    fn from(sample: Sample) -> Self {
        Self {
            tid: sample.tid,
            address: sample.address,
            time_ns: sample.time_ns,
            stack: sample.stack.unwrap_or_default(),
        }
    }
}

/// Converts a record other than a sample to the model's event; `None` for a record without information.
pub(in crate::observe) fn event(record: Record<'_>) -> Option<Event> {
    Some(match record {
        Record::Map(map) => Event::Map(mapping(&map)),
        Record::Exec { pid, time_ns, name } => Event::Exec {
            time_ns,
            pid,
            name: name.into_owned(),
        },
        Record::Fork(birth) => Event::Fork {
            time_ns: birth.time_ns,
            pid: birth.pid,
            parent: birth.parent,
            tid: birth.tid,
        },
        Record::Exit(birth) => Event::Exit {
            time_ns: birth.time_ns,
            pid: birth.pid,
            tid: birth.tid,
        },
        Record::Lost { count } => Event::Lost { count },
        Record::Sample(_) | Record::Aux(_) | Record::Other => return None,
    })
}

fn served(sample: Sample, weight: Weight) -> Box<Served> {
    Box::new(Served {
        time_ns: sample.time_ns,
        pid: sample.pid,
        tid: sample.tid,
        address: sample.address,
        weight,
        // The kernel reports 0 if it cannot walk the tables.
        page_bytes: sample.page_bytes.filter(|&bytes| bytes > 0),
        physical: sample.physical,
        folio_bytes: None,
        stands_for: u64::from(sample.stack.is_some()),
        stack: sample.stack.unwrap_or_default(),
    })
}

fn mapping(map: &MapRecord<'_>) -> Map {
    const SHARED: u32 = libc::MAP_SHARED.cast_unsigned();
    const HUGETLB: u32 = libc::MAP_HUGETLB.cast_unsigned();
    Map {
        time_ns: map.time_ns,
        pid: map.pid,
        start: map.start,
        end: map.start.saturating_add(map.bytes),
        offset: map.offset,
        protection: map.protection,
        sharing: if map.flags & HUGETLB != 0 {
            Sharing::Hugetlb
        } else if map.flags & SHARED != 0 {
            Sharing::Shared
        } else {
            Sharing::Private
        },
        name: map.name.clone().into_owned(),
    }
}
