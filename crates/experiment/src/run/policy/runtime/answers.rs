//! The settings that runtimes report, compared with the requested ones.

use std::collections::BTreeMap;

use super::{Runtime, Settings, key};
use crate::base::units::parse_size;

/// The value that a runtime took for a setting, by its key (`java.UseLargePages`).
pub type Answers = BTreeMap<String, String>;

/// Prefix for the value of an ignored setting.
const IGNORED: &str = "ignored";

/// The requested flags in the output of `java -XX:+PrintFlagsFinal -version`: lines of
/// `TYPE NAME = VALUE {KIND} {ORIGIN}`. A value set by the user that still has its default was ignored.
#[must_use]
pub fn parse_flags(output: &[u8], settings: &Settings) -> Answers {
    let text = String::from_utf8_lossy(output);
    let mut answers = Answers::new();
    for line in text.lines() {
        let words: Vec<&str> = line.split_whitespace().collect();
        let [_, name, "=" | ":=", value, ..] = words.as_slice() else {
            continue;
        };
        let asked = settings.runtimes.get(&Runtime::Java);
        if asked.is_some_and(|asked| asked.contains_key(*name)) {
            let default = line.trim_end().ends_with("{default}");
            let wanted = asked.and_then(|asked| asked.get(*name));
            let ignored = default && wanted.is_some_and(|wanted| !is_same(wanted, value));
            let said = if ignored {
                format!("{IGNORED}, {value}")
            } else {
                (*value).to_owned()
            };
            answers.insert(key(Runtime::Java, name), said);
        }
    }
    answers
}

/// The tunables in the output of `ld.so --list-tunables`: `NAME: VALUE (min: …, max: …)`.
#[must_use]
pub fn parse_tunables(output: &[u8]) -> BTreeMap<String, String> {
    let text = String::from_utf8_lossy(output);
    let lines = text.lines().filter_map(|line| {
        let (name, rest) = line.split_once(": ")?;
        let value = rest.split_once(" (").map_or(rest, |(value, _)| value);
        Some((name.trim().to_owned(), value.trim().to_owned()))
    });
    lines.collect()
}

/// The C library's answers for the tunables in a policy.
#[must_use]
pub fn tunables_answers(known: &BTreeMap<String, String>, settings: &Settings) -> Answers {
    let asked = settings.runtime_settings();
    asked
        .filter(|(runtime, ..)| *runtime == Runtime::Glibc && !known.is_empty())
        .map(|(runtime, name, _)| {
            let said = known.get(&format!("glibc.{name}")).cloned();
            let none = || format!("{IGNORED}, this C library has no such tunable");
            (key(runtime, name), said.unwrap_or_else(none))
        })
        .collect()
}

/// The requested settings without effect, in words.
#[must_use]
pub fn not_taken(settings: &Settings, answers: &Answers) -> Vec<String> {
    let asked = settings.runtime_settings();
    asked
        .filter_map(|(runtime, name, wanted)| {
            let key = key(runtime, name);
            let said = answers.get(&key)?;
            let taken = match runtime {
                // The heap rounds sizes to its granularity: a number with a changed value was still taken.
                Runtime::Java if is_number(wanted) && is_number(said) => true,
                Runtime::Go => !said.starts_with(IGNORED),
                _ => is_same(wanted, said),
            };
            (!taken).then(|| format!("{key}={wanted} was not taken: the runtime says `{said}`"))
        })
        .collect()
}

fn is_same(wanted: &str, said: &str) -> bool {
    let wanted = match wanted {
        "+" => "true",
        "-" => "false",
        other => other,
    };
    wanted == said || number(wanted).is_some_and(|it| Some(it) == number(said))
}

fn is_number(text: &str) -> bool {
    number(text).is_some()
}

/// Decimal, hexadecimal, or a size with a suffix.
fn number(text: &str) -> Option<u64> {
    match text.strip_prefix("0x") {
        Some(digits) => u64::from_str_radix(digits, 16).ok(),
        None => text.parse().ok().or_else(|| parse_size(text).ok()),
    }
}

/// Lines in which running runtimes and allocators report that they did not follow a setting.
#[must_use]
pub fn complaints(printed: &[u8]) -> Vec<String> {
    const SIGNS: [&str; 7] = [
        "<jemalloc>: Invalid conf",
        "<jemalloc>: Malformed conf",
        "<jemalloc>: Error in conf",
        "mimalloc: warning: environment option",
        "UseLargePages disabled",
        "UseTransparentHugePages disabled",
        "Failed to reserve and commit memory",
    ];
    let text = String::from_utf8_lossy(printed);
    let is_one = |line: &&str| SIGNS.iter().any(|sign| line.contains(sign));
    let mut lines: Vec<String> = text.lines().filter(is_one).map(str::to_owned).collect();
    lines.sort();
    lines.dedup();
    lines
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Output of OpenJDK 17.0.15.
    const FLAGS: &[u8] = b"[0.024s][warning][pagesize] UseLargePages disabled, no large pages \
configured and available on the system.
     bool AlwaysPreTouch                           = true   {product} {environment}
   size_t LargePageSizeInBytes                     = 3145728   {product} {environment}
   size_t MaxHeapSize                              = 104857600   {product} {environment}
     bool UseLargePages                            = false   {pd product} {environment}
     bool UseSerialGC                              = false   {product} {default}
";

    fn settings(text: &str) -> Settings {
        text.parse().unwrap_or_else(|error| panic!("{error}"))
    }

    #[test]
    fn a_flag_that_was_not_honoured_is_named() {
        let asked = settings(
            "java.AlwaysPreTouch=+,java.UseLargePages=+,java.LargePageSizeInBytes=3m,\
             java.MaxHeapSize=100000001,java.UseSerialGC=true",
        );
        let answers = parse_flags(FLAGS, &asked);
        assert_eq!(answers.len(), 5);
        assert_eq!(
            not_taken(&asked, &answers),
            [
                "java.UseLargePages=+ was not taken: the runtime says `false`",
                "java.UseSerialGC=+ was not taken: the runtime says `ignored, false`",
            ]
        );
        assert_eq!(complaints(FLAGS).len(), 1);
    }

    #[test]
    fn tunables_are_known_or_ignored() {
        let known = parse_tunables(
            b"glibc.malloc.hugetlb: 0x1 (min: 0x0, max: 0xff)\nglibc.rtld.nns: 0x4 (min: 0x1, max: 0x10)\n",
        );
        let asked = settings("glibc.malloc.hugetlb=1,glibc.rtld.nns=99,glibc.foo=1");
        let answers = tunables_answers(&known, &asked);
        assert_eq!(
            not_taken(&asked, &answers),
            [
                "glibc.foo=1 was not taken: the runtime says `ignored, this C library has no such \
                 tunable`",
                "glibc.rtld.nns=99 was not taken: the runtime says `0x4`",
            ]
        );
        assert_eq!(tunables_answers(&BTreeMap::new(), &asked), Answers::new());
    }

    proptest! {
        #[test]
        fn any_bytes_are_answers(bytes: Vec<u8>) {
            let asked = settings("java.A=1,glibc.b=2");
            let _ = not_taken(&asked, &parse_flags(&bytes, &asked));
            let _ = not_taken(&asked, &tunables_answers(&parse_tunables(&bytes), &asked));
            let _ = complaints(&bytes);
        }
    }
}
