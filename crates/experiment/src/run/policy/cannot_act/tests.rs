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
    let program = ObservedProgram {
        tree: &tree(libraries),
        executable: Some(executable),
        preloaded: None,
        huge_page_bytes: Some(2 << 20),
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
        /bin/x allocates with libjemalloc.so.2, not with glibc's malloc; its own setting is --policy jemalloc.thp=always
        /bin/x has its own malloc linked in, not glibc's malloc
        /bin/x is statically linked, and nothing is preloaded into it; link it with the allocator
        /bin/x has its own malloc linked in, which takes precedence over a preloaded one
        /bin/x is no JVM: it maps no libjvm.so
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
        let program = ObservedProgram {
            tree: &tree(libraries),
            executable: Some(executable),
            preloaded: None,
            huge_page_bytes: Some(2 << 20),
        };
        not_preloaded(&expected, &program) + "\n"
    };
    expect![[r#"
        /bin/x is statically linked, and nothing is preloaded into it; a tracer (where ptrace is allowed) or root with --system reaches it
        /bin/x did not map the preloaded library, as a set-user-ID program never does; a tracer (where ptrace is allowed) or root with --system reaches it
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
    let unread = ObservedProgram {
        tree: &tree,
        executable: None,
        preloaded: None,
        huge_page_bytes: Some(2 << 20),
    };
    assert_eq!(cannot_act(&settings, &unread), None);
    tree.anon_bytes = 100;
    tree.largest.anon_bytes = 50;
    let several = ObservedProgram {
        tree: &tree,
        executable: Some(&Executable::default()),
        preloaded: None,
        huge_page_bytes: Some(2 << 20),
    };
    assert_eq!(cannot_act(&settings, &several), None);
}

#[test]
fn the_allocator_of_another_policy_is_not_the_programs_own() {
    let settings: Settings = "malloc=thp".parse().expect("a good policy");
    let program = ObservedProgram {
        tree: &tree(&[LIBC, "/lib/libjemalloc.so.2"]),
        executable: Some(&dynamic()),
        preloaded: Some("/lib/libjemalloc.so.2"),
        huge_page_bytes: Some(2 << 20),
    };
    assert_eq!(cannot_act(&settings, &program), None);
}

#[test]
fn small_code_of_a_static_program_has_no_room_for_a_huge_page() {
    let code = |code_bytes, base: Executable| Executable { code_bytes, ..base };
    let small = why("text=huge", &[], &code(700 << 10, Executable::default()));
    let small = small.expect("a reason");
    assert_eq!(
        small,
        "/bin/x has 700 KiB of code, into which no huge page of 2 MiB fits"
    );
    let large = code(8 << 20, Executable::default());
    assert_eq!(why("text=huge", &[], &large), None);
    // Its libraries may have more.
    assert_eq!(why("text=huge", &[LIBC], &code(700 << 10, dynamic())), None);
    assert_eq!(
        why(
            "text=huge,collapse=after:1s",
            &[],
            &code(1, Executable::default())
        ),
        None
    );
}

#[test]
fn the_loader_takes_aligned_segments_only() {
    const HUGE: u64 = 2 << 20;
    let file = |holds_elf_thp, segments: &[(u64, u64)]| Executable {
        holds_tunables: true,
        holds_elf_thp,
        read_only: segments
            .iter()
            .map(|&(alignment, bytes)| ReadOnly { alignment, bytes })
            .collect(),
        ..Executable::default()
    };
    let why = |file: &Executable| why("glibc.elf.thp=1", &[], file);
    let old = why(&file(false, &[(HUGE, HUGE)])).expect("a reason");
    assert!(old.contains("has no glibc.elf.thp"), "{old}");
    let small = why(&file(true, &[(4096, 8 * HUGE), (HUGE, 4096)])).expect("a reason");
    assert!(small.ends_with("-z max-page-size=2097152"), "{small}");
    assert_eq!(why(&file(true, &[(4096, 1), (2 * HUGE, HUGE)])), None);
    let (go, dynamic) = (Executable::default(), dynamic());
    assert!(why(&go).is_some_and(|it| it.contains("no glibc malloc")));
    assert_eq!(why(&dynamic), None, "its libraries may be aligned");
}

#[test]
fn a_file_tells_before_it_runs() {
    let go = Executable {
        is_go: true,
        ..Executable::default()
    };
    let why = |file: &Executable, policy: &str| {
        let settings: Settings = policy.parse().expect("a good policy");
        file.cannot_obey(&settings, "/bin/x")
    };
    let said = why(&go, "malloc=thp").expect("Go has no malloc");
    assert!(said.starts_with("/bin/x is a Go program"), "{said}");
    assert_eq!(why(&dynamic(), "malloc=thp"), None);
    assert_eq!(why(&go, "thp=always,malloc=thp"), None, "one of them acts");
    assert_eq!(why(&go, "go.GODEBUG=x"), None);
}

/// An executable whose file shows that it starts a JVM.
fn java() -> Executable {
    Executable {
        starts_jvm: true,
        ..dynamic()
    }
}

/// An executable that contains the name of jemalloc.
fn jemalloc() -> Executable {
    Executable {
        names_jemalloc: true,
        ..dynamic()
    }
}

#[test]
fn what_a_runtime_is_told_is_foreseen_from_what_a_file_names() {
    let why = |file: &Executable, policy: &str| {
        let settings: Settings = policy.parse().expect("a good policy");
        file.foresee(&settings, "/bin/x")
    };
    let said = why(&dynamic(), "java.UseLargePages=on").expect("no JVM");
    assert!(said.starts_with("/bin/x is no JVM"), "{said}");
    assert_eq!(why(&java(), "java.UseLargePages=on"), None);
    assert!(why(&dynamic(), "jemalloc.thp=always").is_some());
    assert_eq!(why(&jemalloc(), "jemalloc.thp=always"), None);
    assert_eq!(why(&dynamic(), "go.GODEBUG=x"), None);
}

#[test]
fn who_makes_the_heap_is_known_by_the_file() {
    let heaps = [dynamic(), java(), jemalloc()].map(|it| it.heap());
    assert_eq!(heaps, [Heap::Glibc, Heap::Jvm, Heap::Jemalloc]);
}

#[test]
fn jemalloc_is_told_only_where_it_is() {
    assert!(why("jemalloc.thp=always", &[LIBC], &dynamic()).is_some());
    assert_eq!(
        why(
            "jemalloc.thp=always",
            &[LIBC, "/lib/libjemalloc.so.2"],
            &dynamic()
        ),
        None
    );
}

/// `/usr/bin/redis-server` is a link to `redis-check-rdb`.
#[test]
fn a_program_behind_a_link_is_called_as_it_was_typed() {
    let mut tree = tree(&[LIBC, "/lib/libjemalloc.so.2"]);
    tree.largest.name = "redis-server".to_owned();
    tree.largest.program = "/usr/bin/redis-check-rdb".to_owned();
    let program = ObservedProgram {
        tree: &tree,
        executable: Some(&dynamic()),
        preloaded: None,
        huge_page_bytes: None,
    };
    let settings = "malloc=thp".parse().expect("a good policy");
    let why = cannot_act(&settings, &program).expect("jemalloc");
    assert!(why.starts_with("redis-server allocates with"), "{why}");
}
