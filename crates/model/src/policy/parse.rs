//! Policies from text and back: `[NAME:]KEY=VALUE[,KEY=VALUE…]`.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::fmt;
use std::str::FromStr;

use super::nearest::suggestion;
use super::runtime::{Runtime, key};
use super::words::Word;
use super::{Malloc, Policy, Settings, SizeMode, Thp};
use crate::quantity::{GIB, KIB, MIB, parse_size};

/// The name and the text of the policy that sets nothing.
const AS_IS: &str = "as-is";

/// The keys, as they are offered; those with a dot take a name.
const KEYS: [&str; 15] = [
    "thp",
    "defrag",
    "mthp",
    "zero_page",
    "khugepaged.FILE",
    "malloc",
    "java.NAME",
    "go.NAME",
    "jemalloc.NAME",
    "mimalloc.NAME",
    "tcmalloc.NAME",
    "glibc.NAME",
    "postgres.NAME",
    "redis.NAME",
    "env.NAME",
];

/// Why a text is no policy.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{text}`: {problem}")]
pub struct ParseError {
    /// What was typed.
    pub text: String,
    /// What is wrong with it and what was expected.
    pub problem: String,
}

impl ParseError {
    /// What is wrong with a text. A problem of its only part names that part, which is the
    /// text again: that is said once.
    pub(super) fn new(text: &str, problem: impl Into<String>) -> Self {
        let problem = problem.into();
        let named = format!("`{}`: ", text.trim());
        Self {
            text: text.to_owned(),
            problem: match problem.strip_prefix(&named) {
                Some(rest) => rest.to_owned(),
                None => problem,
            },
        }
    }
}

impl FromStr for Policy {
    type Err = ParseError;

    fn from_str(text: &str) -> Result<Self, ParseError> {
        let fault = |problem: String| ParseError::new(text, problem);
        let (name, rest) = split_name(text.trim_start());
        let settings: Settings = parse_settings(rest).map_err(fault)?;
        let name = match name {
            Some(name) => check_name(name, &settings).map_err(fault)?,
            None => settings.to_string(),
        };
        Ok(Self { name, settings })
    }
}

impl fmt::Display for Policy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let canonical = self.settings.to_string();
        if self.name != canonical {
            write!(f, "{}:", self.name)?;
        }
        f.write_str(&canonical)
    }
}

impl FromStr for Settings {
    type Err = ParseError;

    fn from_str(text: &str) -> Result<Self, ParseError> {
        parse_settings(text.trim_start()).map_err(|problem| ParseError::new(text, problem))
    }
}

impl fmt::Display for Settings {
    /// The canonical text: keys in the order of the fields, `as-is` when there are none.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let pairs = self.pairs();
        if pairs.is_empty() {
            return f.write_str(AS_IS);
        }
        f.write_str(&pairs.join(","))
    }
}

impl Settings {
    /// `KEY=VALUE` for each thing set, in canonical order.
    fn pairs(&self) -> Vec<String> {
        let mut pairs = Vec::new();
        pairs.extend(self.thp.map(|it| format!("thp={}", it.word())));
        pairs.extend(self.defrag.map(|it| format!("defrag={}", it.word())));
        if !self.mthp.is_empty() {
            pairs.push(format!("mthp={}", mthp_text(&self.mthp)));
        }
        pairs.extend(self.zero_page.map(|it| format!("zero_page={}", it.word())));
        pairs.extend(
            self.khugepaged
                .iter()
                .map(|(file, number)| format!("khugepaged.{file}={number}")),
        );
        pairs.extend(self.malloc.map(|it| format!("malloc={}", it.word())));
        pairs.extend(
            self.runtime_settings()
                .map(|(runtime, name, value)| format!("{}={value}", key(runtime, name))),
        );
        pairs.extend(
            self.env
                .iter()
                .map(|(name, value)| format!("env.{name}={value}")),
        );
        pairs
    }
}

/// The part before the first `:` is a name if it holds no `=`.
fn split_name(text: &str) -> (Option<&str>, &str) {
    match text.split_once(':') {
        Some((name, rest)) if !name.contains('=') => (Some(name), rest),
        _ => (None, text),
    }
}

fn check_name(name: &str, settings: &Settings) -> Result<String, String> {
    let name = name.trim();
    if name.is_empty() {
        return Err("the name before `:` is empty; write NAME:KEY=VALUE".to_owned());
    }
    if name.chars().any(char::is_control) {
        return Err("a name is printed, so it may not hold control characters".to_owned());
    }
    if name == AS_IS && *settings != Settings::default() {
        return Err("`as-is` is the name of the policy that sets nothing".to_owned());
    }
    Ok(name.to_owned())
}

fn parse_settings(text: &str) -> Result<Settings, String> {
    let mut settings = Settings::default();
    if text == AS_IS {
        return Ok(settings);
    }
    let mut rest = Some(text);
    while let Some(pairs) = rest {
        let (pair, after) = split_pair(pairs);
        set_pair(&mut settings, pair)?;
        rest = after;
    }
    Ok(settings)
}

/// The first `KEY=VALUE` and what follows its comma. In the value of a variable a comma
/// separates only where another key follows, so that values may hold commas.
fn split_pair(text: &str) -> (&str, Option<&str>) {
    let lenient = text.starts_with("env.");
    let comma = text
        .match_indices(',')
        .map(|(at, _)| at)
        .find(|&at| !lenient || begins_with_key(&text[at + 1..]));
    match comma {
        Some(at) => (&text[..at], Some(&text[at + 1..])),
        None => (text, None),
    }
}

fn begins_with_key(text: &str) -> bool {
    text.split_once('=').is_some_and(|(key, _)| is_key(key))
}

fn is_key(key: &str) -> bool {
    match key.split_once('.') {
        Some(("env", name)) => is_variable(name),
        Some(("khugepaged", file)) => is_file_name(file),
        Some(_) => Runtime::of_key(key).is_some(),
        None => KEYS.contains(&key),
    }
}

fn is_variable(name: &str) -> bool {
    !name.starts_with(|c: char| c.is_ascii_digit()) && is_identifier(name)
}

fn is_file_name(name: &str) -> bool {
    is_identifier(name) && !name.contains(|c: char| c.is_ascii_uppercase())
}

fn is_identifier(name: &str) -> bool {
    !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
}

fn set_pair(settings: &mut Settings, pair: &str) -> Result<(), String> {
    let (key, value) = pair
        .split_once('=')
        .ok_or_else(|| not_a_pair(pair.trim()))?;
    match key {
        "thp" => set_once(&mut settings.thp, key, parse_word(key, value)?),
        "defrag" => set_once(&mut settings.defrag, key, parse_word(key, value)?),
        "zero_page" => set_once(&mut settings.zero_page, key, parse_word(key, value)?),
        "malloc" => set_once(&mut settings.malloc, key, parse_word(key, value)?),
        "mthp" if settings.mthp.is_empty() => {
            settings.mthp = parse_mthp(value)?;
            Ok(())
        }
        "mthp" => Err(twice(key)),
        _ => set_named(settings, key, value),
    }
}

/// The keys that carry a name: `khugepaged.FILE`, `env.NAME` and those of runtimes.
fn set_named(settings: &mut Settings, key: &str, value: &str) -> Result<(), String> {
    if let Some((runtime, name)) = Runtime::of_key(key) {
        let value = runtime.check(key, value)?;
        let named = settings.runtimes.entry(runtime).or_default();
        return insert_once(named, key, name.to_owned(), value);
    }
    match key.split_once('.') {
        Some(("khugepaged", file)) if is_file_name(file) => {
            let number = parse_number(key, value)?;
            insert_once(&mut settings.khugepaged, key, file.to_owned(), number)
        }
        Some(("env", name)) if is_variable(name) => {
            if value.contains('\0') {
                return Err(format!("`{key}`: a value may not hold a NUL"));
            }
            insert_once(&mut settings.env, key, name.to_owned(), value.to_owned())
        }
        Some(("env", _)) => Err(format!(
            "`{key}` does not name a variable; write env.NAME=VALUE"
        )),
        _ => Err(unknown_key(key)),
    }
}

fn set_once<T>(place: &mut Option<T>, key: &str, value: T) -> Result<(), String> {
    match place.replace(value) {
        None => Ok(()),
        Some(_) => Err(twice(key)),
    }
}

fn insert_once<K: Ord, V>(
    map: &mut BTreeMap<K, V>,
    what: &str,
    key: K,
    value: V,
) -> Result<(), String> {
    match map.entry(key) {
        Entry::Vacant(place) => {
            place.insert(value);
            Ok(())
        }
        Entry::Occupied(_) => Err(twice(what)),
    }
}

fn parse_word<W: Word>(key: &str, value: &str) -> Result<W, String> {
    W::from_word(value).ok_or_else(|| {
        let words = W::words();
        let near = suggestion(value, words.iter().copied());
        format!("`{key}={value}`: expected {}{near}", one_of(&words))
    })
}

fn parse_number(key: &str, value: &str) -> Result<u64, String> {
    value
        .parse()
        .map_err(|_| format!("`{key}={value}`: expected a whole number from 0"))
}

/// `64k:always+2m:inherit`, by size in KiB.
fn parse_mthp(value: &str) -> Result<BTreeMap<u64, SizeMode>, String> {
    let mut sizes = BTreeMap::new();
    for part in value.split('+') {
        let (size, mode) = part.split_once(':').ok_or_else(|| {
            format!("`mthp={value}`: expected SIZE:MODE[+SIZE:MODE…], as in mthp=64K:always")
        })?;
        let kib = parse_kib(size)?;
        insert_once(&mut sizes, size, kib, parse_word(size, mode)?)?;
    }
    Ok(sizes)
}

fn parse_kib(size: &str) -> Result<u64, String> {
    let bytes = parse_size(size)?;
    if bytes >= KIB && bytes.is_power_of_two() {
        return Ok(bytes / KIB);
    }
    Err(format!(
        "`{size}` is not a size of a page; write a power of two of KiB, as in 64K or 2M"
    ))
}

fn mthp_text(sizes: &BTreeMap<u64, SizeMode>) -> String {
    let parts: Vec<String> = sizes
        .iter()
        .map(|(&kib, mode)| format!("{}:{}", kib_text(kib), mode.word()))
        .collect();
    parts.join("+")
}

/// A size as it is typed: `64K`, `2M`, `1G`.
pub(super) fn kib_text(kib: u64) -> String {
    for (unit, letter) in [(GIB / KIB, 'G'), (MIB / KIB, 'M')] {
        if kib >= unit && kib.is_multiple_of(unit) {
            return format!("{}{letter}", kib / unit);
        }
    }
    format!("{kib}K")
}

/// `a, b or c`.
pub(super) fn one_of(words: &[&str]) -> String {
    match words {
        [] => "nothing".to_owned(),
        [only] => (*only).to_owned(),
        [first @ .., last] => format!("{} or {last}", first.join(", ")),
    }
}

fn twice(key: &str) -> String {
    format!("`{key}` is set twice")
}

fn unknown_key(key: &str) -> String {
    let typed = key.split_once('.').map_or(key, |(before, _)| before);
    let known = KEYS.map(|each| (each.split('.').next().unwrap_or(each), each));
    let near = suggestion(typed, known.iter().map(|&(word, _)| word));
    let whole = known
        .iter()
        .filter(|(word, each)| word != each)
        .fold(near, |near, (word, each)| {
            near.replace(&format!("`{word}`"), &format!("`{each}`"))
        });
    format!(
        "unknown key `{key}`; the keys are {}{whole}",
        KEYS.join(", ")
    )
}

/// A bare word is often a value whose key was forgotten.
fn not_a_pair(typed: &str) -> String {
    let whole: Vec<String> = [AS_IS.to_owned()]
        .into_iter()
        .chain(Thp::words().iter().map(|word| format!("thp={word}")))
        .chain(Malloc::words().iter().map(|word| format!("malloc={word}")))
        .collect();
    let near = whole
        .iter()
        .find(|each| each.split('=').next_back() == Some(typed))
        .map_or_else(
            || suggestion(typed, KEYS.into_iter().chain([AS_IS])),
            |each| format!("; did you mean `{each}`?"),
        );
    format!("`{typed}`: expected KEY=VALUE[,KEY=VALUE…] or as-is{near}")
}

#[cfg(test)]
pub(super) mod tests {
    use proptest::collection::btree_map;
    use proptest::option;
    use proptest::prelude::{Strategy, any, prop_assert, prop_assert_eq, proptest};
    use proptest::sample::select;

    use super::*;

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
    fn faults_say_what_was_expected() {
        for (text, word) in [
            ("", "expected KEY=VALUE"),
            ("x:", "expected KEY=VALUE"),
            (":thp=never", "name before `:` is empty"),
            ("a\u{7}b:thp=never", "control characters"),
            ("as-is:thp=never", "sets nothing"),
            ("always", "did you mean `thp=always`"),
            ("jemalloc", "did you mean `malloc=jemalloc`"),
            (
                "thp=alway",
                "never, madvise, always or inherit; did you mean `always`",
            ),
            ("thp=never:x", "expected never"),
            ("thp=never,defrg=never", "unknown key `defrg`"),
            ("defrg=never", "did you mean `defrag`"),
            ("khugpaged.x=1", "did you mean `khugepaged.FILE`"),
            ("khugepaged.../x=1", "unknown key"),
            ("khugepaged.pages_to_scan=-1", "whole number"),
            ("thp=never,thp=always", "`thp` is set twice"),
            ("env.A=1,env.A=2", "`env.A` is set twice"),
            ("mthp=64k:always,mthp=32k:always", "`mthp` is set twice"),
            ("mthp=64k:always+65536:never", "is set twice"),
            ("mthp=", "SIZE:MODE"),
            ("mthp=48k:always", "power of two"),
            ("mthp=64:always", "power of two"),
            ("mthp=64k:alwys", "did you mean `always`"),
            ("zero_page=yes", "expected 0 or 1"),
            ("env.1=x", "does not name a variable"),
            ("thp=never,", "expected KEY=VALUE"),
        ] {
            let said = fault(text);
            assert!(said.contains(word), "{text}: {said}");
            let named = format!("`{text}`: ");
            assert!(said.starts_with(&named), "{said}");
            assert_eq!(said.matches(&named).count(), 1, "{said}");
        }
    }

    fn word<W: Word + fmt::Debug>() -> impl Strategy<Value = W> {
        select(W::ALL)
    }

    /// Settings of all kinds, sensible or not.
    pub(in crate::policy) fn any_settings() -> impl Strategy<Value = Settings> {
        let size = (0_u32..22).prop_map(|shift| 1_u64 << shift);
        // A comma that a key follows cannot be typed inside a value, so it is not made here.
        let value = "[ -+.-~\u{e4}]{0,6}(,[ -+.-<>-~]{0,4})?";
        (
            option::of(word()),
            option::of(word()),
            btree_map(size, word(), 0..3),
            option::of(word()),
            btree_map("[a-z_][a-z0-9_]{0,9}", any::<u64>(), 0..3),
            option::of(word()),
            btree_map(
                word::<Runtime>(),
                btree_map("[A-Za-z_.-]{1,5}", "[0-9]{1,4}", 1..3),
                0..3,
            ),
            btree_map("[A-Za-z_][A-Za-z0-9_]{0,5}", value, 0..3),
        )
            .prop_map(
                |(thp, defrag, mthp, zero_page, khugepaged, malloc, runtimes, env)| Settings {
                    thp,
                    defrag,
                    mthp,
                    zero_page,
                    khugepaged,
                    malloc,
                    runtimes,
                    env: env
                        .into_iter()
                        .map(|(name, value)| (name, value.trim().to_owned()))
                        .collect(),
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
        fn any_text_is_a_policy_or_an_error(text in "\\PC{0,40}|(thp|mthp|env\\.A|:|=|,|\\+|64k|as-is|never){0,9}") {
            match text.parse::<Policy>() {
                Ok(policy) => prop_assert_eq!(policy.to_string().parse::<Policy>().unwrap(), policy),
                Err(error) => prop_assert!(!error.problem.is_empty()),
            }
        }
    }
}
