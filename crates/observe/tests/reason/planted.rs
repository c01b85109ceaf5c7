//! An address space with one mapping that a case can change.

use std::collections::BTreeMap;

use hugewise_base::host::ThpSettings;
use hugewise_base::missing::Missing;
use hugewise_observe::address_space::{
    FolioCount, Frames, Mapping, MappingKind, Memory, Pages, Permissions, Process, Run, Sort,
    Source, Sources, Space, VmFlags, WordSize,
};
use hugewise_observe::inspect::reasons::{Judgement, Settings, Wording, judge};

pub(super) const HUGE: u64 = 2 << 20;

pub(super) const PAGE: u64 = 4096;

pub(super) const START: u64 = 0x7f00_0000_0000;

fn process() -> Process {
    Process {
        pid: 77,
        parent: 1,
        started_ticks: 5,
        command: "planted".to_owned(),
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
    }
}

/// An advised anonymous mapping of four huge-page ranges at an aligned address.
pub(super) fn mapping() -> Mapping {
    Mapping {
        start: START,
        end: START + 4 * HUGE,
        permissions: Permissions(*b"rw-p"),
        offset: 0,
        device: (0, 0),
        inode: 0,
        name: "".into(),
        kind: MappingKind::Anonymous,
        file_system: None,
        mount_huge: None,
        memory: Some(Memory {
            thp_eligible: Some(true),
            flags: VmFlags::of(["rd", "wr", "hg"]),
            ..Memory::default()
        }),
        runs: Vec::new(),
    }
}

fn sources() -> Sources {
    Sources {
        smaps: Source::Read,
        page_scan: Source::Read,
        page_map: Source::Missing(Missing::NotAsked),
        frames: Source::Read,
    }
}

/// `madvise`, no failed events, plenty of free memory.
fn settings() -> Settings {
    let events = [
        "thp_fault_fallback",
        "thp_fault_fallback_charge",
        "thp_split_pmd",
        "thp_split_page",
        "thp_underused_split_page",
    ];
    Settings {
        kernel: "6.18.0".to_owned(),
        arch: "x86_64".to_owned(),
        address_bits: Some(47),
        memory_bytes: 16 << 30,
        numa_nodes: 1,
        hypervisor: None,
        thp: Ok(ThpSettings {
            enabled: "madvise".to_owned(),
            defrag: "madvise".to_owned(),
            zero_page: true,
            pmd_bytes: HUGE,
            shmem_enabled: Some("always".to_owned()),
            khugepaged: BTreeMap::from([
                ("max_ptes_none".to_owned(), 511),
                ("max_ptes_swap".to_owned(), 64),
                ("max_ptes_shared".to_owned(), 256),
                ("pages_to_scan".to_owned(), 4096),
                ("scan_sleep_millisecs".to_owned(), 10_000),
            ]),
            sizes: BTreeMap::from([(2048, "inherit".to_owned()), (64, "never".to_owned())]),
            shmem_sizes: BTreeMap::new(),
        }),
        shmem_sizes: BTreeMap::new(),
        shrink_underused: Some(true),
        khugepaged_runs: Some(true),
        khugepaged_wants_writable: Some(false),
        vmstat: events
            .into_iter()
            .map(|name| (name.to_owned(), 0))
            .collect(),
        free_blocks: vec![0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 2000],
        partly_mapped: None,
        cgroup: None,
    }
}

/// The state that a case can change.
pub(super) struct Planted {
    pub(super) space: Space,
    pub(super) settings: Settings,
}

impl Planted {
    /// The mapping with the same pages in each of its ranges.
    pub(super) fn with(pages: Pages) -> Self {
        let mut mapping = mapping();
        mapping.runs = vec![Run {
            start: mapping.start,
            end: mapping.end,
            pages,
        }];
        Self {
            space: Space {
                process: process(),
                page_bytes: PAGE,
                huge_bytes: HUGE,
                read_with: sources(),
                contents: Err(Missing::NotAsked),
                mappings: vec![mapping],
            },
            settings: settings(),
        }
    }

    pub(super) fn mapping(&mut self) -> &mut Mapping {
        &mut self.space.mappings[0]
    }

    pub(super) fn memory(&mut self) -> &mut Memory {
        self.mapping().memory.as_mut().unwrap()
    }

    pub(super) fn flags(&mut self, words: &[&str]) {
        self.memory().flags = VmFlags::of(words.iter().copied());
    }

    pub(super) fn thp(&mut self) -> &mut ThpSettings {
        self.settings.thp.as_mut().unwrap()
    }

    pub(super) fn event(&mut self, name: &str) {
        self.settings.vmstat.insert(name.to_owned(), 3);
    }

    /// Cuts the mapping to these addresses, with one run.
    pub(super) fn cut(&mut self, start: u64, end: u64) {
        let mapping = self.mapping();
        (mapping.start, mapping.end) = (start, end);
        let pages = mapping.runs[0].pages.clone();
        mapping.runs = vec![Run { start, end, pages }];
    }

    /// The view of an ordinary user.
    pub(super) fn without_frames(&mut self) {
        self.space.read_with.frames = Source::Missing(Missing::not_permitted("CAP_SYS_ADMIN"));
        for run in &mut self.mapping().runs {
            run.pages.frames = None;
        }
    }

    pub(super) fn only(&self) -> Judgement {
        let judgements = judge(&self.space, &self.settings, &Wording::All);
        assert_eq!(judgements.len(), 1, "{judgements:#?}");
        judgements.into_iter().next().unwrap()
    }
}

pub(super) fn pages(present: u32) -> Pages {
    Pages {
        present,
        huge: Some(0),
        zero: Some(0),
        guard: Some(0),
        islands: 1,
        from_start: true,
        ..Pages::default()
    }
}

pub(super) fn huge() -> Pages {
    Pages {
        huge: Some(512),
        ..pages(512)
    }
}

pub(super) fn framed(present: u32, frames: Frames) -> Pages {
    Pages {
        frames: Some(Box::new(frames)),
        ..pages(present)
    }
}

pub(super) fn single(count: u32) -> Pages {
    framed(
        count,
        Frames {
            single: count,
            ..Frames::default()
        },
    )
}

pub(super) fn folios(folio_pages: u32, frames: u32, single: u32) -> Pages {
    framed(
        frames + single,
        Frames {
            single,
            folios: vec![FolioCount {
                folio_pages,
                frames,
            }],
            ..Frames::default()
        },
    )
}

pub(super) fn file(mut pages: Pages) -> Planted {
    pages.file = pages.present;
    let mut planted = Planted::with(pages);
    let mapping = planted.mapping();
    mapping.kind = MappingKind::File;
    mapping.name = "/srv/data".into();
    mapping.permissions = Permissions(*b"r--p");
    mapping.device = (254, 0);
    mapping.inode = 9;
    mapping.file_system = Some("ext4".into());
    planted
}

pub(super) fn shared(kind: MappingKind) -> Planted {
    let mut pages = pages(512);
    pages.file = 512;
    let mut planted = Planted::with(pages);
    let mapping = planted.mapping();
    mapping.kind = kind;
    mapping.permissions = Permissions(*b"rw-s");
    mapping.inode = 4;
    planted
}

pub(super) fn changed(pages: Pages, change: impl FnOnce(&mut Planted)) -> Planted {
    let mut planted = Planted::with(pages);
    change(&mut planted);
    planted
}
