//! Cgroups as a tree.

use crate::export::Cgroup;
use crate::watch::rates::Between;
use crate::watch::sample::Sample;
use hugewise_base::units::bytes_text;
use hugewise_text::document::{Document, Section};
use hugewise_text::grid::{Cell, Grid};
use hugewise_text::wrap::{plain, shortened};

use super::{memory_text, rate_text, share_text};

/// Columns of a name with its indent.
const NAME: usize = 26;

/// The tree.
pub(super) fn document(between: &Between<'_>) -> Document {
    let mut section = Section::default();
    if between.now.groups.is_empty() {
        section.push("No cgroup with a memory controller of version 2 can be read here.");
        return Document::new([section]);
    }
    let heading = [
        "cgroup",
        "anonymous",
        "huge",
        "huge %",
        "faults/s",
        "collapses/s",
    ];
    let mut grid = Grid::headed(&heading);
    for group in &between.now.groups {
        grid.rows.push(row(group, between));
    }
    section.push(grid);
    section.push(
        "faults: page faults that got a huge page; collapses: huge pages that khugepaged made.",
    );
    Document::new([section])
}

fn row(group: &Cgroup, between: &Between<'_>) -> Vec<Cell> {
    let rate = |value: fn(&Cgroup) -> Option<u64>| {
        let rate = between.per_second(|sample| value(same(sample, group)?));
        Cell::plain(rate_text(rate))
    };
    vec![
        Cell::plain(name(&group.path)),
        Cell::plain(bytes_text(group.anon_bytes)),
        Cell::plain(memory_text(group.anon_huge_bytes)),
        Cell::plain(share_text(group.anon_huge_bytes, group.anon_bytes)),
        rate(|group| group.huge_faults),
        rate(|group| group.collapses),
    ]
}

fn same<'a>(sample: &'a Sample, group: &Cgroup) -> Option<&'a Cgroup> {
    sample.groups.iter().find(|one| one.path == group.path)
}

/// The last part of the path, indented by two spaces per level.
fn name(path: &str) -> String {
    let depth = path.matches('/').count();
    let (indent, name) = match path.rsplit_once('/') {
        Some((_, name)) if !name.is_empty() => (2 * depth, name),
        _ => (0, path),
    };
    shortened(&format!("{}{}", " ".repeat(indent), plain(name)), NAME)
}
