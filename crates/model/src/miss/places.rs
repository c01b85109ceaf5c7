use std::collections::HashMap;

use crate::fault::space::{Area, Space, Units};
use crate::fault::stacks::Stacks;
use crate::fault::{Event, Map};

/// Address spaces, and the code in them, as events tell of them.
#[derive(Debug)]
pub(super) struct Places {
    units: Units,
    spaces: HashMap<u32, Space>,
    programs: HashMap<u32, String>,
    /// Mappings with their widest extent, in the order in which they came.
    pub(super) mappings: Vec<Mapping>,
    pub(super) code: Stacks,
}

/// A mapping, and all that grew out of it.
#[derive(Clone, Debug)]
pub(super) struct Mapping {
    pub(super) pid: u32,
    pub(super) start: u64,
    pub(super) end: u64,
    pub(super) name: String,
}

impl Places {
    pub(super) fn new(page_bytes: u64, pmd_bytes: Option<u64>) -> Self {
        let page_bytes = page_bytes.max(1);
        Self {
            units: Units {
                page_bytes,
                block_bytes: pmd_bytes.unwrap_or(page_bytes * 512).max(page_bytes),
            },
            spaces: HashMap::new(),
            programs: HashMap::new(),
            mappings: Vec::new(),
            code: Stacks::default(),
        }
    }

    pub(super) fn push(&mut self, event: &Event) {
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
            // The first thread may end before the others, and misses of theirs are then without a
            // mapping. That is rare, and the memory of dead processes is not.
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
            mappings.push(Mapping {
                pid: map.pid,
                start: map.start,
                end: map.end,
                name: map.name.clone(),
            });
            mappings.len() - 1
        });
        if let Some(area) = space.area(map.start) {
            let mapping = &mut mappings[area.tally];
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

    pub(super) fn area(&self, pid: u32, address: u64) -> Option<&Area> {
        self.spaces.get(&pid)?.area(address)
    }

    /// Counts an instruction of a process.
    pub(super) fn ran(&mut self, pid: u32, code: u64) {
        let program = self.programs.get(&pid);
        let program = program.map_or("[program]", String::as_str);
        let space = self.spaces.get(&pid);
        self.code.add(pid, program, &[code], space, 1);
    }
}
