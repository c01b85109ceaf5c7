//! What this machine can count of what is wanted.

use hugewise_model::host::Host;
use hugewise_model::observation::Missing;
use hugewise_model::stat::{Mode, Refused, WalkCycles};

use crate::error::Error;
use crate::perf::count::{Plan, Planned};
use crate::perf::events::Event;
use crate::perf::events::sources::{Source, read_sources};
use crate::perf::fit::{fit, general, missing, permitted};
use crate::perf::open::{Code, Observed, PerfOpen, Request, Start};
use crate::probe::Grants;
use crate::root::Root;

/// Which events are wanted beside cycles and instructions.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Events {
    /// Walks, their cycles and page sizes.
    Usual,
    /// Walks and their cycles alone: few enough for one or two groups.
    Walks,
    /// All that the processor's table has.
    All,
    /// These, by their kind or by their name in `perf list`.
    Named(Vec<String>),
}

impl Events {
    fn wants(&self, source: &Source, event: &Event) -> bool {
        let Some(family) = source.family else {
            return false;
        };
        match self {
            Self::All => true,
            Self::Usual => family.is_usual(event),
            Self::Walks => {
                let walks = [
                    "dtlb_walks",
                    "dtlb_load_walks",
                    "dtlb_store_walks",
                    "itlb_walks",
                ];
                let cycles = event.kind.ends_with("_active") || event.kind.ends_with("_pending");
                family.is_usual(event) && (cycles || walks.contains(&event.kind.as_str()))
            }
            Self::Named(names) => {
                let known = names.iter().filter_map(|name| family.find(name));
                known.into_iter().any(|known| known == event)
            }
        }
    }

    /// Names that no source of the machine knows.
    #[must_use]
    pub fn unknown<'a>(&'a self, sources: &[Source]) -> Vec<&'a str> {
        let Self::Named(names) = self else {
            return Vec::new();
        };
        let general = ["cycles", "instructions"];
        let known = |name: &str| {
            let families = sources.iter().filter_map(|source| source.family);
            general.contains(&name) || families.into_iter().any(|f| f.find(name).is_some())
        };
        let names = names.iter().map(String::as_str);
        names.filter(|name| !known(name)).collect()
    }
}

/// Finds out which modes are permitted and which groups fit, by trying on the calling thread.
///
/// # Errors
/// There is nothing to count, or it is not permitted.
pub fn plan(
    root: &Root,
    opener: &dyn PerfOpen,
    mode: Option<Mode>,
    events: &Events,
) -> Result<Plan, Missing> {
    let grants = Grants::read(root);
    let sources = sources(root)?;
    let mut planned = Vec::new();
    let mut refused: Vec<Refused> = Vec::new();
    let mut last = Missing::NoHardware;
    let mut modes = None;
    for source in &sources {
        let [cycles, _] = general(source);
        let found = match permitted(opener, cycles.code, mode, &grants) {
            Ok(found) => found,
            Err(missing) => {
                last = missing;
                continue;
            }
        };
        let all = source.family.map_or(&[][..], |family| &family.events[..]);
        let (lacked, wanted): (Vec<&Event>, Vec<&Event>) = all
            .iter()
            .filter(|one| events.wants(source, one))
            .partition(|one| source.lacks(one));
        refused.extend(lacked.into_iter().map(lacking));
        let fitted = fit(opener, source, found, &wanted, &grants);
        refused.extend(fitted.refused);
        modes.get_or_insert(found);
        planned.push(Planned {
            name: source.name.clone(),
            family: source.family.map(|family| family.name.clone()),
            groups: fitted.groups,
        });
    }
    match modes {
        None => Err(last),
        Some(permitted) => Ok(Plan {
            permitted,
            sources: planned,
            refused,
        }),
    }
}

/// The event sources of the processors.
///
/// # Errors
/// `/proc/cpuinfo` could not be read.
pub fn sources(root: &Root) -> Result<Vec<Source>, Missing> {
    read_sources(root).map_err(|error: Error| error.into_missing("root"))
}

/// An event that the processor says it does not have.
fn lacking(event: &Event) -> Refused {
    Refused {
        kind: event.kind.clone(),
        event: event.name.clone(),
        missing: not_here(),
    }
}

fn not_here() -> Missing {
    Missing::NotSupported {
        what: "this event on this processor".to_owned(),
    }
}

/// Whether one event of a source can be counted here, by trying.
///
/// # Errors
/// Why not.
pub fn try_event(
    root: &Root,
    opener: &dyn PerfOpen,
    source: &Source,
    event: &Event,
) -> Result<Mode, Missing> {
    let Some(family) = source.family else {
        return Err(Missing::NoHardware);
    };
    let code = Code {
        source: source.number,
        config: event.config(family.arch()),
    };
    let tried = try_code(root, opener, source, code);
    match source.lacks(event) {
        true => tried.and(Err(not_here())),
        false => tried,
    }
}

/// The same for any code.
///
/// # Errors
/// Why not.
pub fn try_code(
    root: &Root,
    opener: &dyn PerfOpen,
    source: &Source,
    code: Code,
) -> Result<Mode, Missing> {
    let grants = Grants::read(root);
    let [cycles, _] = general(source);
    let permitted = permitted(opener, cycles.code, None, &grants)?;
    let request = Request {
        events: &[code],
        observed: Observed::Caller,
        mode: permitted.mode,
        guests: permitted.guests,
        start: Start::Switched,
    };
    match opener.open(&request) {
        Ok(_) => Ok(permitted.mode),
        // That there is hardware is known: what is refused now is this event.
        Err(refusal) => Err(match missing(&refusal.error, permitted.mode, &grants) {
            Missing::NoHardware | Missing::Unreadable { .. } => not_here(),
            other => other,
        }),
    }
}

/// What the cycles of page walks hold: Skylake leaves the second dimension of nested paging out.
#[must_use]
pub fn walk_cycles(plan: &Plan, host: &Host) -> WalkCycles {
    let skylake = |source: &Planned| source.family.as_deref() == Some("skylake");
    if host.hypervisor.is_some() && plan.sources.iter().any(skylake) {
        WalkCycles::WithoutNested
    } else {
        WalkCycles::Whole
    }
}

/// What else holds counters, in words for the reader.
#[must_use]
pub fn notes(root: &Root) -> Vec<String> {
    let mut notes = Vec::new();
    let watchdog = root.read_trimmed("proc/sys/kernel/nmi_watchdog");
    if watchdog.is_ok_and(|state| state == "1") {
        notes.push(
            "the kernel's watchdog may hold one counter of each processor \
             (kernel.nmi_watchdog=0 frees it)"
                .to_owned(),
        );
    }
    notes
}

#[cfg(test)]
mod tests {
    use std::fmt::Write as _;

    use expect_test::expect;

    use super::*;
    use crate::perf::table::Table;

    /// A machine as far as its processor and event sources go, with a kernel made of a table.
    struct Machine {
        name: &'static str,
        cpuinfo: &'static str,
        /// Event sources with their numbers.
        sources: &'static [(&'static str, u32)],
        table: Table,
    }

    fn machine(
        name: &'static str,
        cpuinfo: &'static str,
        sources: &'static [(&'static str, u32)],
        table: Table,
    ) -> Machine {
        Machine {
            name,
            cpuinfo,
            sources,
            table,
        }
    }

    macro_rules! x86 {
        ($vendor:literal, $family:literal, $model:literal) => {
            concat!(
                "processor\t: 0\nvendor_id\t: ",
                $vendor,
                "\ncpu family\t: ",
                $family,
                "\nmodel\t: ",
                $model,
                "\n"
            )
        };
    }

    macro_rules! arm {
        ($implementer:literal, $part:literal) => {
            concat!(
                "processor\t: 0\nCPU implementer\t: ",
                $implementer,
                "\nCPU part\t: ",
                $part,
                "\n"
            )
        };
    }

    /// Counters for events of any kind, as the processors have them with both threads of a core
    /// in use; on Arm cycles have one of their own and instructions do not, which the table
    /// leaves out.
    fn machines() -> Vec<Machine> {
        let with = Table::with_counters;
        let cpu = &[("cpu", 4)];
        let arm = &[("armv8_pmuv3_0", 8)];
        let watched = Table {
            reserved: 1,
            ..with(4)
        };
        let amd = Table {
            fixed: false,
            ..with(6)
        };
        vec![
            machine("Haswell", x86!("GenuineIntel", "6", "63"), cpu, with(4)),
            machine(
                "Skylake, watchdog",
                x86!("GenuineIntel", "6", "85"),
                cpu,
                watched,
            ),
            machine(
                "Sapphire Rapids",
                x86!("GenuineIntel", "6", "143"),
                cpu,
                with(4),
            ),
            machine(
                "Sierra Forest",
                x86!("GenuineIntel", "6", "175"),
                cpu,
                with(6),
            ),
            machine(
                "Alder Lake",
                x86!("GenuineIntel", "6", "151"),
                &[("cpu_core", 4), ("cpu_atom", 10)],
                with(6),
            ),
            machine("Zen 4", x86!("AuthenticAMD", "25", "17"), cpu, amd),
            machine("Neoverse N1", arm!("0x41", "0xd0c"), arm, with(6)),
            machine("Neoverse V3", arm!("0x41", "0xd83"), arm, with(6)),
            machine("AmpereOne", arm!("0xc0", "0xac3"), arm, with(6)),
            machine("unknown", x86!("GenuineIntel", "6", "42"), cpu, with(4)),
        ]
    }

    fn root(machine: &Machine) -> (tempfile::TempDir, Root) {
        let folder = tempfile::tempdir().unwrap();
        std::fs::create_dir_all(folder.path().join("proc")).unwrap();
        std::fs::write(folder.path().join("proc/cpuinfo"), machine.cpuinfo).unwrap();
        for (name, number) in machine.sources {
            let source = format!("sys/bus/event_source/devices/{name}");
            let source = folder.path().join(source);
            std::fs::create_dir_all(&source).unwrap();
            std::fs::write(source.join("type"), format!("{number}\n")).unwrap();
        }
        let root = Root::at(folder.path());
        (folder, root)
    }

    /// The groups without cycles and instructions, which are in every one.
    fn told(plan: &Plan) -> String {
        let mut text = String::new();
        for source in plan.pmus() {
            let family = source.family.unwrap_or_else(|| "no table".to_owned());
            writeln!(text, "  {} {family}", source.name).unwrap();
            for group in source.groups {
                assert!(group.starts_with(&["cycles".to_owned(), "instructions".to_owned()]));
                let own = &group[2..];
                let own = if own.is_empty() {
                    "nothing else".to_owned()
                } else {
                    own.join(" ")
                };
                writeln!(text, "    {own}").unwrap();
            }
        }
        text
    }

    #[test]
    fn what_a_trial_of_run_counts_on_ten_machines() {
        let mut text = String::new();
        for machine in machines() {
            let (_folder, root) = root(&machine);
            let plan = plan(&root, &machine.table, None, &Events::Walks).unwrap();
            assert_eq!(plan.refused, [], "{}", machine.name);
            write!(text, "{}\n{}", machine.name, told(&plan)).unwrap();
        }
        expect![[r#"
            Haswell
              cpu haswell
                dtlb_load_walks dtlb_store_walks dtlb_load_walk_active dtlb_store_walk_active
                itlb_walks itlb_walk_active
            Skylake, watchdog
              cpu skylake
                dtlb_load_walks dtlb_store_walks
                dtlb_load_walk_active dtlb_store_walk_active itlb_walks
                itlb_walk_active
            Sapphire Rapids
              cpu sapphirerapids
                dtlb_load_walks dtlb_store_walks dtlb_load_walk_active dtlb_store_walk_active
                itlb_walks itlb_walk_active
            Sierra Forest
              cpu sierraforest
                dtlb_load_walks dtlb_store_walks itlb_walks itlb_walk_pending dtlb_load_walk_pending dtlb_store_walk_pending
            Alder Lake
              cpu_atom alderlake-atom
                dtlb_load_walks dtlb_store_walks itlb_walks
              cpu_core alderlake-core
                dtlb_load_walks dtlb_store_walks
                dtlb_load_walk_active dtlb_store_walk_active itlb_walks
                itlb_walk_active
            Zen 4
              cpu zen4
                dtlb_walks itlb_walks
            Neoverse N1
              armv8_pmuv3_0 neoverse-n1
                dtlb_walks itlb_walks
            Neoverse V3
              armv8_pmuv3_0 neoverse-v3
                dtlb_walks dtlb_walk_pending itlb_walks itlb_walk_pending
            AmpereOne
              armv8_pmuv3_0 ampereone
                dtlb_walks itlb_walks
            unknown
              cpu no table
                nothing else
        "#]].assert_eq(&text);
    }

    #[test]
    fn nothing_to_count_is_one_reason() {
        let machine = &machines()[0];
        let (_folder, root) = root(machine);
        let cycles = Code {
            source: crate::perf::open::HARDWARE,
            config: 0,
        };
        let table = Table {
            kernel_permitted: false,
            absent: vec![cycles],
            ..machine.table.clone()
        };
        let why = plan(&root, &table, None, &Events::Usual).unwrap_err();
        assert_eq!(why, Missing::NoHardware);
    }

    #[test]
    fn names_of_perf_list_work_and_others_are_named() {
        let (_folder, root) = root(&machines()[1]);
        let sources = sources(&root).unwrap();
        let names = [
            "DTLB_LOAD_MISSES.STLB_HIT",
            "itlb_walks",
            "cycles",
            "nonsense",
        ];
        let events = Events::Named(names.map(str::to_owned).to_vec());
        assert_eq!(events.unknown(&sources), ["nonsense"]);
        let named = plan(&root, &Table::with_counters(4), None, &events).unwrap();
        let groups = &named.pmus()[0].groups;
        assert_eq!(groups[0][2..], ["itlb_walks", "dtlb_load_l2_hits"]);
    }
}
