//! `/sys/devices/system/cpu/cpu0/cache`: the caches of a processor
//! (Documentation/ABI/testing/sysfs-devices-system-cpu). A machine with several core types is described by its first
//! core.

use hugewise_base::missing::Missing;
use hugewise_experiment::run::cells::processor::Cache;

use crate::machine::error::{Error, Kind, Result};
use crate::machine::number;
use crate::machine::root::Root;

const DIR: &str = "sys/devices/system/cpu/cpu0/cache";

/// Parses the size of a cache in the format of sysfs, such as `32K`; returns bytes.
///
/// # Errors
/// A sentence that quotes the content.
pub fn parse_size(content: &[u8]) -> std::result::Result<u64, String> {
    let text = String::from_utf8_lossy(content);
    let kib = text
        .trim()
        .strip_suffix('K')
        .and_then(|n| n.parse::<u64>().ok());
    let bytes = kib
        .and_then(|kib| kib.checked_mul(1024))
        .filter(|bytes| *bytes > 0);
    bytes.ok_or_else(|| format!("expected 32K, found `{}`", number::shorten(text.trim())))
}

/// Reads the data caches, nearest to the core first.
///
/// # Errors
/// The reason why they are unknown: the kernel does not show them, as in many virtual machines, or the content could
/// not be parsed.
pub fn read_caches(root: &Root) -> std::result::Result<Vec<Cache>, Missing> {
    let not_told = || Missing::not_supported(format!("/{DIR} (the kernel lists no caches)"));
    let names = match root.list(DIR) {
        Err(error) if error.kind == Kind::NotFound => return Err(not_told()),
        other => {
            other.map_err(|error| error.into_missing("read access to /sys/devices/system/cpu"))?
        }
    };
    let folders = names.iter().filter(|name| name.starts_with("index"));
    let caches = folders
        .map(|name| read_cache(root, name))
        .collect::<Result<Vec<_>>>();
    let caches =
        caches.map_err(|error| error.into_missing("read access to /sys/devices/system/cpu"))?;
    let mut caches: Vec<Cache> = caches.into_iter().flatten().collect();
    caches.sort_by_key(|cache| cache.level);
    if caches.is_empty() {
        Err(not_told())
    } else {
        Ok(caches)
    }
}

/// Returns `None` for an instruction cache.
fn read_cache(root: &Root, name: &str) -> Result<Option<Cache>> {
    let file = |file: &str| format!("{DIR}/{name}/{file}");
    if root.read_trimmed(file("type"))? == "Instruction" {
        return Ok(None);
    }
    let level = number::read(root, file("level"))?;
    let path = file("size");
    let bytes =
        parse_size(&root.read(&path)?).map_err(|what| Error::malformed(&root.path(&path), what))?;
    Ok(Some(Cache {
        level: u8::try_from(level).unwrap_or(u8::MAX),
        bytes,
    }))
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn sizes_are_whole_kibibytes() {
        assert_eq!(parse_size(b"32K\n"), Ok(32 << 10));
        assert_eq!(parse_size(b"32768K"), Ok(32 << 20));
        for bad in [
            &b"32"[..],
            b"",
            b"K",
            b"0K",
            b"-1K",
            b"99999999999999999999K",
            b"1M",
        ] {
            assert!(parse_size(bad).is_err(), "{bad:?}");
        }
    }

    #[test]
    fn caches_of_data_are_read_by_level() {
        let folder = tempfile::tempdir().unwrap();
        let root = Root::at(folder.path());
        assert!(matches!(
            read_caches(&root),
            Err(Missing::NotSupported { .. })
        ));
        for (index, [level, kind, size]) in [
            ["2", "Unified", "1024K"],
            ["1", "Data", "32K"],
            ["1", "Instruction", "32K"],
        ]
        .into_iter()
        .enumerate()
        {
            let cache = folder.path().join(format!("{DIR}/index{index}"));
            fs::create_dir_all(&cache).unwrap();
            for (name, text) in [("level", level), ("type", kind), ("size", size)] {
                fs::write(cache.join(name), format!("{text}\n")).unwrap();
            }
        }
        let caches = read_caches(&root).unwrap();
        let told: Vec<(u8, u64)> = caches.iter().map(|it| (it.level, it.bytes)).collect();
        assert_eq!(told, [(1, 32 << 10), (2, 1 << 20)]);
        fs::write(folder.path().join(format!("{DIR}/index0/size")), "many\n").unwrap();
        assert!(matches!(
            read_caches(&root),
            Err(Missing::Unreadable { .. })
        ));
    }
}
