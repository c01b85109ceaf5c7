//! Tunables of glibc that the machine sets for its programs: those of `/etc/tunables.conf` (glibc 2.44).
//!
//! Programs read them from `/etc/ld.so.cache`, into which `ldconfig` compiles the file. So this module reads the cache
//! too: a change of the file without `ldconfig` has no effect. Layout: elf/tunconf.h and sysdeps/generic/dl-cache.h of
//! glibc 2.44.

use std::collections::BTreeMap;

use hugewise_base::tunables::{Tunable, TunablePlace, Tunables, VARIABLE};

use crate::machine::root::Root;

/// The file that programs read, relative to the root of the machine.
pub(crate) const CACHE: &str = "etc/ld.so.cache";
const MAGIC: &[u8] = b"glibc-ld.so.cache1.1";
/// The offset of the extensions is stored here.
const EXTENSIONS: usize = 32;
const EXTENSIONS_MAGIC: u32 = 0xeaa4_2174;
/// The extension with tunables.
const TAG: u32 = 2;
const SIGNATURE: u32 = 0x7c3b_a94f;
const VERSION: u32 = 0x0100_0000;
const SECTION_BYTES: usize = 16;
const HEADER_BYTES: usize = 16;
const ENTRY_BYTES: usize = 32;

/// The value was parsed as a number; programs use the number, not the text.
const PARSED: u32 = 1;
const NEGATIVE: u32 = 1 << 1;
/// `-` or `nonoverridable`.
const FIXED: u32 = 1 << 2;
/// `@` or `onlysecure`: only for programs that gain privileges at start.
const ONLY_SECURE: u32 = 1 << 5;
/// Below `[proc:NAME]`.
const FOR_PROGRAM: u32 = 1 << 8;

/// Reads the tunables that programs of the machine get without a policy. `variable` is the `GLIBC_TUNABLES` that they
/// inherit.
#[must_use]
pub fn read_tunables(root: &Root, variable: Option<&str>) -> Tunables {
    let cache = root.read(CACHE).unwrap_or_default();
    Tunables::new(parse_cache(&cache), variable)
}

/// Adds the tunables of a cache to the environment of a program, as entries of `GLIBC_TUNABLES`. `program` is the path
/// of its executable. Without the file, these entries would have the same effect.
pub(crate) fn add_file(
    environment: &mut BTreeMap<String, String>,
    cache: &[u8],
    program: Option<&str>,
) {
    let own = environment.get(VARIABLE).map(String::as_str);
    if let file @ [_, ..] = &parse_cache(cache)[..]
        && let Some(all) = Tunables::new(file.to_vec(), own).variable(program)
    {
        environment.insert(VARIABLE.to_owned(), all);
    }
}

/// Returns the tunables in a cache, without those for programs that gain privileges at start. Empty for a cache without
/// any, and for one that glibc rejects.
#[must_use]
pub fn parse_cache(cache: &[u8]) -> Vec<Tunable> {
    entries(cache).unwrap_or_default()
}

fn entries(cache: &[u8]) -> Option<Vec<Tunable>> {
    cache.starts_with(MAGIC).then_some(())?;
    let section = section(cache)?;
    let is_known = number(section, 0)? == SIGNATURE && number(section, 4)? == VERSION;
    is_known.then_some(())?;
    let (_, all) = section.split_at_checked(HEADER_BYTES)?;
    let count = number(section, 8)? as usize;
    (Some(all.len()) == count.checked_mul(ENTRY_BYTES)).then_some(())?;
    let entries = all.chunks_exact(ENTRY_BYTES);
    let entries: Option<Vec<Option<Tunable>>> = entries.map(|it| entry(cache, it)).collect();
    Some(entries?.into_iter().flatten().collect())
}

/// Returns the extension with tunables.
fn section(cache: &[u8]) -> Option<&[u8]> {
    let extensions = cache.get(number(cache, EXTENSIONS)? as usize..)?;
    (number(extensions, 0)? == EXTENSIONS_MAGIC).then_some(())?;
    let count = number(extensions, 4)? as usize;
    let (_, sections) = extensions.split_at_checked(8)?;
    let mut sections = sections.chunks_exact(SECTION_BYTES).take(count);
    let found = sections.find(|section| number(section, 0) == Some(TAG))?;
    let start = number(found, 8)? as usize;
    cache.get(start..start.checked_add(number(found, 12)? as usize)?)
}

/// Returns one tunable; `Some(None)` for one that only privileged programs get.
fn entry(cache: &[u8], bytes: &[u8]) -> Option<Option<Tunable>> {
    let flags = number(bytes, 0)?;
    let has = |flag: u32| flags & flag != 0;
    let text = |at: usize| text(cache, number(bytes, at)? as usize);
    let parsed = u64::from_le_bytes(bytes.get(24..32)?.try_into().ok()?);
    let tunable = Tunable {
        name: text(8)?,
        value: match (has(PARSED), has(NEGATIVE)) {
            (false, _) => text(12)?,
            (true, false) => parsed.to_string(),
            (true, true) => parsed.cast_signed().to_string(),
        },
        place: TunablePlace::File,
        program: match has(FOR_PROGRAM) {
            true => Some(text(16)?),
            false => None,
        },
        fixed: has(FIXED),
    };
    Some((!has(ONLY_SECURE)).then_some(tunable))
}

/// Returns the number of four bytes at an offset. Both supported architectures store the lowest byte first.
fn number(bytes: &[u8], at: usize) -> Option<u32> {
    let four = bytes.get(at..at.checked_add(4)?)?;
    Some(u32::from_le_bytes(four.try_into().ok()?))
}

/// Returns the text at an offset, which ends with a zero byte.
fn text(bytes: &[u8], at: usize) -> Option<String> {
    let rest = bytes.get(at..)?;
    let end = rest.iter().position(|&byte| byte == 0)?;
    Some(String::from_utf8_lossy(&rest[..end]).into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::machine::root::machine_of;
    use proptest::prelude::*;

    /// Made by `ldconfig -X` of Debian's glibc 2.44-3 from this file:
    ///
    /// ```text
    /// glibc.malloc.hugetlb=1
    /// glibc.elf.thp=1
    /// -glibc.pthread.stack_hugetlb=0
    /// [proc:redis-server]
    /// -glibc.malloc.hugetlb=2
    /// []
    /// @glibc.malloc.check=3
    /// glibc.foo.bar=abc
    /// ```
    const CACHE_OF_244: &[u8] = include_bytes!("../../../../fixtures/ld.so.cache-2.44");
    /// From `glibc.malloc.hugetlb=01`.
    const OCTAL: &[u8] = include_bytes!("../../../../fixtures/ld.so.cache-2.44-octal");

    #[test]
    fn the_cache_holds_the_file() {
        let all: Vec<String> = parse_cache(CACHE_OF_244)
            .iter()
            .map(|it| {
                let program = it.program.as_ref().map(|name| format!(" {name}"));
                let fixed = if it.fixed { " fixed" } else { "" };
                format!("{it}{}{fixed}", program.unwrap_or_default())
            })
            .collect();
        assert_eq!(
            all,
            [
                "glibc.malloc.hugetlb=1",
                "glibc.elf.thp=1",
                "glibc.pthread.stack_hugetlb=0 fixed",
                "glibc.malloc.hugetlb=2 redis-server fixed",
                "glibc.foo.bar=abc",
            ]
        );
        assert_eq!(parse_cache(OCTAL)[0].value, "1");
    }

    #[test]
    fn a_machine_has_the_tunables_of_its_cache_and_of_the_environment() {
        let (folder, root) = machine_of(&[("etc/tunables.conf", "glibc.malloc.hugetlb=2\n")]);
        assert!(
            read_tunables(&root, None).is_empty(),
            "ldconfig has not run"
        );
        std::fs::write(folder.path().join(CACHE), CACHE_OF_244).expect("a file");
        let of = |variable, name| {
            let all = read_tunables(&root, variable);
            all.get(name).map(|it| (it.value.clone(), it.place))
        };
        let (heap, stacks) = ("glibc.malloc.hugetlb", "glibc.pthread.stack_hugetlb");
        assert_eq!(of(None, heap), Some(("1".to_owned(), TunablePlace::File)));
        let own = Some("glibc.malloc.hugetlb=0:glibc.pthread.stack_hugetlb=1");
        assert_eq!(
            of(own, heap),
            Some(("0".to_owned(), TunablePlace::Environment))
        );
        assert_eq!(
            of(own, stacks),
            Some(("0".to_owned(), TunablePlace::File)),
            "fixed"
        );
        assert_eq!(
            of(own, "glibc.malloc.check"),
            None,
            "for privileged programs only"
        );
    }

    #[test]
    fn programs_get_their_own_part() {
        let seen = |program: Option<&str>, own: Option<&str>| {
            let own = own.map(|text| (VARIABLE.to_owned(), text.to_owned()));
            let mut environment: BTreeMap<_, _> = own.into_iter().collect();
            add_file(&mut environment, CACHE_OF_244, program);
            environment.remove(VARIABLE).unwrap_or_default()
        };
        let rest = "glibc.pthread.stack_hugetlb=0";
        let redis = seen(
            Some("/usr/bin/redis-server"),
            Some("glibc.malloc.hugetlb=0"),
        );
        assert_eq!(
            redis,
            format!("glibc.elf.thp=1:glibc.foo.bar=abc:glibc.malloc.hugetlb=2:{rest}")
        );
        let other = seen(
            None,
            Some("glibc.malloc.hugetlb=0:glibc.malloc.arena_max=1"),
        );
        assert_eq!(
            other,
            format!(
                "glibc.elf.thp=1:glibc.foo.bar=abc:glibc.malloc.arena_max=1:\
                 glibc.malloc.hugetlb=0:{rest}"
            )
        );
        let mut untouched = BTreeMap::from([(VARIABLE.to_owned(), "b=1:a=1".to_owned())]);
        add_file(&mut untouched, b"", None);
        assert_eq!(untouched[VARIABLE], "b=1:a=1");
    }

    #[test]
    fn a_cache_that_glibc_rejects_sets_nothing() {
        assert!(parse_cache(b"").is_empty());
        for cut in [20, 100, CACHE_OF_244.len() - 1] {
            assert!(parse_cache(&CACHE_OF_244[..cut]).is_empty(), "{cut}");
        }
        let signature = SIGNATURE.to_le_bytes();
        let at = CACHE_OF_244.windows(4).position(|it| it == signature);
        let mut other = CACHE_OF_244.to_vec();
        other[at.expect("the signature") + 4] ^= 1;
        assert!(parse_cache(&other).is_empty(), "another version");
    }

    proptest! {
        #[test]
        fn no_bytes_panic(at: prop::sample::Index, byte: u8, end: prop::sample::Index) {
            let mut bytes = CACHE_OF_244.to_vec();
            let at = at.index(bytes.len());
            bytes[at] = byte;
            let _ = parse_cache(&bytes);
            let _ = parse_cache(&bytes[..end.index(bytes.len())]);
        }
    }
}
