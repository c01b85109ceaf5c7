use std::collections::HashMap;

use super::event::{Event, Map, Sharing};
use super::space::{Area, EventSpace, Units};
use super::stacks::Stacks;
use super::unwatched::{Unwatched, Withdrawals};

/// Processes reconstructed from events: names, address spaces, and code.
#[derive(Debug)]
pub struct Processes {
    /// Sizes of a page and of a block.
    pub units: Units,
    spaces: HashMap<u32, EventSpace>,
    programs: HashMap<u32, String>,
    withdrawals: Withdrawals,
    /// All mappings ever seen, in order of appearance; [`Area::tally`] is an index into it.
    pub mappings: Vec<FaultedMapping>,
    /// Call chains, and the names in them.
    pub code: Stacks,
}

/// A mapping at its largest extent, including all that grew out of it.
#[derive(Clone, Debug)]
pub struct FaultedMapping {
    /// Process.
    pub pid: u32,
    /// First address.
    pub start: u64,
    /// First address after it.
    pub end: u64,
    /// Path or name, as the kernel reports it.
    pub name: String,
    /// True if no file backs the memory.
    pub anonymous: bool,
    /// Private or shared.
    pub sharing: Sharing,
}

impl Processes {
    /// Starts without any process.
    #[must_use]
    pub fn new(page_bytes: u64, pmd_bytes: Option<u64>) -> Self {
        let page_bytes = page_bytes.max(1);
        Self {
            units: Units {
                page_bytes,
                block_bytes: pmd_bytes.unwrap_or(page_bytes * 512).max(page_bytes),
            },
            spaces: HashMap::new(),
            programs: HashMap::new(),
            withdrawals: Withdrawals::default(),
            mappings: Vec::new(),
            code: Stacks::default(),
        }
    }

    /// Updates the processes from an event. Events about other subjects are ignored.
    pub fn push(&mut self, event: &Event) {
        self.withdrawals.push(event);
        match event {
            Event::Map(map) => self.map(map),
            Event::Exec { pid, name, .. } => {
                self.spaces.remove(pid);
                self.code.forget(*pid);
                self.programs.insert(*pid, name.clone());
            }
            Event::Heap { pid, address, .. } => {
                self.spaces.entry(*pid).or_default().heap = Some(*address);
            }
            Event::Fork { pid, parent, .. } if pid != parent => self.fork(*pid, *parent),
            // If the first thread ends before the others, its space reappears only with the next mapping. That is rare,
            // while memory for dead processes would add up.
            Event::Exit { pid, tid, .. } if pid == tid => {
                self.spaces.remove(pid);
                self.code.forget(*pid);
            }
            Event::Symbol {
                file,
                offset,
                frames,
            } => self.code.name(file, *offset, frames),
            _ => {}
        }
    }

    fn map(&mut self, map: &Map) {
        const EXECUTABLE: u32 = 4;
        if map.protection & EXECUTABLE != 0 {
            self.code.forget(map.pid);
        }
        let space = self.spaces.entry(map.pid).or_default();
        let mut map = map.clone();
        if space.heap == Some(map.start) && map.name == "//anon" {
            "[heap]".clone_into(&mut map.name);
        }
        let mappings = &mut self.mappings;
        space.map(&map, self.units, || {
            mappings.push(FaultedMapping::of(&map));
            mappings.len() - 1
        });
        if let Some(area) = space.area(map.start) {
            let mapping = &mut mappings[area.tally];
            let shared = area.sharing == Sharing::Shared && area.is_shared_memory();
            mapping.anonymous = shared || area.is_anonymous();
            mapping.start = mapping.start.min(map.start);
            mapping.end = mapping.end.max(map.end);
        }
    }

    fn fork(&mut self, pid: u32, parent: u32) {
        if let Some(space) = self.spaces.get_mut(&parent) {
            let child = space.fork();
            self.spaces.insert(pid, child);
        }
        if let Some(program) = self.programs.get(&parent).cloned() {
            self.programs.insert(pid, program);
        }
        self.code.forget(pid);
    }

    /// Returns the programs whose events stopped at their exec.
    #[must_use]
    pub fn unwatched(&self) -> Vec<Unwatched> {
        self.withdrawals.unwatched()
    }

    /// Returns the number of pages in all mappings ever seen.
    #[must_use]
    pub fn mapped_pages(&self) -> u64 {
        let bytes = self
            .mappings
            .iter()
            .map(|one| one.end.saturating_sub(one.start));
        bytes.fold(0, u64::saturating_add) / self.units.page_bytes
    }

    /// Returns the address space of a process, if events mentioned it.
    #[must_use]
    pub fn space(&self, pid: u32) -> Option<&EventSpace> {
        self.spaces.get(&pid)
    }

    /// Returns the address space of a process; creates an empty one for a new process.
    pub fn space_mut(&mut self, pid: u32) -> &mut EventSpace {
        self.spaces.entry(pid).or_default()
    }

    /// Returns the mapping of a process at an address.
    #[must_use]
    pub fn area(&self, pid: u32, address: u64) -> Option<&Area> {
        self.space(pid)?.area(address)
    }

    /// Counts a call chain of a process, innermost first, with the `weight` that it represents. Returns its index.
    pub fn ran(&mut self, pid: u32, stack: &[u64], weight: u64) -> usize {
        let program = self.programs.get(&pid);
        let program = program.map_or("[program]", String::as_str);
        let space = self.spaces.get(&pid);
        self.code.add(pid, program, stack, space, weight)
    }
}

impl FaultedMapping {
    fn of(map: &Map) -> Self {
        Self {
            pid: map.pid,
            start: map.start,
            end: map.end,
            name: map.name.clone(),
            anonymous: false,
            sharing: map.sharing,
        }
    }
}
