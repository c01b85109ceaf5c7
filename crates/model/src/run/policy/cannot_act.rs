//! Policies that cannot act on a program, decided from what ran: the file that was executed, and
//! the libraries that were mapped.

use super::realise::Realisation;
use super::{Malloc, Runtime, Settings};
use crate::run::trial::ProcessTree;

/// What is known of a program once it ran in a trial.
#[derive(Clone, Copy, Debug)]
pub struct Program<'a> {
    /// Its processes.
    pub tree: &'a ProcessTree,
    /// The file that its largest process executes; `None` where that could not be read.
    pub executable: Option<&'a Executable>,
    /// The library that the policy of that trial preloaded.
    pub preloaded: Option<&'a str>,
}

/// What an executable file says of its memory.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Executable {
    /// The loader that it names (`PT_INTERP`); `None` where it is statically linked.
    pub loader: Option<String>,
    /// Whether the Go toolchain built it.
    pub is_go: bool,
    /// Whether it defines `malloc` for itself and its libraries.
    pub defines_malloc: bool,
    /// Whether jemalloc is linked into it, by whatever name.
    pub holds_jemalloc: bool,
    /// Whether it holds the tunables of glibc, as a program has that is statically linked with it.
    pub holds_tunables: bool,
}

impl Executable {
    fn uses_musl(&self) -> bool {
        self.loader.as_ref().is_some_and(|it| it.contains("musl"))
    }
}

/// Why nothing that `settings` sets can act on a program, with what would; `None` where something
/// may act, or where that is not known.
#[must_use]
pub fn cannot_act(settings: &Settings, program: &Program<'_>) -> Option<String> {
    let others = Settings {
        malloc: None,
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
    for reason in of_malloc.into_iter().chain(of_runtimes) {
        let reason = reason?;
        why.get_or_insert(reason);
    }
    why
}

/// Why a policy did not act in a trial of its own: the library that it preloads was not mapped.
#[must_use]
pub fn not_preloaded(expected: &Realisation, program: &Program<'_>) -> String {
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

impl Program<'_> {
    /// The file that is executed, after the name of the process where that is another.
    fn path(&self) -> String {
        let largest = &self.tree.largest;
        let (name, path) = (&largest.name, &largest.program);
        let file = path.rsplit('/').next().unwrap_or_default();
        match (path.is_empty(), file.starts_with(name.as_str())) {
            (true, _) => name.clone(),
            // The kernel keeps fifteen letters of a name.
            (false, true) => path.clone(),
            (false, false) => format!("{name} ({path})"),
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
            Runtime::Glibc => self.lacks_glibc(),
            Runtime::Java => self.is_no_jvm(),
            _ => None,
        }
    }

    /// Whether nothing can be preloaded into it.
    #[must_use]
    pub fn is_statically_linked(&self) -> bool {
        self.executable.is_some_and(|it| self.is_static(it))
    }

    /// A file that names no loader, where no process has a C library mapped either.
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

    /// An allocator beside glibc's, other than the one that the trial itself preloaded.
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
        let linked = linked.or(executable.defines_malloc.then_some("a malloc of its own"));
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
            format!("{path} has a malloc of its own linked in, which comes before a preloaded one")
        })
    }

    /// Why the library that advises memory was not mapped.
    fn ignores_library(&self) -> String {
        let path = self.path();
        let why = match self.is_statically_linked() {
            true => "is statically linked, and nothing is preloaded into it",
            false => {
                "did not map the library that was preloaded, as a set-user-ID program does not"
            }
        };
        format!("{path} {why}; a tracer (where ptrace is allowed) or root with --system reaches it")
    }

    fn is_no_jvm(&self) -> Option<String> {
        let is_jvm = |library: &String| library.ends_with("/libjvm.so");
        let runs_one = self.tree.libraries.iter().any(is_jvm);
        (!runs_one).then(|| format!("{} is no JVM: it has not mapped libjvm.so", self.path()))
    }
}

/// The setting of an allocator that asks for huge pages.
fn setting_of(library: &str) -> &'static str {
    if library.starts_with("libjemalloc") {
        "jemalloc.thp=always is its own setting"
    } else if library.starts_with("libmimalloc") {
        "mimalloc.allow_large_os_pages=1 is its own setting"
    } else {
        "thp=always needs no malloc"
    }
}

#[cfg(test)]
mod tests {
    use expect_test::expect;

    use super::*;
    use crate::run::trial::Process;

    fn tree(libraries: &[&str]) -> ProcessTree {
        let libraries: std::collections::BTreeSet<String> =
            libraries.iter().map(|&path| path.to_owned()).collect();
        ProcessTree {
            processes: 1,
            libraries: libraries.clone(),
            largest: Process {
                name: "x".to_owned(),
                program: "/bin/x".to_owned(),
                libraries,
                ..Process::default()
            },
            ..ProcessTree::default()
        }
    }

    fn why(policy: &str, libraries: &[&str], executable: &Executable) -> Option<String> {
        let settings: Settings = policy.parse().expect("a good policy");
        let program = Program {
            tree: &tree(libraries),
            executable: Some(executable),
            preloaded: None,
        };
        cannot_act(&settings, &program)
    }

    const LIBC: &str = "/lib/libc.so.6";

    fn dynamic() -> Executable {
        Executable {
            loader: Some("/lib64/ld-linux-x86-64.so.2".to_owned()),
            ..Executable::default()
        }
    }

    #[test]
    fn what_cannot_act_is_said_with_its_reason() {
        let go = Executable {
            is_go: true,
            ..Executable::default()
        };
        let musl = Executable {
            loader: Some("/lib/ld-musl-x86_64.so.1".to_owned()),
            ..Executable::default()
        };
        let own = Executable {
            defines_malloc: true,
            ..dynamic()
        };
        let jemalloc = [LIBC, "/lib/libjemalloc.so.2"];
        let rows: [(&str, &[&str], &Executable); 8] = [
            ("malloc=thp", &[], &Executable::default()),
            ("glibc.malloc.hugetlb=1", &[], &go),
            ("malloc=hugetlb", &["/lib/ld-musl-x86_64.so.1"], &musl),
            ("malloc=thp", &jemalloc, &dynamic()),
            ("malloc=thp", &[LIBC], &own),
            ("malloc=jemalloc", &[], &Executable::default()),
            ("malloc=tcmalloc", &[LIBC], &own),
            ("java.UseLargePages=on", &[LIBC], &dynamic()),
        ];
        let said: Vec<String> = rows
            .into_iter()
            .map(|(policy, libraries, file)| {
                why(policy, libraries, file).unwrap_or_else(|| panic!("{policy} may act")) + "\n"
            })
            .collect();
        expect![[r#"
            /bin/x is statically linked and has no glibc malloc; thp=always needs no malloc
            /bin/x is a Go program, whose heap is not malloc's; thp=always needs no malloc
            /bin/x uses musl, which has no such tunable; thp=always needs no malloc
            /bin/x allocates with libjemalloc.so.2, not with glibc's malloc; jemalloc.thp=always is its own setting
            /bin/x has a malloc of its own linked in, not glibc's malloc
            /bin/x is statically linked, and nothing is preloaded into it; link it with the allocator
            /bin/x has a malloc of its own linked in, which comes before a preloaded one
            /bin/x is no JVM: it has not mapped libjvm.so
        "#]]
        .assert_eq(&said.concat());
    }

    #[test]
    fn a_static_program_ignores_what_is_preloaded() {
        let expected = Realisation {
            library: Some("/tmp/libhugewise.so".to_owned()),
            ..Realisation::default()
        };
        let said = |libraries: &[&str], executable: &Executable| {
            let program = Program {
                tree: &tree(libraries),
                executable: Some(executable),
                preloaded: None,
            };
            not_preloaded(&expected, &program) + "\n"
        };
        expect![[r#"
            /bin/x is statically linked, and nothing is preloaded into it; a tracer (where ptrace is allowed) or root with --system reaches it
            /bin/x did not map the library that was preloaded, as a set-user-ID program does not; a tracer (where ptrace is allowed) or root with --system reaches it
        "#]]
        .assert_eq(&(said(&[], &Executable::default()) + &said(&[LIBC], &dynamic())));
    }

    #[test]
    fn what_may_act_stays() {
        let static_glibc = Executable {
            holds_tunables: true,
            ..Executable::default()
        };
        let rows: [(&str, &[&str], &Executable); 8] = [
            ("malloc=thp", &[LIBC], &dynamic()),
            ("malloc=thp", &[], &static_glibc),
            ("malloc=jemalloc", &[LIBC], &dynamic()),
            ("thp=always,malloc=thp", &[], &Executable::default()),
            ("env.GLIBC_TUNABLES=x", &[], &Executable::default()),
            ("java.UseLargePages=on", &["/x/libjvm.so"], &dynamic()),
            ("malloc=default", &[], &Executable::default()),
            ("thp=always", &[], &Executable::default()),
        ];
        for (policy, libraries, file) in rows {
            assert_eq!(why(policy, libraries, file), None, "{policy}");
        }
    }

    #[test]
    fn what_is_not_known_stays() {
        let settings: Settings = "malloc=thp".parse().expect("a good policy");
        let mut tree = tree(&[]);
        let unread = Program {
            tree: &tree,
            executable: None,
            preloaded: None,
        };
        assert_eq!(cannot_act(&settings, &unread), None);
        tree.anon_bytes = 100;
        tree.largest.anon_bytes = 50;
        let several = Program {
            tree: &tree,
            executable: Some(&Executable::default()),
            preloaded: None,
        };
        assert_eq!(cannot_act(&settings, &several), None);
    }

    #[test]
    fn the_allocator_of_another_policy_is_not_the_programs_own() {
        let settings: Settings = "malloc=thp".parse().expect("a good policy");
        let program = Program {
            tree: &tree(&[LIBC, "/lib/libjemalloc.so.2"]),
            executable: Some(&dynamic()),
            preloaded: Some("/lib/libjemalloc.so.2"),
        };
        assert_eq!(cannot_act(&settings, &program), None);
    }
}
