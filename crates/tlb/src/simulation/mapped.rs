//! Walks by mapping.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use super::{Kind, MemoryAccess};
use hugewise_base::units::bytes_text;
use hugewise_observe::faults::Map;
use hugewise_observe::faults::space::{EventSpace, Units};

/// Walks for addresses of one mapping.
#[derive(Clone, Debug, Serialize, Deserialize, PartialEq, Eq)]
#[serde(deny_unknown_fields)]
pub struct MappingWalks {
    /// Its name; for anonymous memory, its size and address.
    pub name: String,
    /// Walks for data and code, by page size.
    pub walks: Vec<u64>,
}

/// The mappings of a program and the page walks in them.
///
/// They are read when a walk goes to an address outside every known mapping, which is cheap for programs with many
/// mappings and few walks. The process is slightly ahead of its trace: memory freed soon after its use is not found.
#[derive(Debug)]
pub struct Mapped {
    space: EventSpace,
    units: Units,
    /// By mapping number.
    extents: Vec<(u64, u64, String)>,
    walks: BTreeMap<Option<usize>, Vec<u64>>,
    /// Base pages outside every mapping.
    absent: BTreeSet<u64>,
    /// Address of the first store, which is on the stack.
    stack: Option<u64>,
    columns: usize,
}

impl Mapped {
    /// Creates it without mappings, for this number of page sizes.
    #[must_use]
    pub fn new(base_page_bytes: u64, columns: usize) -> Self {
        let page_bytes = base_page_bytes.max(1);
        Self {
            space: EventSpace::default(),
            units: Units {
                page_bytes,
                block_bytes: page_bytes,
            },
            extents: Vec::new(),
            walks: BTreeMap::new(),
            absent: BTreeSet::new(),
            stack: None,
            columns,
        }
    }

    /// Records an access, with or without a walk.
    pub fn see(&mut self, access: MemoryAccess) {
        if self.stack.is_none() && access.kind == Kind::Store {
            self.stack = Some(access.address);
        }
    }

    /// Adds the walks of an access, by page size. `look_up` reads all mappings if that of the address is unknown.
    pub fn walked(&mut self, address: u64, walks: &[u64], look_up: impl FnOnce() -> Vec<Map>) {
        let page = address / self.units.page_bytes;
        if self.space.area(address).is_none() && !self.absent.contains(&page) {
            self.update(&look_up());
            if self.space.area(address).is_none() {
                self.absent.insert(page);
            }
        }
        let number = self.space.area(address).map(|area| area.tally);
        let columns = self.columns;
        let sums = self.walks.entry(number).or_insert_with(|| vec![0; columns]);
        for (sum, more) in sums.iter_mut().zip(walks) {
            *sum += more;
        }
    }

    fn update(&mut self, maps: &[Map]) {
        for map in maps {
            let extents = &mut self.extents;
            self.space.map(map, self.units, || {
                extents.push((map.start, map.end, map.name.clone()));
                extents.len() - 1
            });
            if let Some(area) = self.space.area(map.start) {
                let extent = &mut self.extents[area.tally];
                extent.0 = extent.0.min(map.start);
                extent.1 = extent.1.max(map.end);
            }
        }
    }

    /// Returns walks by mapping, sorted by walks with the smallest pages, descending. Mappings with the same name
    /// (parts of a file) are summed.
    #[must_use]
    pub fn rows(&self) -> Vec<MappingWalks> {
        let mut sums: BTreeMap<String, Vec<u64>> = BTreeMap::new();
        for (&number, walks) in &self.walks {
            let sum = sums
                .entry(self.name(number))
                .or_insert_with(|| vec![0; self.columns]);
            for (sum, more) in sum.iter_mut().zip(walks) {
                *sum += more;
            }
        }
        let rows = sums.into_iter();
        let mut rows: Vec<MappingWalks> = rows
            .map(|(name, walks)| MappingWalks { name, walks })
            .collect();
        rows.sort_by(|a, b| b.walks.cmp(&a.walks).then_with(|| a.name.cmp(&b.name)));
        rows
    }

    fn name(&self, number: Option<usize>) -> String {
        let Some((start, end, name)) = number.and_then(|number| self.extents.get(number)) else {
            return "not known".to_owned();
        };
        if self
            .stack
            .is_some_and(|stack| (*start..*end).contains(&stack))
        {
            return "[stack]".to_owned();
        }
        match name.as_str() {
            "//anon" => format!("anonymous {} at {start:x}", bytes_text(end - start)),
            name => name.to_owned(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use hugewise_observe::faults::Sharing;

    fn map(start: u64, bytes: u64, name: &str) -> Map {
        Map {
            time_ns: 0,
            pid: 1,
            start,
            end: start + bytes,
            offset: 0,
            protection: 3,
            sharing: Sharing::Private,
            name: name.to_owned(),
        }
    }

    fn rows(mapped: &Mapped) -> Vec<(String, Vec<u64>)> {
        let rows = mapped.rows().into_iter();
        rows.map(|row| (row.name, row.walks)).collect()
    }

    #[test]
    fn mappings_are_looked_up_once_and_grow() {
        let mut mapped = Mapped::new(4096, 2);
        let mut look_ups = 0;
        let mut walk = |address: u64, maps: Vec<Map>| {
            mapped.walked(address, &[2, 1], || {
                look_ups += 1;
                maps
            });
        };
        let small = || {
            vec![
                map(0x10_0000, 0x2000, "//anon"),
                map(0x40_0000, 0x1000, "/bin/x"),
            ]
        };
        walk(0x10_1000, small());
        walk(0x10_0fff, vec![]);
        walk(0x40_0010, vec![]);
        // The mapping has grown since: it is the same one.
        walk(0x10_4000, vec![map(0x10_0000, 0x10_0000, "//anon")]);
        // The address is unmapped, and is not looked up twice.
        walk(0x90_0000, small());
        walk(0x90_0008, small());
        assert_eq!(look_ups, 3);
        let expected = [
            ("anonymous 1 MiB at 100000".to_owned(), vec![6, 3]),
            ("not known".to_owned(), vec![4, 2]),
            ("/bin/x".to_owned(), vec![2, 1]),
        ];
        assert_eq!(rows(&mapped), expected);
    }

    #[test]
    fn the_first_store_goes_to_the_stack() {
        let mut mapped = Mapped::new(4096, 1);
        for (kind, address) in [
            (Kind::Load, 0x10_0000),
            (Kind::Store, 0x20_0ff8),
            (Kind::Store, 0x10_0000),
        ] {
            mapped.see(MemoryAccess {
                kind,
                address,
                bytes: 8,
            });
        }
        let maps = || {
            vec![
                map(0x10_0000, 0x1000, "//anon"),
                map(0x20_0000, 0x1000, "//anon"),
            ]
        };
        mapped.walked(0x20_0000, &[1], maps);
        mapped.walked(0x10_0000, &[2], Vec::new);
        let names: Vec<String> = rows(&mapped).into_iter().map(|(name, _)| name).collect();
        assert_eq!(names, ["anonymous 4 KiB at 100000", "[stack]"]);
    }
}
