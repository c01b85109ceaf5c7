//! The requirements of a plant, as data, so that a caller can establish them first.

use std::path::Path;
use std::{fmt, fs};

use crate::region::{huge_bytes, page_bytes};

/// Settings of transparent huge pages, relative to the root of the machine.
const THP: &str = "sys/kernel/mm/transparent_hugepage";

/// A requirement on the machine before a plant is made. The laboratory changes no setting; it only checks them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Need {
    /// The effective policy for PMD-sized anonymous huge pages is one of these words; the first is the one to set.
    Policy(&'static [&'static str]),
    /// The effective policy for shared memory is one of these.
    Shared(&'static [&'static str]),
    /// The policy of folios of 16 base pages is this word (Linux 6.8).
    MediumFolios(&'static str),
    /// `defrag` is this word.
    Defrag(&'static str),
    /// Reads are answered with the huge zero page (`use_zero_page`).
    HugeZeroPage,
    /// khugepaged fills no gaps (`khugepaged/max_ptes_none` is 0).
    NoGapsFilled,
    /// Huge pages with few pages of content are split under pressure: `max_ptes_none` is less
    /// than all but one (Linux 6.12).
    GapsLimited,
    /// KSM runs.
    Ksm,
    /// An explicit huge page of the default size is free.
    PoolPage,
    /// There is swap space.
    Swap,
    /// The plant is the only process in a memory cgroup with a limit of some huge pages, and can write the cgroup's
    /// files.
    Group,
    /// `--folder` is on a file system with large folios (xfs since Linux 5.18, ext4 since 6.16).
    LargeFolioFolder,
    /// `--folder` is on a file system without large folios, such as ramfs.
    SmallFolioFolder,
    /// All memory of the machine: nothing else should run.
    AllMemory,
}

/// A setting to write before a plant is made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Setting {
    /// File, relative to the root of the machine.
    pub path: String,
    /// The required value.
    pub value: String,
}

impl Need {
    /// The settings that establish it; empty if settings cannot.
    #[must_use]
    pub fn settings(self) -> Vec<Setting> {
        let thp = |file: &str, value: &str| setting(&format!("{THP}/{file}"), value);
        match self {
            Self::Policy(words) => {
                let own = format!("{}/enabled", folder_of(huge_bytes()));
                vec![thp("enabled", words[0]), thp(&own, "inherit")]
            }
            Self::Shared(words) => {
                let own = format!("{}/shmem_enabled", folder_of(huge_bytes()));
                vec![thp("shmem_enabled", words[0]), thp(&own, "inherit")]
            }
            Self::MediumFolios(word) => vec![thp(&medium(), word)],
            Self::Defrag(word) => vec![thp("defrag", word)],
            Self::HugeZeroPage => vec![thp("use_zero_page", "1")],
            Self::NoGapsFilled => vec![thp("khugepaged/max_ptes_none", "0")],
            Self::GapsLimited => {
                let most = huge_bytes() / page_bytes() * 4 / 5;
                vec![thp("khugepaged/max_ptes_none", &most.to_string())]
            }
            // At its default pace it takes minutes if other processes have much memory to merge.
            Self::Ksm => vec![
                setting("sys/kernel/mm/ksm/pages_to_scan", "5000"),
                setting("sys/kernel/mm/ksm/run", "1"),
            ],
            Self::PoolPage => {
                let kib = huge_bytes() / 1024;
                let file = format!("sys/kernel/mm/hugepages/hugepages-{kib}kB/nr_hugepages");
                vec![setting(&file, "1")]
            }
            _ => Vec::new(),
        }
    }

    /// Why the requirement is not met, as far as can be checked in advance; `None` if no obstacle was found.
    pub(crate) fn unmet(self) -> Option<String> {
        match self {
            Self::Policy(words) => unlike("enabled", &policy("enabled"), words),
            Self::Shared(words) => unlike("shmem_enabled", &policy("shmem_enabled"), words),
            Self::MediumFolios(word) => unlike(&medium(), &thp(&medium()), &[word]),
            Self::Defrag(word) => unlike("defrag", &thp("defrag"), &[word]),
            Self::HugeZeroPage => unlike("use_zero_page", &thp("use_zero_page"), &["1"]),
            Self::NoGapsFilled => {
                let file = "khugepaged/max_ptes_none";
                unlike(file, &thp(file), &["0"])
            }
            Self::GapsLimited => {
                let gaps: Option<usize> = thp("khugepaged/max_ptes_none")?.parse().ok();
                let all = huge_bytes() / page_bytes() - 1;
                let limited = gaps.is_some_and(|gaps| gaps < all);
                (!limited).then(|| format!("khugepaged/max_ptes_none is {all}"))
            }
            Self::Ksm => unlike(
                "ksm/run",
                &value(Path::new("/sys/kernel/mm/ksm/run")),
                &["1"],
            ),
            Self::Swap => no_swap(),
            // Only an attempt shows this.
            Self::PoolPage
            | Self::Group
            | Self::LargeFolioFolder
            | Self::SmallFolioFolder
            | Self::AllMemory => None,
        }
    }
}

impl fmt::Display for Need {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Policy(words) => write!(f, "enabled={}", words.join("|")),
            Self::Shared(words) => write!(f, "shmem_enabled={}", words.join("|")),
            Self::MediumFolios(word) => write!(f, "{}={word}", medium()),
            Self::Defrag(word) => write!(f, "defrag={word}"),
            Self::HugeZeroPage => f.write_str("use_zero_page=1"),
            Self::NoGapsFilled => f.write_str("khugepaged/max_ptes_none=0"),
            Self::GapsLimited => f.write_str("khugepaged/max_ptes_none below its default"),
            Self::Ksm => f.write_str("ksm/run=1"),
            Self::PoolPage => f.write_str("a free explicit huge page"),
            Self::Swap => f.write_str("swap space"),
            Self::Group => f.write_str("a separate memory cgroup"),
            Self::LargeFolioFolder => f.write_str("--folder with large folios"),
            Self::SmallFolioFolder => f.write_str("--folder without large folios"),
            Self::AllMemory => f.write_str("all free memory of the machine"),
        }
    }
}

fn setting(path: &str, value: &str) -> Setting {
    Setting {
        path: path.to_owned(),
        value: value.to_owned(),
    }
}

/// The folder of one huge page size.
fn folder_of(bytes: usize) -> String {
    format!("hugepages-{}kB", bytes / 1024)
}

fn medium() -> String {
    format!("{}/enabled", folder_of(16 * page_bytes()))
}

/// The effective word for PMD-sized pages: that of their own folder (Linux 6.8), or the common one if it is `inherit`.
fn policy(file: &str) -> Option<String> {
    let own = thp(&format!("{}/{file}", folder_of(huge_bytes())));
    own.filter(|word| word != "inherit").or_else(|| thp(file))
}

fn thp(file: &str) -> Option<String> {
    value(&Path::new("/").join(THP).join(file))
}

/// The word in brackets, or the whole text.
fn value(path: &Path) -> Option<String> {
    let text = fs::read_to_string(path).ok()?;
    let word = text.split(['[', ']']).nth(1).unwrap_or(&text);
    Some(word.trim().to_owned())
}

fn unlike(name: &str, found: &Option<String>, words: &[&str]) -> Option<String> {
    match found {
        None => Some(format!("this kernel has no {name}")),
        Some(found) if words.contains(&found.as_str()) => None,
        Some(found) => Some(format!(
            "{name} is `{found}`, not `{}`",
            words.join("` or `")
        )),
    }
}

fn no_swap() -> Option<String> {
    let text = fs::read_to_string("/proc/swaps").unwrap_or_default();
    (text.lines().count() < 2).then(|| "there is no swap space".to_owned())
}
