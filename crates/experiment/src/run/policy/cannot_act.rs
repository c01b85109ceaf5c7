//! Policies that cannot act on a program, decided from the executed file and the mapped libraries.

use super::realise::Realisation;
use super::{Malloc, Runtime, Settings};
use crate::base::units::bytes_text;
use crate::run::trial::{Process, ProcessTree};

/// Facts about a program after it ran in a trial.
#[derive(Clone, Copy, Debug)]
pub struct ObservedProgram<'a> {
    /// Its processes.
    pub tree: &'a ProcessTree,
    /// The executable of its largest process; `None` if it could not be read.
    pub executable: Option<&'a Executable>,
    /// The library preloaded by the policy of that trial.
    pub preloaded: Option<&'a str>,
    /// The size of a huge page; `None` if there is none.
    pub huge_page_bytes: Option<u64>,
}

/// Facts about memory in an executable file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Executable {
    /// Its loader (`PT_INTERP`); `None` if it is statically linked.
    pub loader: Option<String>,
    /// True if the Go toolchain built it.
    pub is_go: bool,
    /// True if it defines `malloc` for itself and its libraries.
    pub defines_malloc: bool,
    /// True if it starts a Java virtual machine (it contains the name `libjli.so`, like the launcher `java`).
    pub starts_jvm: bool,
    /// True if it contains the name `libjemalloc.so`, which the loader then maps.
    pub names_jemalloc: bool,
    /// True if jemalloc is linked into it, under any name.
    pub holds_jemalloc: bool,
    /// True if it contains the tunables of glibc, as a program statically linked with glibc does.
    pub holds_tunables: bool,
    /// True if it contains the tunable `glibc.elf.thp`, as a program statically linked with glibc 2.44 does.
    pub holds_elf_thp: bool,
    /// The length of its longest code segment, in bytes.
    pub code_bytes: u64,
    /// Its segments that are readable and not writable.
    pub read_only: Vec<ReadOnly>,
}

/// A read-only segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReadOnly {
    /// The largest power of two that divides its address and its offset in the file.
    pub alignment: u64,
    /// Its length in memory, in bytes.
    pub bytes: u64,
}

/// The manager of a program's heap, as far as its file shows before it runs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Heap {
    /// The malloc of glibc, or an unknown one.
    #[default]
    Glibc,
    /// A Java virtual machine.
    Jvm,
    /// The system's jemalloc, which reads `MALLOC_CONF`; a linked-in one may read another variable.
    Jemalloc,
}

impl Executable {
    /// Returns the manager of its heap.
    #[must_use]
    pub fn heap(&self) -> Heap {
        match (self.starts_jvm, self.names_jemalloc) {
            (true, _) => Heap::Jvm,
            (_, true) => Heap::Jemalloc,
            _ => Heap::Glibc,
        }
    }

    /// Returns why none of the `settings` can act on the program at `path`, as far as its file shows before it runs.
    /// Settings of runtimes are not checked: whether they can act is known only after libraries are mapped.
    #[must_use]
    pub fn cannot_obey(&self, settings: &Settings, path: &str) -> Option<String> {
        let is_judged = settings.runtimes.is_empty();
        is_judged.then(|| self.foresee(settings, path)).flatten()
    }

    /// The same including settings of runtimes, as if the program loaded only the libraries in its file. A program that
    /// starts or loads another one at run time may still obey.
    #[must_use]
    pub fn foresee(&self, settings: &Settings, path: &str) -> Option<String> {
        let largest = Process {
            name: path.rsplit('/').next().unwrap_or(path).to_owned(),
            program: path.to_owned(),
            ..Process::default()
        };
        let jvm = self.starts_jvm.then_some("/libjvm.so");
        let jemalloc = self.names_jemalloc.then_some("/libjemalloc.so");
        let named = jvm.into_iter().chain(jemalloc);
        let tree = ProcessTree {
            processes: 1,
            libraries: named.map(str::to_owned).collect(),
            largest,
            ..ProcessTree::default()
        };
        let program = ObservedProgram {
            tree: &tree,
            executable: Some(self),
            preloaded: None,
            huge_page_bytes: None,
        };
        cannot_act(settings, &program)
    }

    fn uses_musl(&self) -> bool {
        self.loader.as_ref().is_some_and(|it| it.contains("musl"))
    }
}

/// Returns why none of the `settings` can act on a program, and what would; `None` if one may act, or if this is
/// unknown.
#[must_use]
pub fn cannot_act(settings: &Settings, program: &ObservedProgram<'_>) -> Option<String> {
    let others = Settings {
        malloc: None,
        text: None,
        runtimes: Default::default(),
        ..settings.clone()
    };
    if others != Settings::default() || !program.tree.is_one_program() {
        return None;
    }
    let mut why = None;
    let of_malloc = settings.malloc.map(|malloc| program.ignores(malloc));
    let of_runtimes = settings.runtime_settings();
    let of_runtimes = of_runtimes.map(|(runtime, name, _)| program.ignores_setting(runtime, name));
    let of_text = settings.text.map(|_| program.has_small_code());
    for reason in of_malloc.into_iter().chain(of_text).chain(of_runtimes) {
        let reason = reason?;
        why.get_or_insert(reason);
    }
    why
}

/// Returns why a policy did not act in its trial: the library that it preloads was not mapped.
#[must_use]
pub fn not_preloaded(expected: &Realisation, program: &ObservedProgram<'_>) -> String {
    if expected.library.is_some() {
        return program.ignores_library();
    }
    let library = expected.preload.as_deref().unwrap_or_default();
    format!(
        "{} did not map {library}, which was preloaded; a set-user-ID program or another C library \
         ignores LD_PRELOAD",
        program.path()
    )
}

impl ObservedProgram<'_> {
    /// The executed file, or the name of the process if that differs: a link or a script keeps the name as typed.
    fn path(&self) -> String {
        let largest = &self.tree.largest;
        let (name, path) = (&largest.name, &largest.program);
        let file = path.rsplit('/').next().unwrap_or_default();
        // The kernel keeps fifteen characters of a name.
        match !path.is_empty() && file.starts_with(name.as_str()) {
            true => path.clone(),
            false => name.clone(),
        }
    }

    fn ignores(&self, malloc: Malloc) -> Option<String> {
        match malloc {
            Malloc::Default => None,
            Malloc::Thp | Malloc::Hugetlb => self.lacks_glibc().or_else(|| self.own_malloc()),
            Malloc::Jemalloc | Malloc::Mimalloc | Malloc::Tcmalloc => self.ignores_preload(),
        }
    }

    fn ignores_setting(&self, runtime: Runtime, name: &str) -> Option<String> {
        match runtime {
            Runtime::Glibc if name.starts_with("malloc.") => {
                self.lacks_glibc().or_else(|| self.own_malloc())
            }
            Runtime::Glibc if name == "elf.thp" => {
                self.lacks_glibc().or_else(|| self.cannot_align())
            }
            Runtime::Glibc => self.lacks_glibc(),
            Runtime::Java => self.is_no_jvm(),
            Runtime::Jemalloc => self.lacks_jemalloc(),
            _ => None,
        }
    }

    /// Returns true if no library can be preloaded into it.
    #[must_use]
    pub fn is_statically_linked(&self) -> bool {
        self.executable.is_some_and(|it| self.is_static(it))
    }

    /// Returns true if the file has no loader and no process has a C library mapped.
    fn is_static(&self, executable: &Executable) -> bool {
        executable.loader.is_none() && self.tree.largest.libraries.is_empty()
    }

    fn lacks_glibc(&self) -> Option<String> {
        let executable = self.executable?;
        let path = self.path();
        let remedy = "thp=always needs no malloc";
        if executable.uses_musl() {
            return Some(format!(
                "{path} uses musl, which has no such tunable; {remedy}"
            ));
        }
        if !self.is_static(executable) || executable.holds_tunables {
            return None;
        }
        Some(if executable.is_go {
            format!("{path} is a Go program, whose heap is not malloc's; {remedy}")
        } else {
            format!("{path} is statically linked and has no glibc malloc; {remedy}")
        })
    }

    /// An allocator other than glibc's and the one preloaded by the trial.
    fn own_malloc(&self) -> Option<String> {
        let path = self.path();
        let kinds = ["libjemalloc", "libmimalloc", "libtcmalloc"];
        let libraries = self.tree.largest.libraries.iter();
        let mut own = libraries.filter(|library| Some(library.as_str()) != self.preloaded);
        let own = own.find_map(|library| {
            let name = library.rsplit('/').next()?;
            kinds
                .iter()
                .any(|kind| name.starts_with(kind))
                .then_some(name)
        });
        if let Some(library) = own {
            return Some(format!(
                "{path} allocates with {library}, not with glibc's malloc; {}",
                setting_of(library)
            ));
        }
        let executable = self.executable?;
        let linked = executable.holds_jemalloc.then_some("jemalloc");
        let linked = linked.or(executable.defines_malloc.then_some("its own malloc"));
        linked.map(|what| format!("{path} has {what} linked in, not glibc's malloc"))
    }

    fn ignores_preload(&self) -> Option<String> {
        let executable = self.executable?;
        let path = self.path();
        if self.is_static(executable) {
            return Some(format!(
                "{path} is statically linked, and nothing is preloaded into it; link it with the \
                 allocator"
            ));
        }
        executable.defines_malloc.then(|| {
            format!(
                "{path} has its own malloc linked in, which takes precedence over a preloaded one"
            )
        })
    }

    /// Returns why the library that advises memory was not mapped.
    fn ignores_library(&self) -> String {
        let path = self.path();
        let why = match self.is_statically_linked() {
            true => "is statically linked, and nothing is preloaded into it",
            false => "did not map the preloaded library, as a set-user-ID program never does",
        };
        format!("{path} {why}; a tracer (where ptrace is allowed) or root with --system reaches it")
    }

    /// Returns the reason if no huge page fits into its code; its libraries may have more.
    fn has_small_code(&self) -> Option<String> {
        let executable = self.executable.filter(|it| self.is_static(it))?;
        let huge_page = self.huge_page_bytes?;
        (executable.code_bytes < huge_page).then(|| {
            format!(
                "{} has {} of code, into which no huge page of {} fits",
                self.path(),
                bytes_text(executable.code_bytes),
                bytes_text(huge_page)
            )
        })
    }

    /// Returns why the loader advises no segment of a static program; libraries of others may have some.
    fn cannot_align(&self) -> Option<String> {
        let executable = self.executable.filter(|it| self.is_static(it))?;
        let path = self.path();
        if !executable.holds_elf_thp {
            return Some(format!(
                "{path} is statically linked with a glibc that has no glibc.elf.thp; text=huge needs none"
            ));
        }
        let huge_page = self.huge_page_bytes?;
        let fits = |it: &ReadOnly| it.alignment >= huge_page && it.bytes >= huge_page;
        let fits = executable.read_only.iter().any(fits);
        (!fits).then(|| {
            format!(
                "no read-only segment of {path} holds {} at a multiple of it; link it with \
                 -z max-page-size={huge_page}",
                bytes_text(huge_page)
            )
        })
    }

    fn lacks_jemalloc(&self) -> Option<String> {
        let is_it = |library: &String| library.contains("/libjemalloc");
        let is_mapped = self.tree.libraries.iter().any(is_it);
        let has_none = !is_mapped && !self.executable?.holds_jemalloc;
        has_none.then(|| format!("{} has no jemalloc mapped or linked in", self.path()))
    }

    fn is_no_jvm(&self) -> Option<String> {
        let is_jvm = |library: &String| library.ends_with("/libjvm.so");
        let runs_one = self.tree.libraries.iter().any(is_jvm);
        (!runs_one).then(|| format!("{} is no JVM: it maps no libjvm.so", self.path()))
    }
}

/// The setting of an allocator that asks for huge pages.
fn setting_of(library: &str) -> &'static str {
    if library.starts_with("libjemalloc") {
        "its own setting is --policy jemalloc.thp=always"
    } else if library.starts_with("libmimalloc") {
        "its own setting is --policy mimalloc.allow_large_os_pages=1"
    } else {
        "thp=always needs no malloc"
    }
}

#[cfg(test)]
mod tests;
