//! Who gets huge pages in shared memory: each tmpfs mount by its own option, and memory without a file by
//! `shmem_enabled`.

use serde::{Deserialize, Serialize};

use super::settings::{shares_huge, thp};
use super::{Diagnosis, Examination, Feature, Support};
use hugewise_text::document::Section;
use hugewise_text::grid::{Align, Grid};
use hugewise_text::wrap::plain;

/// A writable tmpfs mount.
#[derive(Clone, Debug, Serialize, Deserialize, PartialEq, Eq)]
#[serde(deny_unknown_fields)]
pub struct TmpfsMount {
    /// The mount point.
    pub point: String,
    /// Its option `huge=`. The kernel shows none for `never`.
    pub huge: String,
}

/// A kind of shared memory, its setting, and the pages that it gets.
#[derive(Clone, Debug, Serialize, Deserialize, PartialEq, Eq)]
#[serde(deny_unknown_fields)]
pub struct SharedMemory {
    /// The mount point of a tmpfs; `None` for memory without a mounted file: memfd, System V, `MAP_SHARED` without a
    /// file.
    pub mount: Option<String>,
    /// The setting and its value: `huge=always` of the mount, or `shmem_enabled=never`.
    pub setting: String,
    /// `shmem_enabled`; its values `deny` and `force` override the option of a mount.
    pub shmem_enabled: String,
    /// True if some of its memory gets huge pages without MADV_COLLAPSE.
    pub huge: bool,
    /// The pages that it gets.
    pub pages: String,
}

/// One row for memory without a mounted file, then one per mount. Empty on a kernel without huge pages in shared memory.
pub(super) fn report(examination: &Examination) -> Vec<SharedMemory> {
    let thp = thp(examination);
    let Some(global) = thp.and_then(|thp| thp.shmem_enabled.as_deref()) else {
        return Vec::new();
    };
    let collapse = examination.ladder.get(&Feature::Collapse);
    let collapses = collapse.is_some_and(Support::is_yes);
    let mounts = examination.facts.tmpfs.iter();
    let mounts = mounts.map(|mount| of_mount(mount, global, collapses));
    std::iter::once(without_file(examination, global))
        .chain(mounts)
        .collect()
}

/// Memory of the kernel's own mount. Since 6.11 the file of each size decides, and `inherit` refers to the global one
/// (`shmem_allowable_huge_orders`, mm/shmem.c).
fn without_file(examination: &Examination, global: &str) -> SharedMemory {
    let sizes = &examination.facts.shmem_sizes;
    let huge = shares_huge(global, sizes);
    let is_own = |mode: &&String| !matches!(mode.as_str(), "inherit" | "never");
    let own = sizes.iter().filter(|(_, mode)| is_own(mode));
    let own: Vec<String> = own.map(|(kib, mode)| format!("{kib} kB {mode}")).collect();
    let pages = match (global, huge) {
        ("deny", _) => "small pages only".to_owned(),
        (_, false) => "small pages at faults".to_owned(),
        ("force", true) => "huge pages everywhere".to_owned(),
        (_, true) if !own.is_empty() => format!("folios by size: {}", own.join(", ")),
        (mode, true) => by_mode(mode).to_owned(),
    };
    SharedMemory {
        mount: None,
        setting: format!("shmem_enabled={global}"),
        shmem_enabled: global.to_owned(),
        huge,
        pages,
    }
}

fn of_mount(mount: &TmpfsMount, global: &str, collapses: bool) -> SharedMemory {
    let (huge, pages) = match (global, mount.huge.as_str()) {
        ("deny", _) => (
            false,
            "small pages only: shmem_enabled=deny overrides the option",
        ),
        ("force", _) => (true, "huge pages: shmem_enabled=force overrides the option"),
        (_, "never") if collapses => (false, "small pages, unless a program calls MADV_COLLAPSE"),
        (_, "never") => (false, "small pages"),
        (_, mode) => (true, by_mode(mode)),
    };
    SharedMemory {
        mount: Some(mount.point.clone()),
        setting: format!("huge={}", mount.huge),
        shmem_enabled: global.to_owned(),
        huge,
        pages: pages.to_owned(),
    }
}

/// The effect of a mode that gives huge pages (`shmem_huge_global_enabled`, mm/shmem.c).
fn by_mode(mode: &str) -> &'static str {
    match mode {
        "always" => "huge pages, also for small files: memory can grow",
        "within_size" => {
            "huge pages up to the end of the file, and in memory advised with MADV_HUGEPAGE"
        }
        "advise" => "huge pages in memory advised with MADV_HUGEPAGE",
        _ => "unknown mode",
    }
}

impl Diagnosis {
    /// The mounts with huge pages come first; all rows are details.
    pub(super) fn shared_memory(&self) -> Section {
        let mut section = Section::default();
        if self.shared_memory.is_empty() {
            return section;
        }
        let mounts = self.shared_memory.iter();
        let huge = mounts.filter(|it| it.huge).filter_map(|it| {
            let mount = it.mount.as_ref()?;
            Some(format!("{} ({})", plain(mount), it.setting))
        });
        let huge: Vec<String> = huge.collect();
        if !huge.is_empty() {
            section.push_brief(format!("tmpfs with huge pages: {}.", huge.join(", ")));
        }
        section.push_detail("Pages of shared memory and of each tmpfs:");
        let mut grid = Grid::default().aligned(&[Align::Left, Align::Left, Align::Wrapped]);
        for row in &self.shared_memory {
            let mount = row.mount.as_deref().unwrap_or("memfd, System V, no file");
            grid.push([plain(mount), plain(&row.setting), plain(&row.pages)]);
        }
        section.with_detail(grid)
    }
}
