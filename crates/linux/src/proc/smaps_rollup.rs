use serde::{Deserialize, Serialize};

use super::{Parsed, kib, lines};
use crate::machine::error::{Error, Result};
use crate::machine::root::Root;

/// Memory of one process in bytes (`/proc/PID/smaps_rollup`, fs/proc/task_mmu.c, Linux 4.14).
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize, PartialEq, Eq)]
pub struct Rollup {
    /// `Rss`: resident memory, without hugetlb and the huge zero page.
    pub rss_bytes: u64,
    /// `Pss`: each resident page divided by the number of processes that map it, so that the sum
    /// over processes counts shared pages once. Pages shared with other processes count in part.
    #[serde(default)]
    pub pss_bytes: u64,
    /// `AnonHugePages`: anonymous memory mapped by PMDs, without smaller folios.
    pub huge_anon_bytes: u64,
    /// `ShmemPmdMapped`.
    pub huge_shmem_bytes: u64,
    /// `FilePmdMapped` (Linux 5.4); 0 before.
    pub huge_file_bytes: u64,
    /// `Shared_Hugetlb` and `Private_Hugetlb`.
    pub hugetlb_bytes: u64,
    /// Only `Shared_Hugetlb`: pages mapped more than once, by any process.
    #[serde(default)]
    pub hugetlb_shared_bytes: u64,
    /// `Anonymous`: pages without a file.
    #[serde(default)]
    pub anon_bytes: u64,
    /// `Pss_Anon` (Linux 5.4): each of these pages divided by the number of its mappings.
    #[serde(default)]
    pub anon_share_bytes: Option<u64>,
}

impl Rollup {
    /// Returns all memory mapped by PMDs or larger entries.
    #[must_use]
    pub fn huge_bytes(&self) -> u64 {
        let mapped = self.huge_anon_bytes.saturating_add(self.huge_shmem_bytes);
        let mapped = mapped.saturating_add(self.huge_file_bytes);
        mapped.saturating_add(self.hugetlb_bytes)
    }

    /// Adds field by field, without overflow.
    #[must_use]
    pub fn plus(self, other: Self) -> Self {
        Self {
            rss_bytes: self.rss_bytes.saturating_add(other.rss_bytes),
            pss_bytes: self.pss_bytes.saturating_add(other.pss_bytes),
            huge_anon_bytes: self.huge_anon_bytes.saturating_add(other.huge_anon_bytes),
            huge_shmem_bytes: self.huge_shmem_bytes.saturating_add(other.huge_shmem_bytes),
            huge_file_bytes: self.huge_file_bytes.saturating_add(other.huge_file_bytes),
            hugetlb_bytes: self.hugetlb_bytes.saturating_add(other.hugetlb_bytes),
            hugetlb_shared_bytes: (self.hugetlb_shared_bytes)
                .saturating_add(other.hugetlb_shared_bytes),
            anon_bytes: self.anon_bytes.saturating_add(other.anon_bytes),
            anon_share_bytes: (self.anon_share_bytes.zip(other.anon_share_bytes))
                .map(|(one, other)| one.saturating_add(other)),
        }
    }

    /// Returns the larger of both, separately for each field.
    #[must_use]
    pub fn largest(self, other: Self) -> Self {
        Self {
            rss_bytes: self.rss_bytes.max(other.rss_bytes),
            pss_bytes: self.pss_bytes.max(other.pss_bytes),
            huge_anon_bytes: self.huge_anon_bytes.max(other.huge_anon_bytes),
            huge_shmem_bytes: self.huge_shmem_bytes.max(other.huge_shmem_bytes),
            huge_file_bytes: self.huge_file_bytes.max(other.huge_file_bytes),
            hugetlb_bytes: self.hugetlb_bytes.max(other.hugetlb_bytes),
            hugetlb_shared_bytes: self.hugetlb_shared_bytes.max(other.hugetlb_shared_bytes),
            anon_bytes: self.anon_bytes.max(other.anon_bytes),
            anon_share_bytes: self.anon_share_bytes.max(other.anon_share_bytes),
        }
    }
}

/// Parses `/proc/PID/smaps_rollup`.
///
/// # Errors
/// A field is not a number, or there is no `Rss` (a process without memory has an empty file).
pub fn parse_smaps_rollup(bytes: &[u8]) -> Parsed<Rollup> {
    let mut rollup = Rollup::default();
    let mut private_hugetlb = 0;
    let mut seen_rss = false;
    for (at, line) in lines(bytes) {
        let Some((field, value)) = line.split_once(':') else {
            continue;
        };
        let place = match field {
            "Rss" => {
                seen_rss = true;
                &mut rollup.rss_bytes
            }
            "Pss" => &mut rollup.pss_bytes,
            "AnonHugePages" => &mut rollup.huge_anon_bytes,
            "ShmemPmdMapped" => &mut rollup.huge_shmem_bytes,
            "FilePmdMapped" => &mut rollup.huge_file_bytes,
            "Shared_Hugetlb" => &mut rollup.hugetlb_shared_bytes,
            "Private_Hugetlb" => &mut private_hugetlb,
            "Anonymous" => &mut rollup.anon_bytes,
            "Pss_Anon" => rollup.anon_share_bytes.get_or_insert_default(),
            _ => continue,
        };
        *place = place.saturating_add(kib(at, field, value)?);
    }
    rollup.hugetlb_bytes = rollup.hugetlb_shared_bytes.saturating_add(private_hugetlb);
    if seen_rss {
        Ok(rollup)
    } else {
        Err("no line `Rss`".to_owned())
    }
}

/// Reads the memory of one process.
///
/// # Errors
/// The process has ended, may not be read, or its file could not be parsed.
pub fn read_smaps_rollup(root: &Root, pid: u32) -> Result<Rollup> {
    let path = format!("proc/{pid}/smaps_rollup");
    let bytes = root.read(&path)?;
    parse_smaps_rollup(&bytes).map_err(|what| Error::malformed(&root.path(&path), what))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const REAL: &[u8] =
        b"55e08f3db000-7ffe78523000 ---p 00000000 00:00 0                          [rollup]
Rss:               91876 kB
Pss:                 389 kB
Pss_Anon:          45114 kB
Anonymous:         90228 kB
AnonHugePages:     90112 kB
ShmemPmdMapped:        0 kB
FilePmdMapped:      2048 kB
Shared_Hugetlb:     4096 kB
Private_Hugetlb:    2048 kB
Swap:                  0 kB
";

    #[test]
    fn a_real_one() {
        assert_eq!(
            parse_smaps_rollup(REAL),
            Ok(Rollup {
                rss_bytes: 91_876 << 10,
                pss_bytes: 389 << 10,
                huge_anon_bytes: 88 << 20,
                huge_shmem_bytes: 0,
                huge_file_bytes: 2 << 20,
                hugetlb_bytes: 6 << 20,
                hugetlb_shared_bytes: 4 << 20,
                anon_bytes: 90_228 << 10,
                anon_share_bytes: Some(45_114 << 10),
            })
        );
    }

    #[test]
    fn faults_name_line_and_field() {
        assert_eq!(parse_smaps_rollup(b""), Err("no line `Rss`".to_owned()));
        let torn = parse_smaps_rollup(b"x\nRss: many kB\n").unwrap_err();
        assert_eq!(torn, "line 2: Rss is not a number: `many`");
    }

    proptest! {
        #[test]
        fn no_bytes_panic(bytes: Vec<u8>, number: u64) {
            let _ = parse_smaps_rollup(&bytes);
            let _ = parse_smaps_rollup(format!("Rss: {number} kB\nRss: {number} kB").as_bytes());
        }
    }
}
