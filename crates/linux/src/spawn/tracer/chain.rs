//! The call chain in which a stopped thread maps memory.
//!
//! Programs and the C library are usually built without frame pointers, so the calls are found with the exception
//! tables (`.eh_frame`) of the mapped files.

use std::collections::HashMap;
use std::fmt;
use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::sync::Arc;

use framehop::{
    CacheNative, ExplicitModuleSectionInfo, MayAllocateDuringUnwind, Module, Unwinder,
    UnwinderNative,
};
use hugewise_base::fnv::fnv1a;
use hugewise_experiment::run::trial::Frame;
use hugewise_observe::faults::Map;
use object::elf::PF_X;
use object::read::ReadCache;
use object::{File as Elf, Object, ObjectSection, ObjectSegment, SegmentFlags};

use crate::file::read::open_regular;
use crate::machine::root::Root;
use crate::proc::maps;
use crate::spawn::registers::Registers;

/// The number of calls used to distinguish sites. More would also distinguish the callers of callers, although one line
/// maps their memory.
const DEPTH: usize = 12;

type Bytes = Arc<[u8]>;
type Policy = MayAllocateDuringUnwind;

/// Unwinds the threads of the processes of a tree.
#[derive(Debug, Default)]
pub(super) struct Chains {
    /// The exception tables of files, by path.
    tables: HashMap<String, Option<Tables>>,
    /// The files that a process has mapped.
    spaces: HashMap<i32, Space>,
}

/// The exception tables of a file.
#[derive(Clone, Debug)]
struct Tables {
    sections: ExplicitModuleSectionInfo<Bytes>,
    /// Offset in the file, size and address of each executable segment.
    segments: Vec<(u64, u64, u64)>,
}

/// The code of one process.
struct Space {
    unwinder: UnwinderNative<Bytes, Policy>,
    cache: CacheNative<Policy>,
    code: Vec<Map>,
}

impl fmt::Debug for Space {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(to, "Space({} mappings)", self.code.len())
    }
}

impl Space {
    /// Converts a code address to a position in a file.
    fn frame(&self, address: u64) -> Option<Frame> {
        let has = |it: &&Map| (it.start..it.end).contains(&address);
        let map = self.code.iter().find(has)?;
        Some(Frame {
            file: map.name.clone(),
            offset: address - map.start + map.offset,
        })
    }
}

impl Chains {
    /// Returns the calls of a stopped thread, innermost first, as far as they are in files.
    pub(super) fn of(&mut self, thread: i32, process: i32) -> Vec<Frame> {
        let found = self.walk(thread, process);
        // Code loaded later is not known yet: then the innermost call is in a known file, or in none.
        if found.len() > 1 {
            return found;
        }
        self.spaces.remove(&process);
        self.walk(thread, process)
    }

    /// Forgets the code of a process that executed another program or has ended.
    pub(super) fn forget(&mut self, process: i32) {
        self.spaces.remove(&process);
    }

    fn walk(&mut self, thread: i32, process: i32) -> Vec<Frame> {
        let (Ok(registers), Ok(memory)) = (
            Registers::read(thread),
            File::open(format!("/proc/{thread}/mem")),
        ) else {
            return Vec::new();
        };
        if !self.spaces.contains_key(&process) {
            let space = self.load(process);
            self.spaces.insert(process, space);
        }
        let Some(space) = self.spaces.get_mut(&process) else {
            return Vec::new();
        };
        let mut read = |address: u64| {
            let mut word = [0; 8];
            let whole = memory.read_exact_at(&mut word, address);
            whole.map(|()| u64::from_ne_bytes(word)).map_err(|_| ())
        };
        let (unwinder, cache) = (&space.unwinder, &mut space.cache);
        let mut calls =
            unwinder.iter_frames(registers.place(), registers.frame(), cache, &mut read);
        let mut addresses = Vec::new();
        while addresses.len() < DEPTH
            && let Ok(Some(call)) = calls.next()
        {
            addresses.push(call.address_for_lookup());
        }
        addresses
            .into_iter()
            .map_while(|address| space.frame(address))
            .collect()
    }

    /// Reads the current code mappings of a process.
    fn load(&mut self, process: i32) -> Space {
        const EXECUTE: u32 = 4;
        let all = maps::read(&Root::real(), process.unsigned_abs());
        let is_code = |it: &Map| it.protection & EXECUTE != 0 && it.name.starts_with('/');
        let code: Vec<Map> = all.into_iter().filter(is_code).collect();
        let mut unwinder = UnwinderNative::new();
        for map in &code {
            let path = format!("/proc/{process}/root{}", map.name);
            let tables = self.tables.entry(map.name.clone());
            let tables = tables.or_insert_with(|| Tables::read(Path::new(&path)));
            if let Some(module) = tables.as_ref().and_then(|it| it.module(map)) {
                unwinder.add_module(module);
            }
        }
        Space {
            unwinder,
            cache: CacheNative::new(),
            code,
        }
    }
}

impl Tables {
    fn read(path: &Path) -> Option<Self> {
        let cache = ReadCache::new(open_regular(path).ok()?);
        let elf = Elf::parse(&cache).ok()?;
        let section = |name: &str| elf.section_by_name(name);
        let data = |name: &str| section(name).and_then(|it| it.data().ok()).map(Arc::from);
        let range = |name: &str| section(name).map(|it| it.address()..it.address() + it.size());
        let executable = elf.segments().filter(|it| match it.flags() {
            SegmentFlags::Elf { p_flags } => p_flags & PF_X != 0,
            _ => false,
        });
        let segments = executable.map(|it| {
            let (offset, bytes) = it.file_range();
            (offset, bytes, it.address())
        });
        Some(Self {
            segments: segments.collect(),
            sections: ExplicitModuleSectionInfo {
                text_svma: range(".text"),
                got_svma: range(".got"),
                eh_frame_svma: range(".eh_frame"),
                eh_frame: data(".eh_frame"),
                eh_frame_hdr_svma: range(".eh_frame_hdr"),
                eh_frame_hdr: data(".eh_frame_hdr"),
                ..ExplicitModuleSectionInfo::default()
            },
        })
    }

    /// Returns the file at the address in the process.
    fn module(&self, map: &Map) -> Option<Module<Bytes>> {
        let has = |&&(offset, bytes, _): &&(u64, u64, u64)| {
            let page = offset & !0xfff;
            (page..offset + bytes).contains(&map.offset)
        };
        let &(offset, _, address) = self.segments.iter().find(has)?;
        let stated = address.wrapping_add(map.offset).wrapping_sub(offset);
        let base = map.start.wrapping_sub(stated);
        let range = map.start..map.end;
        Some(Module::new(
            map.name.clone(),
            range,
            base,
            self.sections.clone(),
        ))
    }
}

/// Returns the calls starting at the file that requested the memory: calls inside the C library and language runtimes
/// are common to all sites.
pub(super) fn from_its_library(mut chain: Vec<Frame>) -> Vec<Frame> {
    const SERVING: [&str; 7] = [
        "libc.so",
        "libc-",
        "libc.musl",
        "ld-",
        "libpthread",
        "libstdc++",
        "libc++",
    ];
    let serves = |frame: &Frame| SERVING.iter().any(|it| frame.file_name().starts_with(it));
    if let Some(first) = chain.iter().position(|frame| !serves(frame)) {
        chain.drain(..first);
    }
    chain
}

/// Returns a hash for the file of the first call.
pub(super) fn hash_of_file(chain: &[Frame]) -> u32 {
    let name = chain.first().map(Frame::file_name).unwrap_or_default();
    fnv1a(name.bytes())
}

/// Returns a hash for a chain: equal for the same files, regardless of their addresses and directories.
pub(super) fn hash(chain: &[Frame]) -> u32 {
    fnv1a(chain.iter().flat_map(|frame| {
        let name = frame.file_name().bytes();
        name.chain(frame.offset.to_le_bytes())
    }))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn frame(file: &str, offset: u64) -> Frame {
        Frame {
            file: file.to_owned(),
            offset,
        }
    }

    #[test]
    fn a_chain_is_known_in_another_folder_and_told_from_others() {
        let chain = [frame("/a/lib.so", 4096), frame("/a/prog", 17)];
        let moved = [frame("/b/lib.so", 4096), frame("/b/c/prog", 17)];
        assert_eq!(hash(&chain), hash(&moved));
        let other = [frame("/a/lib.so", 4096), frame("/a/prog", 18)];
        assert_ne!(hash(&chain), hash(&other));
        assert_ne!(hash(&chain), hash(&chain[..1]));
    }

    #[test]
    fn a_library_is_that_which_asks_the_c_library() {
        let chain = ["/lib/libc.so.6", "/lib/libduckdb.so", "/bin/python3"];
        let chain: Vec<Frame> = chain.iter().map(|file| frame(file, 1)).collect();
        let own = from_its_library(chain.clone());
        assert_eq!(own, chain[1..]);
        assert_eq!(
            hash_of_file(&own),
            hash_of_file(&[frame("/x/libduckdb.so", 9)])
        );
        assert_eq!(
            from_its_library(chain[..1].to_vec()),
            chain[..1],
            "nobody else"
        );
    }

    /// The published FNV-1a value for an empty input.
    #[test]
    fn the_hash_is_the_known_one() {
        assert_eq!(hash(&[]), 0x811c_9dc5);
    }
}
