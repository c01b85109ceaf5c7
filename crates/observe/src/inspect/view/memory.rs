//! The memory of a process by kind.

use hugewise_base::units::bytes_text;
use hugewise_text::document::Section;
use hugewise_text::grid::{Align, Grid};
use hugewise_text::number::counted;

use super::Inspection;
use super::document::word_size;

/// A row: kind of memory, size, and the kernel's name for it.
type Row = (String, Option<u64>, String);

/// Returns the detail section: properties of the process, and its memory by kind.
pub(super) fn section(inspection: &Inspection) -> Section {
    let process = &inspection.space.process;
    let summary = &inspection.summary;
    let about = format!(
        "User {}, {}{}; {} mapped in {}.",
        process.uid,
        counted(process.threads, "thread"),
        word_size(process),
        bytes_text(summary.mapped),
        counted(summary.mappings, "mapping"),
    );
    let mut grid = Grid::default().aligned(&[Align::Left, Align::Right, Align::Wrapped]);
    for (label, bytes, note) in rows(inspection) {
        let bytes = bytes.map_or_else(|| "not read".to_owned(), bytes_text);
        grid.push([label, bytes, note]);
    }
    let mut section = Section::titled("Memory")
        .with_detail(about)
        .with_detail(grid);
    let (advised, against) = summary.advised;
    if advised + against > 0 {
        section.push_detail(format!(
            "Advice: {} with MADV_HUGEPAGE (hg), {} with MADV_NOHUGEPAGE or MAP_STACK (nh).",
            counted(advised, "mapping"),
            counted(against, "mapping")
        ));
    }
    section
}

/// Returns the rows. Kinds with no memory are omitted, except for the two that every reader looks for.
fn rows(inspection: &Inspection) -> Vec<Row> {
    let summary = &inspection.summary;
    let shared = |bytes| format!("one page of {} for all; no memory", bytes_text(bytes));
    let row = |label: &str, bytes, note: &str| (label.to_owned(), bytes, note.to_owned());
    let mut rows = vec![row(
        "huge, anonymous",
        summary.huge_anonymous,
        "AnonHugePages",
    )];
    let rare = [
        row("huge, shared memory", summary.huge_shmem, "ShmemPmdMapped"),
        row("huge, file", summary.huge_file, "FilePmdMapped"),
        row(
            "explicit huge pages",
            summary.hugetlb,
            "hugetlb; not in resident",
        ),
        row(
            "huge zero page",
            summary.huge_zero,
            &shared(inspection.space.huge_bytes),
        ),
        row(
            "small zero pages",
            summary.small_zero,
            &shared(inspection.space.page_bytes),
        ),
        row("in swap", summary.swap, ""),
    ];
    rows.extend(rare.into_iter().filter(|row| row.1 != Some(0)));
    rows.extend(folios(inspection));
    let eligible = "all settings allow huge pages";
    rows.push(row("eligible, but small", summary.could_be_huge, eligible));
    rows
}

/// Folios larger than a page that are not mapped by a PMD.
fn folios(inspection: &Inspection) -> impl Iterator<Item = Row> {
    let page = inspection.space.page_bytes;
    let folios = inspection.summary.folios.iter().flatten();
    folios.filter(move |one| one.folio > page).map(|one| {
        let label = format!("in {} folios", bytes_text(one.folio));
        (label, Some(one.bytes), "not PMD-mapped".to_owned())
    })
}
