use proptest::collection::{btree_map, vec};
use proptest::option;
use proptest::prelude::{Strategy, any, prop_assert, prop_assert_eq, proptest};
use proptest::sample::select;

use super::*;
use crate::run::policy::keys::KEYS;
use crate::run::policy::words::Word;
use crate::run::policy::{Runtime, SizeMode, Thp};

fn parsed(text: &str) -> Policy {
    text.parse().unwrap_or_else(|error| panic!("{error}"))
}

fn fault(text: &str) -> String {
    match text.parse::<Policy>() {
        Ok(policy) => panic!("{text} was taken as {policy:?}"),
        Err(error) => error.to_string(),
    }
}

#[test]
fn every_key_has_its_place() {
    let text = "all:thp=always,defrag=defer+madvise,mthp=64k:always+2m:inherit,zero_page=0,\
                khugepaged.max_ptes_none=0,malloc=thp,env.A=b=c";
    let Policy { name, settings } = parsed(text);
    assert_eq!(name, "all");
    assert_eq!(settings.thp, Some(Thp::Always));
    assert_eq!(settings.mthp[&64], SizeMode::Always);
    assert_eq!(settings.mthp[&2048], SizeMode::Inherit);
    assert_eq!(settings.khugepaged["max_ptes_none"], 0);
    assert_eq!(settings.env["A"], "b=c");
    assert_eq!(
        settings.to_string(),
        "thp=always,defrag=defer+madvise,mthp=64K:always+2M:inherit,zero_page=0,\
         khugepaged.max_ptes_none=0,malloc=thp,env.A=b=c"
    );
}

#[test]
fn the_empty_policy_has_a_word() {
    assert_eq!(parsed("as-is"), Policy::as_is());
    assert_eq!(parsed("base:as-is").name, "base");
    assert_eq!(parsed("base:as-is").settings, Settings::default());
    assert_eq!(Policy::as_is().to_string(), "as-is");
}

#[test]
fn values_of_variables_hold_commas_and_colons() {
    let policy = parsed("env.OPTS=a:1,b:2,thp=never,env.B=,");
    assert_eq!(policy.settings.env["OPTS"], "a:1,b:2");
    assert_eq!(policy.settings.env["B"], ",");
    assert_eq!(policy.settings.thp, Some(Thp::Never));
    let named = parsed("t:env.GLIBC_TUNABLES=glibc.malloc.hugetlb=1:glibc.a.b=2");
    assert_eq!(named.name, "t");
}

#[test]
fn arguments_are_split_as_a_shell_does_and_hold_commas() {
    let args = |text: &str| parsed(text).settings.args;
    assert_eq!(args("args=-L"), ["-L"]);
    assert_eq!(args("args=-o 'a b',c -L"), ["-o", "a b,c", "-L"]);
    let both = parsed("thp=madvise,args=-o x=1,y -v,env.A=b");
    assert_eq!(both.settings.args, ["-o", "x=1,y", "-v"]);
    assert_eq!(both.settings.env["A"], "b");
    assert_eq!(both.name, "thp=madvise,args=-o x=1,y -v,env.A=b");
    assert_eq!(parsed(r#"args="it's"  -L "#).name, r"args='it'\''s' -L");
}

#[test]
fn faults_say_what_was_expected() {
    for (text, word) in [
        ("args=", "expected arguments, as in args=-L"),
        ("args='-L", "a quote is not closed"),
        ("args='a\nb'", "control characters"),
        ("args=-L,args=-v", "`args` is set twice"),
        ("", "a policy is KEY=VALUE"),
        ("x:", "a policy is KEY=VALUE"),
        (":thp=never", "name before `:` is empty"),
        ("a\u{7}b:thp=never", "control characters"),
        ("as-is:thp=never", "sets nothing"),
        ("always", "did you mean `thp=always`"),
        ("thp", "write thp=never|madvise|always|inherit"),
        ("malloc", "write malloc=default|thp|"),
        ("khugepaged.defrag", "write khugepaged.defrag="),
        ("jemalloc", "did you mean `malloc=jemalloc`"),
        (
            "thp=alway",
            "never, madvise, always or inherit; did you mean `always`",
        ),
        ("thp=never:x", "expected never"),
        ("thp=never,defrg=never", "unknown key `defrg`"),
        ("defrg=never", "did you mean `defrag`"),
        ("khugpaged.x=1", "did you mean `khugepaged.FILE`"),
        ("khugepaged.../x=1", "write khugepaged.FILE="),
        ("khugepaged.pages_to_scan=-1", "whole number"),
        ("thp=never,thp=always", "`thp` is set twice"),
        ("env.A=1,env.A=2", "`env.A` is set twice"),
        ("mthp=64k:always,mthp=32k:always", "`mthp` is set twice"),
        ("collapse=2s", "expected after:TIME or every:TIME"),
        (
            "collapse=after:1s,collapse=every:1s",
            "`collapse` is set twice",
        ),
        ("mthp=64k:always+65536:never", "is set twice"),
        ("mthp=", "SIZE:MODE"),
        ("mthp=48k:always", "power of two"),
        ("mthp=64:always", "power of two"),
        ("mthp=64k:alwys", "did you mean `always`"),
        ("zero_page=yes", "expected 0 or 1"),
        ("env.1=x", "write env.NAME="),
        (
            "shmem=on",
            "always, within_size, advise, never, deny or force",
        ),
        ("mthp_shmem=64K", "as in mthp_shmem=64K:always"),
        ("hugetlb=512", "as in hugetlb=2M:512"),
        ("hugetlb=2M:many", "whole number"),
        ("hugetlb=2M:1+2048K:2", "is set twice"),
        ("memory-max=64", "as in memory-max=512M"),
        ("memory-max=64K", "whole MiB"),
        ("memory_max=64M", "did you mean `memory-max`"),
        ("numa=bind", "as in numa=bind:0+1"),
        ("thp=never,", "a policy is KEY=VALUE"),
    ] {
        let said = fault(text);
        assert!(said.contains(word), "{text}: {said}");
        let named = format!("`{text}`: ");
        assert!(said.starts_with(&named), "{said}");
        assert_eq!(said.matches(&named).count(), 1, "{said}");
    }
}

fn word<W: Word + fmt::Debug>() -> impl Strategy<Value = W> {
    select(W::VARIANTS)
}

/// Settings of pools, shared memory, limits and nodes.
fn surroundings() -> impl Strategy<Value = Settings> {
    let size = || (0_u32..22).prop_map(|shift| 1_u64 << shift);
    let limit = || option::of((1_u64..1 << 20).prop_map(|mib| mib << 20));
    let numa = select(vec![
        "local",
        "prefer:1",
        "bind:0+2",
        "interleave",
        "interleave:0",
    ]);
    (
        btree_map(size(), word(), 0..3),
        btree_map(size(), any::<u64>(), 0..3),
        limit(),
        limit(),
        option::of(numa),
    )
        .prop_map(|(mthp_shmem, hugetlb, memory_max, memory_high, numa)| {
            let mut settings = Settings {
                mthp_shmem,
                hugetlb,
                memory_max,
                memory_high,
                ..Settings::default()
            };
            if let Some(numa) = numa {
                settings.set("numa", numa).expect("a policy of memory");
            }
            settings
        })
}

/// Settings of all kinds, sensible or not.
pub(in crate::run::policy) fn any_settings() -> impl Strategy<Value = Settings> {
    let size = || (0_u32..22).prop_map(|shift| 1_u64 << shift);
    // A comma before a key cannot be typed inside a value, so it is not generated.
    let value = "[ -+.-~\u{e4}]{0,6}(,[ -+.-<>-~]{0,4})?";
    let words: Vec<(&str, String)> = KEYS
        .iter()
        .filter(|key| key.values().contains('|') && !key.values().contains(':'))
        .flat_map(|key| {
            key.values()
                .split('|')
                .map(|word| (key.name, word.to_owned()))
                .collect::<Vec<_>>()
        })
        .chain(["after:2s", "every:250ms"].map(|value| ("collapse", value.to_owned())))
        .chain([("text", "huge".to_owned())])
        .chain(["a.bin:huge", "/a:b/*.c:small"].map(|value| ("file", value.to_owned())))
        .chain(["/dev/shm:advise", "/a:b c:within_size"].map(|value| ("tmpfs", value.to_owned())))
        .chain(["mapping:1-64m+heap", "site:none"].map(|value| ("sites", value.to_owned())))
        .collect();
    (
        vec(select(words), 0..4),
        btree_map(size(), word(), 0..3),
        btree_map("[a-z_][a-z0-9_]{0,9}", any::<u64>(), 0..3),
        btree_map(
            word::<Runtime>(),
            btree_map("[A-Za-z_.-]{1,5}", "[0-9]{1,4}", 1..3),
            0..3,
        ),
        btree_map("[A-Za-z_][A-Za-z0-9_]{0,5}", value, 0..3),
        vec(value, 0..3),
        surroundings(),
    )
        .prop_map(
            |(words, mthp, khugepaged, runtimes, env, args, surroundings)| {
                let env = env.into_iter();
                let mut settings = Settings {
                    mthp,
                    khugepaged,
                    runtimes,
                    args,
                    env: env
                        .map(|(name, value)| (name, value.trim().to_owned()))
                        .collect(),
                    ..surroundings
                };
                for (key, word) in words {
                    // A repeated key keeps its last value: the error covers only this.
                    let _ = settings.set(key, &word);
                }
                settings
            },
        )
}

proptest! {
    #[test]
    fn what_is_displayed_is_parsed_back(
        settings in any_settings(),
        name in option::of("[a-z][a-z 0-9-]{0,8}[a-z0-9]"),
    ) {
        let name = name.filter(|name| name != AS_IS).unwrap_or_else(|| settings.to_string());
        let policy = Policy { name, settings };
        let again: Policy = policy.to_string().parse().unwrap();
        prop_assert_eq!(again, policy);
    }

    #[test]
    fn any_text_is_a_policy_or_an_error(text in "\\PC{0,40}|(thp|mthp|args|env\\.A|:|=|,|\\+|64k|as-is|never){0,9}") {
        match text.parse::<Policy>() {
            Ok(policy) => prop_assert_eq!(policy.to_string().parse::<Policy>().unwrap(), policy),
            Err(error) => prop_assert!(!error.problem.is_empty()),
        }
    }
}
