//! One process: its program, its words, its memory.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsStr;
use std::fs::{self, File};
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use hugewise_model::advise::access::Access;
use hugewise_model::advise::command::Command;
use hugewise_model::advise::fact::Facts;
use hugewise_model::advise::knowledge::Knowledge;
use hugewise_model::advise::subject::Traces;
use hugewise_model::observe::address_space::Mapping;
use object::read::ReadCache;
use object::{File as Elf, Object};

use super::flags;
use crate::machine::root::Root;
use crate::observe::address_space::parse_mappings;
use crate::proc::process::parse_environment;
use crate::proc::status::{Status, read_status};

/// What was read of a process.
#[derive(Debug)]
pub(super) struct Process {
    /// Its number; none where it does not run.
    pub(super) pid: Option<u32>,
    pub(super) traces: Traces,
    /// Whether its memory and its executable may be read.
    pub(super) access: Access,
    /// Its folder, where that may be read.
    pub(super) folder: Option<String>,
    /// Its environment, where that may be read.
    pub(super) environment: Option<BTreeMap<String, String>>,
    status: Option<Status>,
    /// Bytes of the heap that grows by brk(2), where its mappings may be read.
    heap: Option<u64>,
}

impl Process {
    /// Reads it; `None` where it is gone, or is a thread of the kernel.
    pub(super) fn read(root: &Root, pid: u32) -> Option<Self> {
        let words = root.read(format!("proc/{pid}/cmdline")).ok()?;
        let words = String::from_utf8_lossy(&words);
        let words = words.trim_end_matches('\0');
        if words.is_empty() {
            return None;
        }
        let argv: Vec<_> = words.split('\0').map(str::to_owned).collect();
        let mappings = read_mappings(root, pid);
        let exe = link(root, pid, "exe");
        let status = read_status(root, pid).ok();
        let access = match (&mappings, &exe) {
            (None, None) if status.is_none() => return None,
            (None, None) => Access::Closed,
            _ => Access::Open,
        };
        let environment = root.read(format!("proc/{pid}/environ")).ok();
        let heap = mappings.as_deref().map(heap_bytes);
        Some(Self {
            pid: Some(pid),
            access,
            folder: link(root, pid, "cwd"),
            environment: environment.map(|bytes| parse_environment(&bytes)),
            traces: Traces {
                exe: exe.unwrap_or_else(|| argv[0].clone()),
                argv,
                files: files(&mappings.unwrap_or_default()),
            },
            status,
            heap,
        })
    }

    /// By which name it was called, else the file name of its executable.
    pub(super) fn name(&self) -> String {
        let exe = self.traces.exe.rsplit('/').next();
        let names = [self.traces.called(), exe.unwrap_or_default()];
        let name = names.into_iter().find(|name| !name.is_empty());
        name.unwrap_or_default().to_owned()
    }

    /// How it was started, or would be, where that can be repeated.
    pub(super) fn command(&self) -> Option<Command> {
        let words = &self.traces.argv;
        match (self.pid, self.access) {
            (None, _) => Some(Command {
                folder: None,
                words: words.clone(),
            }),
            (Some(_), Access::Open) => Command::of_process(self.folder.as_deref(), words),
            (Some(_), Access::Closed) => None,
        }
    }

    /// The program of a command, as it would be found; `None` where there is none.
    pub(super) fn of_command(root: &Root, program: &OsStr, words: Vec<String>) -> Option<Self> {
        let exe = find_program(root, program)?;
        let mut argv = vec![program.to_string_lossy().into_owned()];
        argv.extend(words);
        let folder = std::env::current_dir().ok();
        Some(Self {
            pid: None,
            traces: Traces {
                exe,
                argv,
                files: Vec::new(),
            },
            access: Access::Open,
            folder: folder.map(|path| path.display().to_string()),
            environment: None,
            status: None,
            heap: None,
        })
    }

    /// Whether its executable has a section.
    pub(super) fn has_section(&self, root: &Root, name: &str) -> bool {
        let Ok(file) = File::open(root.path(self.exe())) else {
            return false;
        };
        let cache = ReadCache::new(file);
        Elf::parse(&cache).is_ok_and(|elf| elf.section_by_name(name).is_some())
    }

    /// Where its executable can be read, below the root of the machine.
    fn exe(&self) -> String {
        match self.pid {
            Some(pid) => format!("proc/{pid}/exe"),
            None => self.traces.exe.trim_start_matches('/').to_owned(),
        }
    }

    /// The bytes of a file as the process sees it, which may be in a container.
    pub(super) fn file(&self, root: &Root, path: &str) -> Option<Vec<u8>> {
        self.places(path).find_map(|place| root.read(place).ok())
    }

    /// Which file that is: the numbers of its device and of itself.
    pub(super) fn identity(&self, root: &Root, path: &str) -> Option<(u64, u64)> {
        let found = self
            .places(path)
            .find_map(|place| fs::metadata(root.path(place)).ok());
        found.map(|file| (file.dev(), file.ino()))
    }

    /// Where a file of the process may be read, below the root of the machine.
    fn places(&self, path: &str) -> impl Iterator<Item = String> {
        let exe = (path == self.traces.exe).then(|| self.exe());
        let inside = self.pid.map(|pid| format!("proc/{pid}/root{path}"));
        let here = path.trim_start_matches('/').to_owned();
        exe.into_iter().chain(inside).chain([here])
    }

    /// What is known of it, without its cgroup.
    pub(super) fn facts(&self, knowledge: &Knowledge) -> Facts {
        let mut facts = Facts::default();
        if let Some(status) = &self.status {
            facts.set_known("process.thp_disabled", status.thp_enabled.map(|on| !on));
            facts.set("process.threads", status.threads);
            facts.set_known("process.rss.bytes", status.rss_bytes);
            facts.set_known("process.anon.bytes", status.anon_bytes);
            facts.set_known("process.shmem.bytes", status.shmem_bytes);
            facts.set_known("process.hugetlb.bytes", status.hugetlb_bytes);
        }
        facts.set_known("process.heap.bytes", self.heap);
        if !self.traces.files.is_empty() {
            facts.set(
                "process.static",
                !self.traces.files.iter().any(|path| is_loader(path)),
            );
        }
        facts.set("argv", self.traces.argv.join(" "));
        let empty = BTreeMap::new();
        let environment = self.environment.as_ref();
        facts = facts.with(&flags(&self.traces.argv, environment.unwrap_or(&empty)));
        if let Some(environment) = environment {
            facts.set("env.", "");
            let asked = environment.iter();
            for (name, value) in asked.map(|(name, value)| (format!("env.{name}"), value)) {
                if knowledge.asks_for(&name) {
                    facts.set(name, value.as_str());
                }
            }
        }
        facts
    }

    /// Its memory in full; nothing where that may not be read. The kernel walks all page tables for
    /// it, and holds a lock of the process while it does.
    pub(super) fn memory(&self, root: &Root) -> Facts {
        let mut facts = Facts::default();
        let smaps = self.pid.map(|pid| root.read(format!("proc/{pid}/smaps")));
        let smaps = smaps.and_then(Result::ok).unwrap_or_default();
        let mappings = parse_mappings(&smaps).unwrap_or_default();
        let known: Vec<_> = mappings
            .iter()
            .filter_map(|one| Some((one, one.memory.as_ref()?)))
            .collect();
        if known.is_empty() {
            return facts;
        }
        let memory = |of: fn(&hugewise_model::observe::address_space::Memory) -> u64| -> u64 {
            known.iter().map(|(_, memory)| of(memory)).sum()
        };
        facts.set("process.rss.bytes", memory(|it| it.resident));
        facts.set("process.anon.bytes", memory(|it| it.anonymous));
        facts.set("process.anon_huge.bytes", memory(|it| it.anon_huge));
        facts.set("process.shmem_huge.bytes", memory(|it| it.shmem_huge));
        facts.set("process.hugetlb.bytes", memory(|it| it.hugetlb));
        let shared = known.iter().filter(|(mapping, _)| mapping.kind.is_shmem());
        facts.set(
            "process.shmem.bytes",
            shared.map(|(_, memory)| memory.resident).sum::<u64>(),
        );
        let advised = known.iter().filter(|(_, memory)| memory.flags.has("hg"));
        facts.set(
            "process.advised.bytes",
            advised.map(|(mapping, _)| mapping.bytes()).sum::<u64>(),
        );
        facts
    }
}

/// Whether a file is the loader of dynamic programs.
fn is_loader(path: &str) -> bool {
    let name = path.rsplit('/').next();
    name.is_some_and(|name| name.starts_with("ld-"))
}

/// The path of a program, looked for as a shell does.
fn find_program(root: &Root, program: &OsStr) -> Option<String> {
    let program = Path::new(program);
    let folders = std::env::var_os("PATH").unwrap_or_default();
    let found = match program.components().count() {
        1 => std::env::split_paths(&folders)
            .map(|folder| folder.join(program))
            .find(|path| path.is_file())?,
        _ => std::path::absolute(program).ok()?,
    };
    let path = fs::canonicalize(root.path(found.strip_prefix("/").unwrap_or(&found))).ok()?;
    Some(path.to_string_lossy().into_owned())
}

/// Where a link of the process points; what was deleted since has no mark.
fn link(root: &Root, pid: u32, name: &str) -> Option<String> {
    let target = fs::read_link(root.path(format!("proc/{pid}/{name}"))).ok()?;
    let target = target.to_string_lossy();
    let path = target.strip_suffix(" (deleted)").unwrap_or(&target);
    Some(path.to_owned())
}

/// Its mappings; `None` where they may not be read. `maps` costs no walk of the page tables.
fn read_mappings(root: &Root, pid: u32) -> Option<Vec<Mapping>> {
    let names = ["maps", "smaps"].into_iter();
    let mut texts = names.filter_map(|name| root.read(format!("proc/{pid}/{name}")).ok());
    Some(parse_mappings(&texts.next()?).unwrap_or_default())
}

/// The heap that grows by brk(2), from which malloc of glibc serves the main thread. Its size is known without a walk
/// of the page tables, and it grows only as it is used.
fn heap_bytes(mappings: &[Mapping]) -> u64 {
    let heap = mappings.iter().filter(|it| it.name.as_ref() == "[heap]");
    heap.map(Mapping::bytes).sum()
}

fn files(mappings: &[Mapping]) -> Vec<String> {
    let names = mappings.iter().map(|mapping| &*mapping.name);
    let files: BTreeSet<_> = names.filter(|name| name.starts_with('/')).collect();
    files.into_iter().map(str::to_owned).collect()
}
