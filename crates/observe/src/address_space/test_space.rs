//! Small address spaces for tests.

use std::collections::BTreeMap;

use hugewise_base::missing::Missing;

use super::{
    Mapping, MappingKind, Pages, Permissions, Process, Run, Sort, Source, Sources, Space, WordSize,
};

/// A process with these mappings; pages of 4 KiB, huge pages of 2 MiB, all sources read.
pub(crate) fn space(mappings: Vec<Mapping>) -> Space {
    Space {
        process: Process {
            pid: 4711,
            parent: 1,
            started_ticks: 100,
            command: "kv".to_owned(),
            uid: 1000,
            threads: 1,
            children: 0,
            forked: false,
            sort: Sort::Program,
            word_size: Ok(WordSize::Bits64),
            thp_enabled: Some(true),
            parent_thp_enabled: None,
            page_table_bytes: None,
            environment: BTreeMap::new(),
        },
        page_bytes: 4 << 10,
        huge_bytes: 2 << 20,
        read_with: Sources {
            smaps: Source::Read,
            page_scan: Source::Read,
            page_map: Source::Read,
            frames: Source::Read,
        },
        contents: Err(Missing::NotAsked),
        mappings,
    }
}

/// Private anonymous memory without totals.
pub(crate) fn mapping(start: u64, end: u64, runs: Vec<Run>) -> Mapping {
    Mapping {
        start,
        end,
        permissions: Permissions(*b"rw-p"),
        offset: 0,
        device: (0, 0),
        inode: 0,
        name: "".into(),
        kind: MappingKind::Anonymous,
        file_system: None,
        mount_huge: None,
        memory: None,
        runs,
    }
}

/// Ranges that each hold the same pages.
pub(crate) fn run(start: u64, end: u64, pages: Pages) -> Run {
    Run { start, end, pages }
}

/// This many small pages, none of them zero.
pub(crate) fn pages(present: u32) -> Pages {
    Pages {
        present,
        huge: Some(0),
        zero: Some(0),
        islands: 1,
        from_start: true,
        ..Pages::default()
    }
}
