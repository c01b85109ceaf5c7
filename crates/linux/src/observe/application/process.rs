//! One process: its program, its arguments and its memory.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsStr;
use std::fs;
use std::io::ErrorKind;
use std::os::unix::fs::{MetadataExt, PermissionsExt};

use hugewise_advise::access::Access;
use hugewise_advise::command::{Command, is_title};
use hugewise_advise::fact::Facts;
use hugewise_advise::knowledge::Knowledge;
use hugewise_advise::subject::Traces;
use hugewise_base::tunables::Tunables;
use hugewise_observe::address_space::Mapping;
use object::read::ReadCache;
use object::{File as Elf, Object};

use super::libraries::mapped;
use super::options::jvm_flags;
use super::program::Surroundings;
use crate::file::read::{CONFIGURATION, open_regular};
use crate::file::reader::{Found, Reader};
use crate::file::rights::Rights;
use crate::machine::root::Root;
use crate::observe::address_space::parse_mappings;
use crate::proc::status::{Status, read_status};
use crate::sys::tunables;

/// The maximum number of configuration files read per process, because the process chooses their names.
const MOST_FILES: u32 = 100;

/// The maximum total size, in bytes, of the files read per process, including its executable and its libraries.
const MOST_BYTES: u64 = 4 << 30;

/// The maximum size of a program file, in bytes.
const LARGEST_PROGRAM: u64 = 512 << 20;

/// The data read from a process.
#[derive(Debug)]
pub(super) struct Process {
    /// Its PID; `None` for a command not yet running.
    pub(super) pid: Option<u32>,
    pub(super) traces: Traces,
    /// The access to its memory and its executable.
    pub(super) access: Access,
    /// Its working directory, if readable.
    pub(super) folder: Option<String>,
    /// Its environment, if readable.
    pub(super) environment: Option<BTreeMap<String, String>>,
    /// The command that started it or would start it, if it can be repeated.
    pub(super) command: Option<Command>,
    status: Option<Status>,
    /// The size in bytes of the heap that grows by brk(2), if its mappings are readable.
    heap: Option<u64>,
    /// Reads the files that the process names, with the rights of its user.
    reader: Reader,
}

/// The result of reading a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Reading {
    /// Its text, and its device and inode numbers.
    Read(String, (u64, u64)),
    /// It does not exist.
    Absent,
    /// It may exist, but cannot be read.
    Refused,
}

impl Reading {
    /// Returns the text, if the file was read.
    pub(super) fn text(&self) -> Option<&str> {
        match self {
            Self::Read(text, _) => Some(text),
            Self::Absent | Self::Refused => None,
        }
    }
}

impl Process {
    /// Reads a process; `None` if it has ended or is a kernel thread.
    pub(super) fn read(root: &Root, pid: u32) -> Option<Self> {
        let rights = Rights::of_process(root, pid)?;
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
        let folder = link(root, pid, "cwd");
        let is_open = access == Access::Open;
        // The PID may have been reused: the new process would be read with the rights of the old one.
        if Rights::of_process(root, pid)? != rights {
            return None;
        }
        Some(Self {
            pid: Some(pid),
            access,
            command: folder
                .as_deref()
                .filter(|_| is_open)
                .and_then(|folder| Command::of_process(folder, &argv)),
            folder,
            environment: environment.map(|bytes| variables(&bytes)),
            traces: Traces {
                exe: exe.unwrap_or_else(|| argv[0].clone()),
                argv,
                files: files(&mappings.unwrap_or_default()),
            },
            status,
            heap,
            reader: Reader::new(rights, MOST_FILES, MOST_BYTES),
        })
    }

    /// Returns the name by which the process was called, or the file name of its executable.
    pub(super) fn name(&self) -> String {
        let exe = self.traces.exe.rsplit('/').next();
        let names = [self.traces.called(), exe.unwrap_or_default()];
        let name = names.into_iter().find(|name| !name.is_empty());
        name.unwrap_or_default().to_owned()
    }

    /// Predicts the process that a command would start: its program, its libraries and its environment; `None` if there
    /// is no such program.
    pub(super) fn of_command(
        root: &Root,
        knowledge: &Knowledge,
        program: &OsStr,
        words: Vec<String>,
    ) -> Option<Self> {
        let folder = std::env::current_dir().unwrap_or_default();
        let own = std::env::vars_os().map(|(name, value)| {
            let text = |word: &OsStr| word.to_string_lossy().into_owned();
            (text(&name), text(&value))
        });
        let environment: BTreeMap<_, _> = own.collect();
        let mut typed = vec![program.to_string_lossy().into_owned()];
        typed.extend(words.iter().cloned());
        let surroundings = Surroundings {
            root,
            environment: &environment,
            folder: &folder,
        };
        let found = surroundings.program(program, words)?;
        let mut files = mapped(root, &found.exe, &environment);
        let chosen = knowledge.loaded_by(&found.exe);
        files.extend(chosen.filter(|path| root.path(path.trim_start_matches('/')).is_file()));
        Some(Self {
            pid: None,
            command: Some(Command {
                folder: None,
                words: typed,
            }),
            traces: Traces {
                exe: found.exe,
                argv: found.argv,
                files,
            },
            access: Access::Open,
            folder: Some(folder.display().to_string()),
            environment: Some(environment),
            status: None,
            heap: None,
            reader: Reader::new(Rights::own(), MOST_FILES, MOST_BYTES),
        })
    }

    /// Returns its arguments, if they are known: a process may have overwritten them with a title.
    pub(super) fn words(&self) -> Option<&[String]> {
        let argv = &self.traces.argv;
        (!is_title(argv)).then_some(argv)
    }

    /// Returns true if its mapped files are known, or for a command the files that it would map at its start. These
    /// include an allocator and a runtime.
    pub(super) fn shows_files(&self) -> bool {
        !self.traces.files.is_empty()
    }

    /// Returns true if its executable has a section of this name.
    pub(super) fn has_section(&self, root: &Root, name: &str) -> bool {
        let Ok(file) = open_regular(&root.path(self.exe())) else {
            return false;
        };
        let cache = ReadCache::new(file);
        Elf::parse(&cache).is_ok_and(|elf| elf.section_by_name(name).is_some())
    }

    /// Returns a readable path of its executable, relative to the root of the machine.
    fn exe(&self) -> String {
        match self.pid {
            Some(pid) => format!("proc/{pid}/exe"),
            None => self.traces.exe.trim_start_matches('/').to_owned(),
        }
    }

    /// Returns the content of a small file as seen by the process, which may be in a container.
    pub(super) fn file(&self, root: &Root, path: &str) -> Option<Vec<u8>> {
        self.bytes(root, path, CONFIGURATION)
    }

    /// Returns the content of a program or library of the process.
    pub(super) fn program(&self, root: &Root, path: &str) -> Option<Vec<u8>> {
        self.bytes(root, path, LARGEST_PROGRAM)
    }

    fn bytes(&self, root: &Root, path: &str, most: u64) -> Option<Vec<u8>> {
        let read = |place| self.reader.read(&root.path(place), most).ok();
        Some(self.places(path).find_map(read)?.bytes)
    }

    /// Returns the credentials with which the files named by the process are read.
    pub(super) fn rights(&self) -> &Rights {
        self.reader.rights()
    }

    /// Reads a file of the process.
    pub(super) fn reading(&self, root: &Root, path: &str) -> Reading {
        let mut reading = Reading::Absent;
        for place in self.places(path) {
            match self.reader.read(&root.path(place), CONFIGURATION) {
                Ok(Found { bytes, identity }) => {
                    let text = String::from_utf8_lossy(&bytes).into_owned();
                    return Reading::Read(text, identity);
                }
                Err(error) if error.kind() == ErrorKind::NotFound => {}
                Err(_) => reading = Reading::Refused,
            }
        }
        reading
    }

    /// Returns the configuration files in a directory, in order.
    pub(super) fn configurations_in(&self, root: &Root, folder: &str) -> Vec<String> {
        let list = |place| self.reader.list(&root.path(place)).ok();
        let names = self.places(folder).find_map(list);
        let names = names.into_iter().flatten();
        let named = names.filter(|name| name.ends_with(".conf"));
        named.map(|name| format!("{folder}/{name}")).collect()
    }

    /// Makes a path absolute, as the process would resolve it.
    pub(super) fn absolute(&self, path: &str) -> Option<String> {
        match (path.starts_with('/'), &self.folder) {
            (true, _) => Some(path.to_owned()),
            (false, Some(folder)) => Some(format!("{folder}/{path}")),
            (false, None) => None,
        }
    }

    /// Returns the device and inode numbers of a file.
    pub(super) fn identity(&self, root: &Root, path: &str) -> Option<(u64, u64)> {
        let look = |place| {
            let path = root.path(place);
            self.rights().lend(|| fs::metadata(path)).ok()
        };
        let found = self.places(path).find_map(look);
        found.map(|file| (file.dev(), file.ino()))
    }

    /// Returns the paths at which a file of the process may be readable, relative to the root of the machine.
    pub(super) fn places(&self, path: &str) -> impl Iterator<Item = String> {
        let exe = (path == self.traces.exe).then(|| self.exe());
        let inside = self.pid.map(|pid| format!("proc/{pid}/root{path}"));
        let here = path.trim_start_matches('/').to_owned();
        exe.into_iter().chain(inside).chain([here])
    }

    /// Returns true if its executable is set-user-ID or set-group-ID to an ID different from the caller's.
    fn raises_rights(&self, root: &Root) -> Option<bool> {
        const SET_USER: u32 = 0o4000;
        const SET_GROUP: u32 = 0o2010;
        let mut places = self.places(&self.traces.exe);
        let file = places.find_map(|path| fs::metadata(root.path(path)).ok())?;
        let status = self.status.as_ref();
        let is_own = status.is_some_and(|status| status.real_uid == file.uid());
        let mode = file.permissions().mode();
        Some(mode & SET_USER != 0 && !is_own || mode & SET_GROUP == SET_GROUP)
    }

    /// Returns the facts known about the process, without its cgroup.
    pub(super) fn facts(&self, root: &Root, knowledge: &Knowledge) -> Facts {
        let read = |path: &str| self.file(root, &self.absolute(path)?);
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
        facts.set_known("process.raises_rights", self.raises_rights(root));
        facts.set_known("argv", self.words().map(|words| words.join(" ")));
        facts = facts.with(&jvm_flags(self.words(), self.environment.as_ref(), read));
        if let Some(environment) = &self.environment {
            facts.set("env.", "");
            let mut environment = environment.clone();
            let cache = self.file(root, &format!("/{}", tunables::CACHE));
            let (cache, exe) = (cache.unwrap_or_default(), Some(self.traces.exe.as_str()));
            tunables::add_file(&mut environment, &cache, exe);
            let file = Tunables::new(tunables::parse_cache(&cache), None).variable(exe);
            facts.set("process.tunables_conf", file.unwrap_or_default());
            let asked = environment.iter();
            for (name, value) in asked.map(|(name, value)| (format!("env.{name}"), value)) {
                if knowledge.asks_for(&name) {
                    facts.set(name, value.as_str());
                }
            }
        }
        facts
    }

    /// Returns its memory in full, or nothing if it may not be read. The kernel walks all page tables for this, and
    /// holds a lock of the process during the walk.
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
        let memory = |of: fn(&hugewise_observe::address_space::Memory) -> u64| -> u64 {
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

/// Returns true if a file is the dynamic loader.
fn is_loader(path: &str) -> bool {
    let name = path.rsplit('/').next();
    name.is_some_and(|name| name.starts_with("ld-"))
}

/// Parses `/proc/PID/environ`.
fn variables(bytes: &[u8]) -> BTreeMap<String, String> {
    let entries = bytes.split(|&byte| byte == 0).map(String::from_utf8_lossy);
    let pairs = entries.filter_map(|entry| {
        let (name, value) = entry.split_once('=')?;
        Some((name.to_owned(), value.to_owned()))
    });
    pairs.collect()
}

/// Returns the target of a link of the process, without the mark of a deleted file.
fn link(root: &Root, pid: u32, name: &str) -> Option<String> {
    let target = fs::read_link(root.path(format!("proc/{pid}/{name}"))).ok()?;
    let target = target.to_string_lossy();
    let path = target.strip_suffix(" (deleted)").unwrap_or(&target);
    Some(path.to_owned())
}

/// Returns its mappings; `None` if they may not be read. `maps` costs no walk of the page tables.
fn read_mappings(root: &Root, pid: u32) -> Option<Vec<Mapping>> {
    let names = ["maps", "smaps"].into_iter();
    let mut texts = names.filter_map(|name| root.read(format!("proc/{pid}/{name}")).ok());
    Some(parse_mappings(&texts.next()?).unwrap_or_default())
}

/// Returns the size of the heap that grows by brk(2), from which glibc's malloc serves the main thread. It is known
/// without a walk of the page tables, and grows only with use.
fn heap_bytes(mappings: &[Mapping]) -> u64 {
    let heap = mappings.iter().filter(|it| it.name.as_ref() == "[heap]");
    heap.map(Mapping::bytes).sum()
}

fn files(mappings: &[Mapping]) -> Vec<String> {
    let names = mappings.iter().map(|mapping| &*mapping.name);
    let files: BTreeSet<_> = names.filter(|name| name.starts_with('/')).collect();
    files.into_iter().map(str::to_owned).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::machine::root::machine_of;

    /// Made by `ldconfig` of glibc 2.44; see `sys::tunables`.
    const CACHE: &[u8] = include_bytes!("../../../../../fixtures/ld.so.cache-2.44");

    #[test]
    fn tunables_of_the_machine_are_facts_of_a_program() {
        let program = "usr/bin/redis-server";
        let (folder, root) = machine_of(&[(program, ""), ("etc/passwd", "")]);
        let knowledge = Knowledge::compiled().expect("the knowledge is right");
        let text = |name: &str| {
            let program = OsStr::new("/usr/bin/redis-server");
            let process = Process::of_command(&root, &knowledge, program, Vec::new());
            let facts = process.expect("a program").facts(&root, &knowledge);
            facts.text(name).unwrap_or_default().to_owned()
        };
        assert_eq!(text("process.tunables_conf"), "");
        fs::write(folder.path().join(tunables::CACHE), CACHE).expect("a file");
        for name in ["process.tunables_conf", "env.GLIBC_TUNABLES"] {
            let found = text(name);
            assert!(found.contains("glibc.malloc.hugetlb=2"), "{name}: {found}");
        }
    }

    #[test]
    fn the_limits_are_those_of_the_document() {
        let document = include_str!("../../../../../SECURITY.md");
        let limits = format!(
            "at most {} MiB of it, and at most {MOST_FILES} files for a process",
            CONFIGURATION >> 20
        );
        assert!(
            document.contains(&limits),
            "SECURITY.md does not say: {limits}"
        );
    }
}
