use proptest::prelude::{any, prop_assert, proptest};
use proptest::sample::select;

use super::*;
use crate::base::host::ThpDisable;
use crate::changed_host::Changed;
use crate::run::policy::parse::tests::any_settings;
use crate::run::policy::words::Word;
use crate::test_host::{host, pool};

mod surroundings;

const THP: &str = "/sys/kernel/mm/transparent_hugepage/";

/// The actions on one line: `prctl; file=value; VARIABLE=value`.
fn done(policy: &str, host: &Host, reach: Reach) -> Result<String, String> {
    let policy: Policy = policy.parse().unwrap_or_else(|error| panic!("{error}"));
    match realise(&policy, host, reach) {
        Ok(realisation) => Ok(line(&realisation)),
        Err(obstacles) => {
            assert!(!obstacles.is_empty());
            let all: Vec<String> = obstacles.iter().map(ToString::to_string).collect();
            Err(all.join("\n"))
        }
    }
}

fn line(realisation: &Realisation) -> String {
    let mut parts = vec![format!("{:?}", realisation.prctl)];
    parts.extend(realisation.collapse.map(|when| when.to_string()));
    parts.extend(realisation.text.map(|text| format!("text {}", text.word())));
    for FileWrite { path, value } in &realisation.files {
        let short = format!("/{path}").replace(THP, "");
        parts.push(format!("{short}={value}"));
    }
    for change in &realisation.environment {
        parts.push(match change {
            EnvChange::Set { name, value } => format!("{name}={value}"),
            EnvChange::Append {
                name,
                separator,
                value,
            } => format!("{name}+={separator}{value}"),
            EnvChange::Prepend {
                name,
                separator,
                value,
            } => format!("{name}={value}{separator}+"),
        });
    }
    parts.join("; ")
}

fn switched(enabled: &str, switch: ThpDisable) -> Host {
    host(enabled).with(|host| host.thp_disable = switch)
}

#[test]
fn never_and_madvise_take_the_least_invasive_means() {
    use Reach::{Process, System};
    #[rustfmt::skip]
    let rows = [
        ("as-is", host("always"), Process, "Leave"),
        ("thp=inherit", switched("always", ThpDisable::Disabled), Process, "Leave"),
        ("thp=never", host("always").unprivileged(), Process, "Disable"),
        ("thp=never", host("never").old(), System, "Disable"),
        ("thp=never", host("x").without_thp(), Process, "Leave"),
        ("thp=madvise", host("madvise").unprivileged(), Process, "Leave"),
        ("thp=madvise", switched("madvise", ThpDisable::Disabled), Process, "Clear"),
        ("thp=madvise", host("always").unprivileged(), Process, "ExceptAdvised"),
        ("thp=madvise", host("always"), System, "ExceptAdvised"),
        ("thp=madvise", host("always").old(), System, "Leave; enabled=madvise"),
        ("thp=madvise", host("never"), System, "Leave; enabled=madvise"),
        ("thp=madvise", host("never").size(2048, "madvise"), Process, "Leave"),
        ("thp=madvise", host("never").size(2048, "always"), Process, "ExceptAdvised"),
    ];
    assert_done(rows);
}

#[test]
fn always_takes_the_least_invasive_means() {
    use Reach::{Process, System};
    #[rustfmt::skip]
    let rows = [
        ("thp=always", host("always").unprivileged(), Process, "Leave"),
        ("thp=always", switched("always", ThpDisable::ExceptAdvised), Process, "Clear"),
        ("thp=always", host("madvise"), System, "Leave; enabled=always"),
        ("thp=always", host("madvise").size(2048, "always"), Process, "Leave"),
        ("thp=always", host("madvise").size(2048, "never"), System,
            "Leave; enabled=always; hugepages-2048kB/enabled=inherit"),
        ("thp=always", host("always").size(2048, "never"), System,
            "Leave; hugepages-2048kB/enabled=inherit"),
        ("thp=always", switched("never", ThpDisable::Disabled), System, "Clear; enabled=always"),
    ];
    assert_done(rows);
}

#[test]
fn the_means_of_always_come_in_order() {
    use Reach::{Process, System};
    let closed = || host("madvise").unprivileged();
    let preloaded = "Leave; LD_PRELOAD=/tmp/libhugewise.so:+; HUGEWISE_PRELOAD=huge:2097152";
    #[rustfmt::skip]
    let rows = [
        ("thp=always", closed().preloading(), Process, preloaded),
        ("thp=always", closed().preloading().traceable(), Process, "Leave"),
        ("thp=always", host("madvise").preloading(), System, "Leave; enabled=always"),
        ("thp=always", host("always").preloading(), Process, "Leave"),
        ("thp=always,means=preload", closed().preloading().traceable(), Process, preloaded),
        ("thp=always,means=tracer", host("madvise").traceable(), System, "Leave"),
        ("thp=always,means=setting", host("madvise").traceable(), System, "Leave; enabled=always"),
        ("preload=idle", closed().preloading(), Process,
            "Leave; LD_PRELOAD=/tmp/libhugewise.so:+; HUGEWISE_PRELOAD=idle:2097152"),
    ];
    assert_done(rows);
    let tracer = |policy: &str| {
        let host = closed().preloading().traceable();
        let realisation = realise(&policy.parse().unwrap(), &host, Process).unwrap();
        (realisation.tracer, realisation.library.is_some())
    };
    assert_eq!(tracer("thp=always"), (TreeTracer::Huge, false));
    assert_eq!(tracer("thp=always,means=preload"), (TreeTracer::None, true));
}

#[test]
fn a_means_that_cannot_be_had_is_refused() {
    let closed = || host("madvise").unprivileged();
    let rows = [
        ("thp=always,means=preload", closed(), "no library"),
        ("thp=always,means=tracer", closed(), "may not be traced"),
        (
            "thp=always,means=setting",
            closed().traceable(),
            "as root with --system",
        ),
        (
            "thp=always,means=tracer",
            host("never").traceable(),
            "no effect",
        ),
        (
            "thp=always,means=preload",
            host("always").preloading(),
            "no effect",
        ),
        ("means=tracer", closed().traceable(), "write thp=always too"),
        (
            "thp=always,preload=idle",
            closed().preloading(),
            "leave preload=idle out",
        ),
        ("preload=idle", closed(), "no library"),
        (
            "preload=idle,env.LD_PRELOAD=x",
            closed().preloading(),
            "before hugewise",
        ),
    ];
    for (policy, host, word) in rows {
        let error = done(policy, &host, Reach::Process).unwrap_err();
        assert!(error.contains(word), "{policy}: {error}");
    }
}

#[test]
fn memory_is_made_huge_later_wherever_it_may_be_traced() {
    use Reach::{Process, System};
    let user = |mode| host(mode).unprivileged().traceable();
    #[rustfmt::skip]
    assert_done([
        ("collapse=after:2s", user("never"), Process, "Leave; after:2s"),
        ("collapse=every:500ms", user("always"), Process, "Leave; every:500ms"),
        ("thp=madvise,collapse=after:2s", user("always"), Process, "ExceptAdvised; after:2s"),
        ("thp=always,collapse=after:2s", host("madvise").traceable(), System,
            "Leave; after:2s; enabled=always"),
        ("text=huge", user("never"), Process, "Leave; text huge"),
        ("text=huge,collapse=after:2s", user("never"), Process, "Leave; after:2s; text huge"),
    ]);
    let old = user("never").with(|host| host.can_collapse = false);
    let disabled = user("always").with(|host| host.thp_disable = ThpDisable::Disabled);
    #[rustfmt::skip]
    assert_refused([
        ("collapse=after:2s", old, Process, "Linux 6.1"),
        ("collapse=after:2s", host("never"), Process, "may not be traced"),
        ("collapse=after:2s", host("x").without_thp(), System, "no transparent huge pages"),
        ("collapse=after:2s", disabled, Process, "inherited PR_SET_THP_DISABLE"),
        ("thp=never,collapse=after:2s", user("always"), Process, "leave thp=never or collapse out"),
        ("thp=always,collapse=after:2s", user("madvise"), Process, "leave one of them out"),
        ("tracer=idle,collapse=after:2s", user("never"), Process, "leave one of them out"),
        ("text=huge", host("never"), Process, "may not be traced here, which text=huge needs"),
        ("thp=never,text=huge", user("always"), Process, "leave thp=never or text=huge out"),
        ("thp=always,text=huge", user("madvise"), Process, "which text=huge cannot join"),
    ]);
}

#[test]
fn code_of_files_needs_no_tracer() {
    use Reach::Process;
    let user = |mode| host(mode).unprivileged();
    #[rustfmt::skip]
    assert_done([
        ("text=file", user("never"), Process, "Leave; text file"),
        ("thp=always,text=file", user("madvise").traceable(), Process, "Leave; text file"),
        ("text=file,collapse=after:2s", user("never").traceable(), Process,
            "Leave; after:2s; text file"),
    ]);
    let except = user("always").with(|host| host.thp_disable = ThpDisable::ExceptAdvised);
    #[rustfmt::skip]
    assert_refused([
        ("thp=never,text=file", user("always"), Process, "leave thp=never or text=file out"),
        ("thp=madvise,text=file", user("always"), Process, "leave thp=madvise or text=file out"),
        ("text=file", except, Process, "inherited PR_SET_THP_DISABLE"),
        ("text=file", host("x").without_thp(), Process, "no huge pages"),
    ]);
    let policy: Policy = "text=file".parse().unwrap();
    let realised = realise(&policy, &user("never"), Process).unwrap();
    assert!(!realised.is_traced());
    assert_eq!(realised.means(), "the page cache");
}

#[test]
fn a_refusal_of_tracing_is_named_beside_root() {
    let said = done(
        "thp=always",
        &host("madvise").unprivileged(),
        Reach::Process,
    )
    .unwrap_err();
    assert!(
        said.contains("run as root with --system; or allow tracing"),
        "{said}"
    );
    assert!(said.contains("kernel.yama.ptrace_scope below 2"), "{said}");
    let said = done("thp=always", &host("never").unprivileged(), Reach::Process).unwrap_err();
    assert!(!said.contains("tracing"), "{said}");
}

fn assert_done<const N: usize>(rows: [(&str, Host, Reach, &str); N]) {
    for (policy, host, reach, expected) in rows {
        assert_eq!(
            done(policy, &host, reach).as_deref(),
            Ok(expected),
            "{policy}"
        );
    }
}

#[test]
fn files_are_written_only_where_they_differ() {
    let rows = [
        (
            "defrag=madvise,zero_page=1,khugepaged.max_ptes_none=511",
            "Leave",
        ),
        (
            "defrag=never,zero_page=0,khugepaged.max_ptes_none=0",
            "Leave; defrag=never; use_zero_page=0; khugepaged/max_ptes_none=0",
        ),
        ("mthp=64K:never+2M:inherit", "Leave"),
        (
            "mthp=64K:always+1M:madvise",
            "Leave; hugepages-64kB/enabled=always; hugepages-1024kB/enabled=madvise",
        ),
        (
            "thp=madvise,mthp=64K:always",
            "Leave; enabled=madvise; hugepages-64kB/enabled=always",
        ),
        ("thp=never,mthp=64K:never", "Disable"),
    ];
    for (policy, expected) in rows {
        let done = done(policy, &host("always"), Reach::System);
        assert_eq!(done.as_deref(), Ok(expected), "{policy}");
    }
}

#[test]
fn allocators_come_through_the_environment() {
    let thp = "Leave; GLIBC_TUNABLES+=:glibc.malloc.hugetlb=1";
    let hugetlb = "Leave; GLIBC_TUNABLES+=:glibc.malloc.hugetlb=2";
    let by_chance = "Leave; GLIBC_TUNABLES+=:glibc.malloc.hugetlb=1; LD_BIND_NOW=1";
    let own = format!("{thp}; LD_BIND_NOW=");
    let old_glibc = host("madvise").with(|host| host.glibc = Some((2, 36)));
    let new_glibc = host("always").with(|host| host.glibc = Some((2, 43)));
    let pooled = host("never").with(|host| {
        host.hugetlb.insert(2 << 20, pool(4, 0));
    });
    let overcommitted = host("never").with(|host| {
        host.boot_line = "default_hugepagesz=1G".into();
        host.hugetlb.insert(1 << 30, pool(0, 4));
    });
    let rows = [
        ("malloc=default", host("always"), "Leave"),
        ("malloc=thp", host("madvise").unprivileged(), thp),
        ("malloc=thp", new_glibc, thp),
        ("malloc=thp", old_glibc.clone(), by_chance),
        ("malloc=thp,env.LD_BIND_NOW=", old_glibc, &own),
        ("malloc=hugetlb", pooled, hugetlb),
        ("malloc=hugetlb", overcommitted, hugetlb),
        (
            "malloc=jemalloc,env.A=1",
            host("always"),
            "Leave; LD_PRELOAD+=:/usr/lib/libjemalloc.so.2; A=1",
        ),
        (
            "env.GLIBC_TUNABLES=x",
            host("never"),
            "Leave; GLIBC_TUNABLES=x",
        ),
    ];
    for (policy, host, expected) in rows {
        let done = done(policy, &host, Reach::Process);
        assert_eq!(done.as_deref(), Ok(expected), "{policy}");
    }
}

#[test]
fn the_file_is_written_where_glibc_reads_it() {
    let policy = "thp=madvise,malloc=thp";
    let expected = "Leave; enabled=madvise; GLIBC_TUNABLES+=:glibc.malloc.hugetlb=1";
    assert_eq!(
        done(policy, &host("always"), Reach::System).as_deref(),
        Ok(expected)
    );
    let refused = done(policy, &host("always"), Reach::Process).unwrap_err();
    assert!(refused.contains("run with --system"), "{refused}");
    assert!(
        !refused.contains("glibc"),
        "one cause, one obstacle: {refused}"
    );
    let new = host("always").with(|host| host.glibc = Some((2, 43)));
    let by_switch = "ExceptAdvised; GLIBC_TUNABLES+=:glibc.malloc.hugetlb=1";
    assert_eq!(done(policy, &new, Reach::Process).as_deref(), Ok(by_switch));
}

#[test]
fn the_library_that_must_be_mapped_is_named() {
    let policy: Policy = "malloc=jemalloc".parse().unwrap();
    let realisation = realise(&policy, &host("never"), Reach::Process).unwrap();
    assert_eq!(
        realisation.preload.as_deref(),
        Some("/usr/lib/libjemalloc.so.2")
    );
}

#[test]
fn what_cannot_be_is_refused_with_a_remedy() {
    use Reach::{Process, System};
    let disabled = || switched("always", ThpDisable::Disabled);
    let contained = host("madvise").with(|host| host.user.can_write_thp = false);
    #[rustfmt::skip]
    let rows = [
        ("thp=always", host("madvise"), Process, "run with --system"),
        ("thp=always", host("madvise").unprivileged(), Process, "run as root with --system"),
        ("thp=always", host("madvise").unprivileged(), System, "run as root, outside"),
        ("thp=always", contained, System, "even by root"),
        ("thp=madvise", host("never"), Process, "reads `never` and must read `madvise`"),
        ("thp=madvise", host("always").old(), Process, "--system"),
        ("thp=always", host("x").without_thp(), System, "no transparent huge pages"),
        ("malloc=thp", host("x").without_thp(), System, "no transparent huge pages"),
        ("mthp=128K:always", host("never"), System, "sizes here are 64K, 1M, 2M"),
        ("mthp=128K:always", host("never").old(), System, "Linux 6.8"),
        ("khugepaged.nonsense=1", host("never"), System, "defrag or max_ptes_none"),
        ("thp=never,mthp=64K:always", host("never"), System, "every size"),
        ("thp=always,mthp=2M:never", host("never"), System, "same pages"),
        ("mthp=64K:always", disabled(), System, "inherited PR_SET_THP_DISABLE"),
    ];
    assert_refused(rows);
}

#[test]
fn allocators_that_cannot_act_are_refused() {
    use Reach::{Process, System};
    let disabled = || switched("always", ThpDisable::Disabled);
    #[rustfmt::skip]
    let rows = [
        ("malloc=thp", disabled().with(|host| host.glibc = Some((2, 43))), System, "inherited"),
        ("malloc=thp", host("always"), Process, "only while /sys"),
        ("malloc=thp", host("madvise").old(), Process, "glibc 2.31"),
        ("malloc=thp", host("madvise").with(|host| host.glibc = None), Process, "do not use glibc"),
        ("malloc=thp", host("madvise").size(2048, "never"), Process, "no huge page to advised"),
        ("malloc=thp,thp=always", host("madvise"), System, "leave malloc=thp out"),
        ("malloc=hugetlb", host("never"), Process, "add hugetlb=2M:N"),
        ("malloc=tcmalloc", host("never"), Process, "libtcmalloc-minimal4"),
        ("malloc=mimalloc", host("never"), Process, "libmimalloc2.0"),
        ("malloc=jemalloc,env.LD_PRELOAD=x", host("never"), Process, "both decide LD_PRELOAD"),
        ("malloc=thp,env.GLIBC_TUNABLES=x", host("madvise"), Process, "both decide GLIBC_TUNABLES"),
    ];
    assert_refused(rows);
}

fn assert_refused<const N: usize>(rows: [(&str, Host, Reach, &str); N]) {
    for (policy, host, reach, word) in rows {
        let refused = done(policy, &host, reach).expect_err(policy);
        assert!(refused.contains(word), "{policy}: {refused}");
    }
}

#[test]
fn all_obstacles_are_told_at_once() {
    let policy = "defrag=always,mthp=128K:always,khugepaged.x=1,malloc=mimalloc";
    let refused = done(policy, &host("never").unprivileged(), Reach::Process).unwrap_err();
    assert_eq!(refused.lines().count(), 4, "{refused}");
}

proptest! {
    #[test]
    fn the_machine_is_written_only_when_it_may_be(
        settings in any_settings(),
        enabled in select(vec!["always", "madvise", "never"]),
        system: bool,
        old: bool,
        glibc in (2_u32..3, 30_u32..50),
        size in select(vec![64_u64, 2048]),
        mode in select(vec!["always", "inherit", "madvise", "never"]),
        can_write in any::<bool>(),
    ) {
        let host = host(enabled).size(size, mode);
        let host = if old { host.old() } else { host };
        let host = host.with(|host| {
            host.glibc = Some(glibc);
            host.user.can_write_thp = can_write;
        });
        let policy = Policy::of(settings);
        let reach = if system { Reach::System } else { Reach::Process };
        match realise(&policy, &host, reach) {
            Ok(realisation) => {
                prop_assert!((system && can_write) || realisation.files.is_empty());
                let paths: Vec<&String> = realisation.files.iter().map(|it| &it.path).collect();
                let again = realise(&policy, &host.with(|host| host.user.can_write_thp = true), Reach::System);
                prop_assert!(again.is_ok(), "more rights, no less reach");
                prop_assert!(paths.iter().all(|path| paths.iter().filter(|it| it == &path).count() == 1));
            }
            Err(obstacles) => prop_assert!(obstacles.iter().all(|it| !it.remedy.is_empty())),
        }
    }
}

#[test]
fn arguments_are_of_the_program_alone() {
    let policy: Policy = "args=-L -v".parse().unwrap();
    let reached = realise(&policy, &host("always").unprivileged(), Reach::Process).unwrap();
    assert_eq!(reached.arguments, ["-L", "-v"]);
    assert!(!reached.is_of_machine());
    assert_eq!(reached.means(), "its arguments");
}
