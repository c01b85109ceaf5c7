//! A simulated kernel: it refuses as real ones do, and its rings contain prepared records.

use std::cell::RefCell;
use std::collections::{BTreeSet, HashMap, VecDeque};

use hugewise_base::verification::Verification;
use hugewise_observe::faults::Modes;
use hugewise_tlb::misses::Analysis;

use super::ibs::tests::{MISSED_LOAD, raw};
use super::spe::tests::walked_load;
use super::*;
use crate::machine::root::machine_of;
use crate::skipping::skip;

/// Returns true for refused requests.
type Refuses = fn(&SampleRequest<'_>) -> bool;

/// The events and permissions of the kernel, and the content of its rings for each drain.
#[derive(Default)]
struct Table {
    /// The error for each refused kind of request.
    refuses: Vec<(Refuses, i32)>,
    rings: RefCell<HashMap<u32, VecDeque<Vec<Vec<u8>>>>>,
    trace: Vec<u8>,
    lost: Option<u64>,
}

impl SampleOpen for Table {
    fn open(&self, request: &SampleRequest<'_>) -> io::Result<Box<dyn MissSamples>> {
        for (refuses, errno) in &self.refuses {
            if refuses(request) {
                return Err(io::Error::from_raw_os_error(*errno));
            }
        }
        let ring = match request.scope {
            SampleScope::Caller => None,
            _ => self.rings.borrow_mut().remove(&request.cpu),
        };
        Ok(Box::new(MissShare {
            identities: (0..request.events.len())
                .map(|index| (100 + index as u64, index))
                .collect(),
            ring: ring.unwrap_or_default(),
            trace: self.trace.clone(),
            lost: self.lost,
        }))
    }
}

struct MissShare {
    identities: Vec<(u64, usize)>,
    ring: VecDeque<Vec<Vec<u8>>>,
    trace: Vec<u8>,
    lost: Option<u64>,
}

impl MissSamples for MissShare {
    fn identities(&self) -> Vec<(u64, usize)> {
        self.identities.clone()
    }

    fn switch(&mut self, _: Switch) {}

    fn drain(&mut self, take: &mut dyn FnMut(&[u8])) {
        for record in self.ring.pop_front().unwrap_or_default() {
            take(&record);
        }
    }

    fn trace(&mut self, offset: u64, bytes: u64) -> Vec<u8> {
        let at = usize::try_from(offset).unwrap();
        self.trace[at..at + usize::try_from(bytes).unwrap()].to_vec()
    }

    fn lost(&mut self) -> Option<u64> {
        self.lost
    }
}

fn record(kind: u32, body: &[u8]) -> Vec<u8> {
    let size = u16::try_from(8 + body.len()).unwrap();
    [&kind.to_ne_bytes()[..], &[0, 0], &size.to_ne_bytes(), body].concat()
}

fn words(all: &[u64]) -> Vec<u8> {
    all.iter().flat_map(|word| word.to_ne_bytes()).collect()
}

fn pair(low: u32, high: u32) -> u64 {
    let both = [low, high].map(u32::to_ne_bytes).concat();
    u64::from_ne_bytes(both.try_into().unwrap())
}

const PID: u32 = 4_000_000_000;

/// A sample of PEBS: identity, instruction, thread, time, address, page.
fn pebs(id: u64, time: u64, address: u64, page: u64) -> Vec<u8> {
    record(
        9,
        &words(&[id, 0x40_1000, pair(PID, PID), time, address, page]),
    )
}

/// A sample of IBS, with its registers.
fn ibs(time: u64, data3: u64, address: u64, page: u64) -> Vec<u8> {
    let raw = raw(&[0, 0x40_1000, 0, 0, data3, address, 0]);
    let body = [
        words(&[100, 0x40_0fff, pair(PID, PID), time, address]),
        u32::try_from(raw.len()).unwrap().to_ne_bytes().to_vec(),
        raw,
        words(&[page]),
    ];
    record(9, &body.concat())
}

fn host() -> Host {
    let root = Root::real();
    let answers = crate::probe::answers(&root, crate::probe::Environment::default());
    let host = crate::probe::host(&root, &answers.unwrap()).unwrap();
    Host {
        page_bytes: 4096,
        ..host
    }
}

fn intel() -> (tempfile::TempDir, Root) {
    machine_of(&[
        (
            "proc/cpuinfo",
            "processor\t: 0\nvendor_id\t: GenuineIntel\ncpu family\t: 6\nmodel\t: 85\n",
        ),
        ("sys/bus/event_source/devices/cpu/type", "4\n"),
    ])
}

fn amd() -> (tempfile::TempDir, Root) {
    machine_of(&[
        (
            "proc/cpuinfo",
            "processor\t: 0\nvendor_id\t: AuthenticAMD\ncpu family\t: 25\nmodel\t: 17\n",
        ),
        ("sys/bus/event_source/devices/cpu/type", "4\n"),
        ("sys/bus/event_source/devices/ibs_op/type", "11\n"),
    ])
}

fn arm() -> (tempfile::TempDir, Root) {
    machine_of(&[
        (
            "proc/cpuinfo",
            "processor\t: 0\nCPU implementer\t: 0x41\nCPU part\t: 0xd0c\n",
        ),
        ("sys/bus/event_source/devices/armv8_pmuv3_0/type", "8\n"),
        ("sys/bus/event_source/devices/arm_spe_0/type", "9\n"),
        ("sys/bus/event_source/devices/arm_spe_0/cpumask", "0-1\n"),
    ])
}

fn found(root: &Root, table: &Table) -> Result<Vec<Instrument>, Missing> {
    find(root, &host(), table, None).map_err(|absence| absence.missing)
}

/// Returns all events, with the counts.
fn sampled(root: &Root, table: &Table, cpus: &[u32]) -> (Vec<Event>, Closing) {
    let instruments = found(root, table).unwrap();
    let target = MissTarget::BeforeExec { pid: PID };
    let host = host();
    let mut misses = Misses::open(root, &host, table, &instruments, &target, cpus).unwrap();
    let mut all = Vec::new();
    misses.drain(|event| all.push(event));
    let closing = misses.finish(|event| all.push(event));
    (all, closing)
}

fn misses(all: &[Event]) -> Vec<Miss> {
    let miss = |event: &Event| match event {
        Event::Misses(MissEvent::Miss(miss)) => Some(*miss),
        _ => None,
    };
    all.iter().filter_map(miss).collect()
}

#[test]
fn each_maker_has_its_means() {
    let table = Table::default();
    let one = |root: &Root| {
        let mut found = found(root, &table).unwrap();
        assert_eq!(found.len(), 1);
        found.remove(0)
    };
    let (_a, root) = intel();
    let pebs = one(&root);
    assert_eq!(
        (pebs.means, pebs.every, pebs.access.page_size),
        (Facility::Pebs, 1009, true)
    );
    assert_eq!(
        pebs.sampled,
        "MEM_INST_RETIRED.STLB_MISS_LOADS and MEM_INST_RETIRED.STLB_MISS_STORES"
    );
    let codes: Vec<u64> = pebs.events.iter().map(|code| code.config).collect();
    assert_eq!(codes, [0x11d0, 0x12d0]);
    let (_b, root) = amd();
    let ibs = one(&root);
    assert_eq!((ibs.means, ibs.events[0].source), (Facility::Ibs, 11));
    assert_eq!(ibs.every % 16, 0);
    let (_c, root) = arm();
    let spe = one(&root);
    assert_eq!((spe.means, spe.events[0].source), (Facility::Spe, 9));
    assert_eq!(spe.cpus, Some(BTreeSet::from([0, 1])));
    assert!(!spe.access.page_size);
}

#[test]
fn a_wish_for_a_rate_is_met_as_far_as_the_hardware_can() {
    let table = Table::default();
    let (_folder, root) = amd();
    let ibs = find(&root, &host(), &table, Some(1000)).unwrap();
    assert_eq!(ibs[0].every, 1008);
}

#[test]
fn every_rung_is_tried_and_a_refusal_has_its_reason() {
    let all_modes: Refuses = |request| request.access.modes == Modes::All;
    let (_folder, root) = amd();
    let user_only = Table {
        refuses: vec![(all_modes, libc::EACCES)],
        ..Table::default()
    };
    assert_eq!(
        found(&root, &user_only).unwrap()[0].access.modes,
        Modes::User
    );
    let old = Table {
        refuses: vec![(|request| request.access.page_size, libc::EINVAL)],
        ..Table::default()
    };
    let access = found(&root, &old).unwrap()[0].access;
    assert_eq!((access.lost, access.page_size), (false, false));
    // An IBS that cannot exclude a mode, and a user who may not see both.
    let unfiltered = Table {
        refuses: vec![(all_modes, libc::EACCES), (|_| true, libc::EINVAL)],
        ..Table::default()
    };
    let why = found(&root, &unfiltered).unwrap_err();
    assert!(matches!(why, Missing::NotPermitted { .. }), "{why}");
    let nothing = Table {
        refuses: vec![(|_| true, libc::ENOENT)],
        ..Table::default()
    };
    assert_eq!(found(&root, &nothing).unwrap_err(), Missing::NoHardware);
    // A refusal of both modes is not hidden here: the kernel refuses user mode too.
    let hidden = Table {
        refuses: vec![(all_modes, libc::EACCES), (|_| true, libc::ENOENT)],
        ..Table::default()
    };
    assert_eq!(found(&root, &hidden).unwrap_err(), Missing::NoHardware);
}

#[test]
fn an_absence_knows_what_is_absent() {
    let (_folder, root) = machine_of(&[(
        "proc/cpuinfo",
        "processor\t: 0\nvendor_id\t: AuthenticAMD\ncpu family\t: 25\nmodel\t: 17\n",
    )]);
    let table = Table::default();
    let guest = Host {
        hypervisor: Some("KVM".to_owned()),
        ..host()
    };
    let absence = find(&root, &guest, &table, None).unwrap_err();
    assert_eq!(absence.means, Some(Facility::Ibs));
    assert_eq!(
        absence.missing.to_string(),
        "not on this machine: IBS (the event source ibs_op)"
    );
    assert!(
        absence.helps[0].contains("bare metal"),
        "{:?}",
        absence.helps
    );
    let metal = Host {
        hypervisor: None,
        ..host()
    };
    let absence = find(&root, &metal, &table, None).unwrap_err();
    assert!(absence.helps[0].contains("firmware"), "{:?}", absence.helps);
    let (_folder, unknown) = machine_of(&[("proc/cpuinfo", "processor\t: 0\n")]);
    assert_eq!(
        find(&unknown, &metal, &table, None).unwrap_err().means,
        None
    );
}

#[test]
fn pebs_tells_loads_from_stores_and_processors_are_put_in_order() {
    let (_folder, root) = intel();
    let rings = [
        (
            0,
            vec![pebs(100, 30, 0x7000, 4096), pebs(101, 40, 0x8000, 2 << 20)],
        ),
        (1, vec![pebs(100, 35, 0x9000, 0), pebs(100, 36, 0, 0)]),
    ];
    let rings = rings
        .into_iter()
        .map(|(cpu, ring)| (cpu, VecDeque::from([ring])));
    let table = Table {
        rings: RefCell::new(rings.collect()),
        lost: Some(2),
        ..Table::default()
    };
    let (all, closing) = sampled(&root, &table, &[0, 1]);
    let told: Vec<_> = misses(&all)
        .iter()
        .map(|miss| (miss.time_ns, miss.address, miss.access, miss.page_bytes))
        .collect();
    let expected = [
        (30, 0x7000, AccessKind::Load, Some(4096)),
        (35, 0x9000, AccessKind::Load, None),
        (40, 0x8000, AccessKind::Store, Some(2 << 20)),
    ];
    assert_eq!(told, expected);
    assert_eq!((closing.samples, closing.without_address), (4, 1));
    assert_eq!((closing.lost, closing.malformed), (Some(4), 0));
}

#[test]
fn of_ibs_only_misses_are_kept() {
    let (_folder, root) = amd();
    let first_level_only = MISSED_LOAD & !8;
    let no_access = MISSED_LOAD & !1;
    let ring = vec![
        ibs(10, MISSED_LOAD, 0x7000, 4096),
        ibs(11, first_level_only, 0x7000, 4096),
        ibs(12, no_access, 0x7000, 4096),
        record(9, &words(&[100, 1, pair(PID, PID), 13, 0, pair(4, 0)])),
    ];
    let table = Table {
        rings: RefCell::new(HashMap::from([(0, VecDeque::from([ring]))])),
        ..Table::default()
    };
    let (all, closing) = sampled(&root, &table, &[0]);
    let [miss] = misses(&all)[..] else {
        panic!("{all:?}");
    };
    assert_eq!(
        (miss.address, miss.code, miss.refill_cycles),
        (0x7000, 0x40_1000, Some(0x65))
    );
    assert_eq!((closing.samples, closing.malformed), (3, 1));
    assert_eq!(closing.lost, None);
}

#[test]
fn a_piece_of_spe_belongs_to_who_ran() {
    let (_folder, root) = arm();
    let mut trace = vec![0; 16];
    trace.extend(walked_load(0x40_1000, 0x7000));
    let bytes = trace.len() as u64 - 16;
    let aux = record(11, &words(&[16, bytes, 0, pair(PID, 7), 50, 100]));
    let table = Table {
        rings: RefCell::new(HashMap::from([(1, VecDeque::from([vec![aux]]))])),
        trace,
        ..Table::default()
    };
    let (all, closing) = sampled(&root, &table, &[0, 1, 2]);
    let [miss] = misses(&all)[..] else {
        panic!("{all:?}");
    };
    assert_eq!((miss.pid, miss.tid, miss.time_ns), (PID, 7, 50));
    assert_eq!((miss.address, miss.refill_cycles), (0x7000, Some(300)));
    // The process no longer exists, so its page size cannot be read.
    assert_eq!(miss.page_bytes, None);
    assert_eq!(closing.samples, 1);
    let instruments = found(&root, &table).unwrap();
    let refused = Misses::open(
        &root,
        &host(),
        &table,
        &instruments,
        &MissTarget::Machine,
        &[0],
    );
    assert_eq!(refused.unwrap_err().raw_os_error(), Some(libc::EOPNOTSUPP));
}

fn conditions() -> Conditions {
    Conditions {
        hugewise: String::new(),
        subject: String::new(),
        started_unix_ms: 0,
        kernel: String::new(),
        cpu_model: String::new(),
        page_bytes: 4096,
        pmd_bytes: Some(2 << 20),
        means: Facility::Ibs,
        sampled: String::new(),
        every: 0,
        modes: Modes::User,
        page_size: Known::Yes,
        verification: Verification::default(),
    }
}

/// From ring records to the summary, with a mapping that the ring announces.
#[test]
fn what_the_rings_hold_becomes_a_summary() {
    let (_folder, root) = intel();
    let name = u64::from_ne_bytes(*b"//anon\0\0");
    let map = words(&[
        pair(PID, PID),
        0x1000_0000,
        4 << 20,
        0,
        0,
        0,
        0,
        pair(3, 2),
        name,
        pair(PID, PID),
        5,
        100,
    ]);
    let ring = vec![
        record(10, &map),
        pebs(100, 10, 0x1000_1000, 4096),
        pebs(101, 11, 0x1020_0000, 2 << 20),
    ];
    let table = Table {
        rings: RefCell::new(HashMap::from([(0, VecDeque::from([ring]))])),
        ..Table::default()
    };
    let instruments = found(&root, &table).unwrap();
    let mut conditions = conditions();
    describe(&instruments, &mut conditions);
    assert_eq!(
        (conditions.means, conditions.modes),
        (Facility::Pebs, Modes::All)
    );
    let mut analysis = Analysis::new(conditions);
    let (all, closing) = sampled(&root, &table, &[0]);
    all.iter().for_each(|event| analysis.push(event));
    analysis.push(&Event::Misses(MissEvent::Sampled(Box::new(closing))));
    let summary = analysis.summary().unwrap();
    assert_eq!((summary.misses, summary.stores), (2, 1));
    let [mapping] = &summary.mappings[..] else {
        panic!("{:?}", summary.mappings);
    };
    assert_eq!((mapping.huge, mapping.could), (Some(1), Some(1)));
}

/// Everything except the hardware, on the real kernel: page faults are also events with addresses, and their number is
/// known in advance.
#[test]
fn the_way_through_the_kernel_with_faults_in_place_of_misses() {
    const PAGES: usize = 331;
    let instrument = Instrument {
        means: Facility::Pebs,
        sampled: "page faults".to_owned(),
        access: SampleAccess {
            modes: Modes::User,
            page_size: true,
            lost: false,
        },
        every: 1,
        identities: Vec::new(),
        events: vec![crate::perf::open::Code {
            source: crate::perf::open::SOFTWARE,
            // PERF_COUNT_SW_PAGE_FAULTS_MIN
            config: 5,
        }],
        cpus: None,
    };
    let root = Root::real();
    let host = host();
    let crowd = TaskSet::of(&root, std::process::id()).unwrap();
    let target = MissTarget::Running(crowd);
    let cpus = crate::sys::cpu::read_online_members(&root).unwrap();
    let opened = Misses::open(&root, &host, &KernelSampler, &[instrument], &target, &cpus);
    let mut misses = match opened {
        Ok(misses) => misses,
        Err(error) => {
            return skip("the_way_through_the_kernel_with_faults", &error.to_string());
        }
    };
    let page = rustix::param::page_size();
    let (start, touched) = touch(PAGES, page);
    let mut analysis = Analysis::new(Conditions {
        page_bytes: page as u64,
        pmd_bytes: Some((page * 512) as u64),
        ..conditions()
    });
    let mut seen = BTreeSet::new();
    let mut take = |event: Event| {
        if let Event::Misses(MissEvent::Miss(miss)) = &event
            && (start..start + touched as u64).contains(&miss.address)
        {
            assert_eq!(miss.page_bytes, Some(page as u64));
            assert_ne!(miss.code, 0);
            seen.insert(miss.address);
        }
        analysis.push(&event);
    };
    misses.drain(&mut take);
    let closing = misses.finish(take);
    assert_eq!((seen.len(), closing.malformed), (PAGES, 0));
    analysis.push(&Event::Misses(MissEvent::Sampled(Box::new(closing))));
    let summary = analysis.summary().unwrap();
    let ours = |row: &&hugewise_tlb::misses::MissShare| row.misses >= PAGES as u64;
    let mapping = summary.mappings.iter().find(ours).unwrap();
    assert!(mapping.name.starts_with("anonymous"), "{}", mapping.name);
    assert!(!analysis.nameless().is_empty(), "code lies in files");
}

/// Touches small pages of fresh memory, once each; returns its address and length.
fn touch(pages: usize, page: usize) -> (u64, usize) {
    let bytes = pages * page;
    let (access, kind) = (
        libc::PROT_READ | libc::PROT_WRITE,
        libc::MAP_PRIVATE | libc::MAP_ANONYMOUS,
    );
    // SAFETY: fresh memory at a place of the kernel's choice, never given back.
    let start = unsafe { libc::mmap(std::ptr::null_mut(), bytes, access, kind, -1, 0) };
    assert_ne!(start, libc::MAP_FAILED);
    // SAFETY: advice on that memory, then writes into it.
    unsafe {
        libc::madvise(start, bytes, libc::MADV_NOHUGEPAGE);
        for index in 0..pages {
            start.cast::<u8>().add(index * page).write_volatile(1);
        }
    }
    (start as u64, bytes)
}
