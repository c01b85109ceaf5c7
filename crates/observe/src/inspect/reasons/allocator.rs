//! How to make the allocator of a program advise its memory. The mapped files show which allocator is in use and so
//! which variables apply. The environment of the process shows which of them are missing.

use super::owner::Owner;
use crate::address_space::{Mapping, Process, Space};
use hugewise_base::units::bytes_text;

/// An environment variable that configures an allocator.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Variable {
    name: &'static str,
    /// The value, or one entry of a list of values.
    value: &'static str,
    /// The separator between the entries of the list.
    separator: char,
}

/// With pymalloc, the default allocator, Python maps its arenas itself and bypasses malloc.
const PYTHON: Variable = Variable::new("PYTHONMALLOC", "malloc", ',');
const GLIBC: Variable = Variable::new("GLIBC_TUNABLES", "glibc.malloc.hugetlb=1", ':');
const JEMALLOC: Variable = Variable::new("MALLOC_CONF", "thp:always", ',');
const JAVA: Variable = Variable::new("JAVA_TOOL_OPTIONS", "-XX:+UseTransparentHugePages", ' ');

/// The variables of [`Process::environment`] that control how memory is advised.
pub const ADVICE_VARIABLES: [&str; 4] = [PYTHON.name, GLIBC.name, JEMALLOC.name, JAVA.name];

impl Variable {
    const fn new(name: &'static str, value: &'static str, separator: char) -> Self {
        Self {
            name,
            value,
            separator,
        }
    }

    fn is_set(self, process: &Process) -> bool {
        let text = process.environment.get(self.name);
        text.is_some_and(|text| text.split(self.separator).any(|entry| entry == self.value))
    }

    fn assignment(self) -> String {
        format!("{}={}", self.name, self.value)
    }
}

/// Returns the variables that make the allocator advise its memory; empty if no setting does.
fn variables(space: &Space) -> Vec<Variable> {
    let maps = |fits: fn(&str) -> bool| {
        let mut names = space.mappings.iter().map(|one| file_name(&one.name));
        names.any(fits)
    };
    if maps(|name| name.starts_with("libjvm.so")) {
        return vec![JAVA];
    }
    if is_v8(space) {
        return Vec::new();
    }
    let malloc = if maps(|name| name.starts_with("libjemalloc")) {
        JEMALLOC
    } else if maps(|name| name == "libc.so.6") {
        GLIBC
    } else {
        return Vec::new();
    };
    let python = maps(|name| name.starts_with("python") || name.starts_with("libpython"));
    Vec::from_iter(python.then_some(PYTHON).into_iter().chain([malloc]))
}

/// Returns true for V8. It maps its heap itself and has no setting that advises it.
fn is_v8(space: &Space) -> bool {
    let mut names = space.mappings.iter().map(|one| file_name(&one.name));
    names.any(|name| matches!(name, "node" | "nodejs") || name.starts_with("libnode.so"))
}

fn file_name(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or(path)
}

/// Returns true if the memory can belong to somebody other than the allocator that these variables configure. Jemalloc
/// and runtimes map all memory in round sizes.
fn is_of_others(owner: Owner, variables: &[Variable]) -> bool {
    variables == [GLIBC] && matches!(owner, Owner::Program | Owner::Guarded | Owner::Unknown)
}

/// Returns how to advise memory that belongs, or can belong, to the program itself.
fn own_advice(owner: Owner, restart: &str, now: &str) -> String {
    match owner {
        Owner::Unknown => format!(
            "If malloc maps it: restart it {restart}. If the program maps it itself, it must call \
             madvise(MADV_HUGEPAGE); {now}"
        ),
        _ => format!(
            "The program must call madvise(MADV_HUGEPAGE): it probably maps this memory itself, and \
             no setting of malloc reaches that; {now}"
        ),
    }
}

/// Returns how to get unadvised memory advised. Settings that are already set are not recommended again.
pub(super) fn advice(space: &Space, mapping: &Mapping) -> String {
    let collapse = space.as_root("hugewise collapse");
    let now = format!("or now: {collapse} {}", space.process.pid);
    let owner = Owner::of(space, mapping);
    let told = variables(space);
    if is_of_others(owner, &told) && !GLIBC.is_set(&space.process) {
        let restart = format!("with {}", GLIBC.assignment());
        return own_advice(owner, &restart, &now);
    }
    let arenas = owner == Owner::Arena && told == [GLIBC];
    let (set, missing): (Vec<Variable>, Vec<Variable>) = variables(space)
        .into_iter()
        .partition(|variable| variable.is_set(&space.process));
    let listed = |all: &[Variable]| {
        let all: Vec<String> = all.iter().map(|one| one.assignment()).collect();
        all.join(" ")
    };
    match (&set[..], &missing[..]) {
        ([], []) => format!(
            "No setting makes this program's allocator advise its memory: the program must call \
             madvise(MADV_HUGEPAGE); {now}"
        ),
        ([], missing) if arenas => format!(
            "Restart it with {}: before glibc 2.43 with glibc.malloc.arena_max=1 as well, because \
             the heaps of threads were not advised; {now}",
            listed(missing)
        ),
        ([], missing) => format!(
            "Restart it with {}, which advises what the allocator maps; {now}",
            listed(missing)
        ),
        (set, []) if arenas => format!(
            "{} is set already: before glibc 2.43 it does not reach the heaps of threads, but \
             glibc.malloc.arena_max=1 as well makes them use the main heap; {now}",
            listed(set)
        ),
        (set, []) => format!(
            "{} is set already and does not reach this memory: the program must call \
             madvise(MADV_HUGEPAGE); {now}",
            listed(set)
        ),
        (set, missing) => format!(
            "Restart it with {} in addition to {}, which is set already; {now}",
            listed(missing),
            listed(set)
        ),
    }
}

/// Returns how memory that ends inside a huge page can be made to fill it, depending on the owner.
pub(super) fn whole_blocks(space: &Space, mapping: &Mapping) -> String {
    let huge = bytes_text(space.huge_bytes);
    let has_glibc = variables(space).contains(&GLIBC);
    let what = match Owner::of(space, mapping) {
        Owner::Heap if has_glibc => {
            return format!(
                "Let the heap grow in steps of {huge} or more (glibc.malloc.top_pad). Smaller folios \
             (mTHP, 6.8) fit as it is."
            );
        }
        Owner::Arena if has_glibc => {
            "Let threads use the main heap (glibc.malloc.arena_max=1).".to_owned()
        }
        Owner::Guarded => format!(
            "Keep inaccessible parts (PROT_NONE) out of aligned blocks of {huge}, or put them at the \
             ends of blocks."
        ),
        _ if is_v8(space) => {
            "Nothing in V8 maps its heap in larger pieces than 256 KiB.".to_owned()
        }
        _ => format!("Map or grow in aligned steps of {huge}, or reserve once and use piecewise."),
    };
    format!("{what} Smaller folios (mTHP, 6.8) fit as it is.")
}

/// Returns how to make a `brk` heap grow in whole huge pages.
pub(super) fn larger_steps(space: &Space) -> String {
    let huge = bytes_text(space.huge_bytes);
    let tunable = match GLIBC.is_set(&space.process) {
        true => "",
        false => ", glibc.malloc.hugetlb=1",
    };
    format!("let the heap grow in steps of {huge} or more (glibc.malloc.top_pad{tunable})")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::address_space::test_space::{mapping, space};
    use crate::address_space::{MappingKind, Permissions};

    fn advice_for(files: &[&str], environment: &[(&str, &str)]) -> String {
        let files = files.iter().zip(1..).map(|(name, place)| {
            let mut file = mapping(place << 30, (place << 30) + 4096, Vec::new());
            file.name = (*name).into();
            file
        });
        let mut space = space(files.collect());
        let pairs = environment.iter();
        let pairs = pairs.map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
        space.process.environment = pairs.collect();
        let heap = Mapping {
            kind: MappingKind::Heap,
            ..mapping(1 << 20, 9 << 20, Vec::new())
        };
        advice(&space, &heap)
    }

    #[test]
    fn a_setting_of_malloc_is_not_for_memory_of_the_program() {
        let mut library = mapping(1 << 40, (1 << 40) + 4096, Vec::new());
        library.name = LIBC.into();
        let own = mapping(1 << 30, (1 << 30) + (20 << 20), Vec::new());
        let other = mapping(2 << 30, (2 << 30) + (20 << 20) + 4096, Vec::new());
        let space = space(vec![own.clone(), other.clone(), library]);
        assert!(!advice(&space, &own).contains("GLIBC_TUNABLES"));
        let both = advice(&space, &other);
        assert!(both.contains("GLIBC_TUNABLES") && both.contains("madvise("));
    }

    #[test]
    fn top_pad_is_for_the_heap_of_glibc_alone() {
        let mut node = mapping(1 << 40, (1 << 40) + 4096, Vec::new());
        node.name = "/usr/bin/node".into();
        let mut library = node.clone();
        library.name = LIBC.into();
        let small = mapping(1 << 30, (1 << 30) + (256 << 10), Vec::new());
        let heap = Mapping {
            kind: MappingKind::Heap,
            ..small.clone()
        };
        let plain = space(vec![library.clone()]);
        assert!(whole_blocks(&plain, &heap).contains("top_pad"));
        assert!(!whole_blocks(&plain, &small).contains("top_pad"));
        let v8 = space(vec![node, library]);
        assert!(!whole_blocks(&v8, &heap).contains("top_pad"));
        let guard = Mapping {
            permissions: Permissions(*b"---p"),
            ..mapping(small.end, small.end + 4096, Vec::new())
        };
        let holes = space(vec![small.clone(), guard]);
        assert!(whole_blocks(&holes, &small).contains("PROT_NONE"));
    }

    const LIBC: &str = "/usr/lib/x86_64-linux-gnu/libc.so.6";
    const TUNABLE: (&str, &str) = (
        "GLIBC_TUNABLES",
        "glibc.malloc.arena_max=1:glibc.malloc.hugetlb=1",
    );

    #[test]
    fn each_runtime_has_its_own_setting() {
        let python = ["/usr/bin/python3.11", LIBC];
        let jemalloc = ["/usr/bin/redis-server", "/usr/lib/libjemalloc.so.2", LIBC];
        for (files, words) in [
            (&[LIBC][..], "with GLIBC_TUNABLES=glibc.malloc.hugetlb=1,"),
            (
                &python[..],
                "with PYTHONMALLOC=malloc GLIBC_TUNABLES=glibc.malloc.hugetlb=1,",
            ),
            (&jemalloc[..], "with MALLOC_CONF=thp:always,"),
            (
                &["/opt/jdk/lib/server/libjvm.so", LIBC][..],
                "with JAVA_TOOL_OPTIONS=-XX:+UseTransparentHugePages,",
            ),
            (&["/usr/bin/node", LIBC][..], "No setting"),
            (&["/usr/bin/a-static-program"][..], "No setting"),
        ] {
            let advice = advice_for(files, &[]);
            assert!(advice.contains(words), "{advice}");
            assert!(advice.ends_with("or now: hugewise collapse 4711"));
        }
    }

    #[test]
    fn what_is_set_is_not_recommended_again() {
        let python = ["/usr/lib/libpython3.11.so.1.0", LIBC];
        let both = [TUNABLE, ("PYTHONMALLOC", "malloc")];
        for (files, environment, words) in [
            (&[LIBC][..], &[TUNABLE][..], "hugetlb=1 is set already"),
            (
                &python[..],
                &[TUNABLE][..],
                "Restart it with PYTHONMALLOC=malloc in addition to GLIBC_TUNABLES",
            ),
            (
                &python[..],
                &both[..],
                "hugetlb=1 is set already and does not",
            ),
        ] {
            let advice = advice_for(files, environment);
            assert!(advice.contains(words), "{advice}");
        }
    }
}
