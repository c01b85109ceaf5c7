//! The whole way, from the plan of events to the decision, with a simulated processor.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::io;
use std::rc::Rc;

use hugewise_base::verification::{Standing, VerificationState};
use hugewise_observe::verify::FORMAT;
use hugewise_observe::verify::decide::{DecidedEvent, Doubt, Fault, Verdict};
use hugewise_observe::verify::expect::{Expected, expected};
use hugewise_observe::verify::loops::PageSize;

use super::*;
use crate::machine::root::machine_of;
use crate::perf::events::processor::Processor;
use crate::perf::events::{Arch, family};
use crate::perf::open::{EventGroup, GroupRefusal, GroupRequest, HARDWARE, RawCount, Switch};

const CYCLES_PER_ACCESS: u64 = 100;
const INSTRUCTIONS_PER_ACCESS: u64 = 9;
const NS_PER_ACCESS: u64 = 40;

/// The defect of a simulated event.
#[derive(Clone, Debug)]
enum Defect {
    /// Four for one.
    Scaled,
    /// Nothing.
    Dead,
    /// Another kind.
    Counts(&'static str),
}

/// The counts of a group of events, shared with its reader.
type Counts = Rc<RefCell<Vec<RawCount>>>;

/// A Skylake with four counters.
#[derive(Default)]
struct Chip {
    /// Kinds of events by their codes.
    kinds: BTreeMap<Code, String>,
    defects: BTreeMap<&'static str, Defect>,
    /// The part of the time that a counter is on the hardware, in percent.
    running: u64,
    /// Active groups: their codes, and their counts.
    on: Vec<(Vec<Code>, Counts)>,
    /// Pages that no loop gets.
    without: Option<PageSize>,
}

impl Chip {
    /// One round: every active group counts.
    fn run(&mut self, one: &Loop, accesses: u64) {
        let (enabled_ns, share) = (accesses * NS_PER_ACCESS, self.running);
        for (codes, counts) in &self.on {
            for (code, count) in codes.iter().zip(counts.borrow_mut().iter_mut()) {
                let value = self.kinds.get(code).map_or(0, |kind| self.value(kind, one));
                count.value += value * accesses / 10 * share / 100;
                count.enabled_ns += enabled_ns;
                count.running_ns += enabled_ns * share / 100;
            }
        }
    }

    /// Events for ten accesses.
    fn value(&self, kind: &str, one: &Loop) -> u64 {
        match self.defects.get(kind) {
            None => truth(kind, one),
            Some(Defect::Scaled) => 4 * truth(kind, one),
            Some(Defect::Dead) => 0,
            Some(Defect::Counts(other)) => truth(other, one),
        }
    }
}

fn truth(kind: &str, one: &Loop) -> u64 {
    let cycles = match one.name {
        "read-many" => 2 * CYCLES_PER_ACCESS,
        _ => CYCLES_PER_ACCESS,
    };
    match expected(kind, one) {
        Some(Expected::None | Expected::NoTime) => 0,
        Some(Expected::One) => 10,
        Some(Expected::Instructions) => 10 * INSTRUCTIONS_PER_ACCESS,
        Some(Expected::ClockRate) => 10 * cycles,
        Some(Expected::Added(_)) => 8 * CYCLES_PER_ACCESS,
        Some(Expected::Within(_)) => 5 * CYCLES_PER_ACCESS,
        None => 3,
    }
}

#[derive(Clone)]
struct Simulated(Rc<RefCell<Chip>>);

impl PerfOpen for Simulated {
    fn open(&self, request: &GroupRequest<'_>) -> Result<Box<dyn EventGroup>, GroupRefusal> {
        const COUNTERS: usize = 4;
        let general = |code: &&Code| code.source != HARDWARE;
        if request.events.iter().filter(general).count() > COUNTERS {
            let error = io::Error::from_raw_os_error(libc::EINVAL);
            return Err(GroupRefusal {
                event: COUNTERS,
                error,
            });
        }
        Ok(Box::new(Group {
            chip: Rc::clone(&self.0),
            codes: request.events.to_vec(),
            counts: Rc::new(RefCell::new(vec![
                RawCount::default();
                request.events.len()
            ])),
        }))
    }
}

struct Group {
    chip: Rc<RefCell<Chip>>,
    codes: Vec<Code>,
    counts: Rc<RefCell<Vec<RawCount>>>,
}

impl Group {
    fn off(&self) {
        let mut chip = self.chip.borrow_mut();
        chip.on
            .retain(|(_, counts)| !Rc::ptr_eq(counts, &self.counts));
    }
}

impl EventGroup for Group {
    fn switch(&mut self, to: Switch) -> io::Result<()> {
        self.off();
        if to == Switch::On {
            let on = (self.codes.clone(), Rc::clone(&self.counts));
            self.chip.borrow_mut().on.push(on);
            // A trial of a group runs for a moment.
            for count in self.counts.borrow_mut().iter_mut() {
                count.enabled_ns += 1;
                count.running_ns += 1;
            }
        }
        Ok(())
    }

    fn read(&mut self) -> io::Result<Vec<RawCount>> {
        Ok(self.counts.borrow().clone())
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        self.off();
    }
}

impl Laboratory for Simulated {
    fn start(&self, one: &Loop, _: Option<u32>) -> Result<Box<dyn RunningLoop>, Missing> {
        if self.0.borrow().without == Some(one.page) {
            return Err(Missing::not_supported("huge pages"));
        }
        Ok(Box::new(SimulatedLoop(self.clone(), *one)))
    }
}

struct SimulatedLoop(Simulated, Loop);

impl RunningLoop for SimulatedLoop {
    fn pid(&self) -> u32 {
        1
    }

    fn instructions(&self) -> f64 {
        INSTRUCTIONS_PER_ACCESS as f64
    }

    fn run(&mut self, accesses: u64) -> Result<(), Missing> {
        self.0.0.borrow_mut().run(&self.1, accesses);
        Ok(())
    }
}

const CPUINFO: &str = "processor\t: 0\nvendor_id\t: GenuineIntel\ncpu family\t: 6\n\
    model\t: 85\nmicrocode\t: 0x5003707\n";

fn machine() -> (tempfile::TempDir, Root) {
    machine_of(&[
        ("proc/cpuinfo", CPUINFO),
        ("sys/bus/event_source/devices/cpu/type", "4\n"),
    ])
}

/// A Skylake whose events have these defects.
fn skylake(defects: &[(&'static str, Defect)]) -> Chip {
    let processor = Processor::X86 {
        vendor: "GenuineIntel".to_owned(),
        family: 6,
        model: 85,
    };
    let family = family(&processor, "cpu").unwrap();
    let raw = family.events.iter().map(|event| {
        let config = event.config(Arch::X86);
        (Code { source: 4, config }, event.kind.clone())
    });
    let general = [(0, "cycles"), (1, "instructions")].map(|(config, kind)| {
        let source = HARDWARE;
        (Code { source, config }, kind.to_owned())
    });
    Chip {
        kinds: raw.chain(general).collect(),
        defects: defects.iter().cloned().collect(),
        running: 100,
        ..Chip::default()
    }
}

fn decided(chip: Chip) -> BTreeMap<String, DecidedEvent> {
    let (_folder, root) = machine();
    let simulated = Simulated(Rc::new(RefCell::new(chip)));
    let planned = plan(&root, &simulated).unwrap();
    let counted = measure(&root, &simulated, &simulated, &planned);
    let decided = counted.decide().into_iter();
    decided.map(|event| (event.kind.clone(), event)).collect()
}

fn unverified(decided: &BTreeMap<String, DecidedEvent>) -> Vec<(&str, &Verdict)> {
    let events = decided.iter();
    let events = events.filter(|(_, event)| event.verdict != Verdict::Verified);
    events
        .map(|(kind, event)| (&**kind, &event.verdict))
        .collect()
}

/// Kinds of Skylake that no loop can show, all for pages of 1 GiB or for code in huge pages.
const WITHOUT_LOOP: [&str; 4] = [
    "dtlb_load_walks_1g",
    "dtlb_store_walks_1g",
    "itlb_walks_1g",
    "itlb_walks_2m",
];

#[test]
fn right_events_are_verified_in_full_and_in_half_of_the_time() {
    for running in [100, 50] {
        let chip = Chip {
            running,
            ..skylake(&[])
        };
        let decided = decided(chip);
        let why = Verdict::Undecided { why: Doubt::NoLoop };
        let left = unverified(&decided);
        let kinds: Vec<&str> = left
            .iter()
            .map(|(kind, _)| *kind)
            .filter(|kind| *kind != "itlb_l2_hits")
            .collect();
        assert_eq!(kinds, WITHOUT_LOOP, "{left:?}");
        assert!(
            WITHOUT_LOOP
                .iter()
                .all(|kind| decided[*kind].verdict == why)
        );
        assert!(decided.len() > 25, "{}", decided.len());
    }
}

#[test]
fn each_defect_is_found_and_the_other_events_stay_verified() {
    let resembles = |kind: &str| Fault::Resembles {
        kind: kind.to_owned(),
    };
    for (kind, defect, right) in [
        ("dtlb_load_walks", Defect::Dead, Fault::Dead),
        ("itlb_walks", Defect::Dead, Fault::Dead),
        (
            "dtlb_load_walks",
            Defect::Counts("dtlb_store_walks"),
            resembles("dtlb_store_walks"),
        ),
        (
            "dtlb_store_walks",
            Defect::Counts("itlb_walks"),
            resembles("itlb_walks"),
        ),
        (
            "dtlb_load_walks_4k",
            Defect::Counts("dtlb_load_walks_2m"),
            resembles("dtlb_load_walks_2m"),
        ),
    ] {
        let decided = decided(skylake(&[(kind, defect)]));
        assert_eq!(decided[kind].verdict, Verdict::Wrong { fault: right });
        let left = unverified(&decided);
        let wrong = left
            .iter()
            .filter(|(_, it)| matches!(it, Verdict::Wrong { .. }));
        assert_eq!(wrong.count(), 1, "{left:?}");
    }
    let scaled = decided(skylake(&[("dtlb_store_walks", Defect::Scaled)]));
    match scaled["dtlb_store_walks"].verdict {
        Verdict::Wrong {
            fault: Fault::Scaled { factor },
        } => assert!((3.5..4.5).contains(&factor), "{factor}"),
        ref other => panic!("{other:?}"),
    }
}

#[test]
fn counters_that_others_hold_decide_nothing() {
    let chip = Chip {
        running: 10,
        ..skylake(&[])
    };
    let why = Doubt::NotCounted {
        missing: Missing::NeverScheduled,
    };
    let decided = decided(chip);
    assert_eq!(
        decided["dtlb_load_walks"].verdict,
        Verdict::Undecided { why }
    );
}

#[test]
fn without_huge_pages_their_events_are_undecided_and_the_rest_is_verified() {
    let chip = Chip {
        without: Some(PageSize::Huge),
        ..skylake(&[])
    };
    let decided = decided(chip);
    let why = Doubt::LoopAbsent {
        on: "read-many-huge".to_owned(),
        missing: Missing::not_supported("huge pages"),
    };
    assert_eq!(
        decided["dtlb_load_walks_2m"].verdict,
        Verdict::Undecided { why }
    );
    assert_eq!(decided["dtlb_load_walks"].verdict, Verdict::Verified);
}

#[test]
fn a_plan_knows_which_of_its_events_are_verified() {
    let (_folder, root) = machine();
    let simulated = Simulated(Rc::new(RefCell::new(skylake(&[(
        "itlb_walks",
        Defect::Dead,
    )]))));
    let planned = plan(&root, &simulated).unwrap();
    let here = Identity {
        cpu_model: "Skylake".to_owned(),
        kernel: "6.18.0".to_owned(),
        microcode: microcode(CPUINFO.as_bytes()),
    };
    assert_eq!(here.microcode.as_deref(), Some("0x5003707"));
    let result = VerificationResult {
        format: FORMAT.to_owned(),
        program: String::new(),
        made_unix_ms: 0,
        identity: here.clone(),
        events: measure(&root, &simulated, &simulated, &planned).decide(),
    };
    let usual = stat::plan::plan(&root, &simulated, None, &WantedEvents::Usual).unwrap();
    let found = standing(&events_of(&usual), Some(&result), &here);
    assert_eq!(found.of("dtlb_load_walks"), Standing::Verified);
    assert_eq!(found.of("itlb_walks"), Standing::Wrong);
    assert_eq!(found.of("itlb_walks_1g"), Standing::Unverified);
    let none = standing(&events_of(&usual), None, &here);
    assert_eq!(none.state, VerificationState::Never);
    assert_eq!(none.of("dtlb_load_walks"), Standing::Unverified);
}
