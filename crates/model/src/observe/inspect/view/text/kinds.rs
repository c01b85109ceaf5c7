//! The memory of a process by kind: what is huge, what is none at all, what could be huge.

use std::fmt::{self, Write};

use super::{Pen, counted};
use crate::base::units::bytes_text;
use crate::observe::inspect::view::{Inspection, Summary};

pub(super) fn kinds<W: Write>(inspection: &Inspection, pen: &mut Pen<'_, W>) -> fmt::Result {
    let summary = &inspection.summary;
    pen.line("")?;
    let anonymous = summary.huge_anonymous;
    row(pen, "huge, anonymous", anonymous, "AnonHugePages")?;
    where_there_are_any(inspection, pen)?;
    folios(inspection, pen)?;
    let could = summary.could_be_huge;
    row(pen, "could be huge", could, "by all settings, and is small")?;
    advice(summary, pen)
}

/// The kinds of which most processes have none.
fn where_there_are_any<W: Write>(inspection: &Inspection, pen: &mut Pen<'_, W>) -> fmt::Result {
    let summary = &inspection.summary;
    let of_size = |bytes| format!("{} shared by all; no memory", bytes_text(bytes));
    let huge_zero = of_size(inspection.space.huge_bytes);
    let small_zero = of_size(inspection.space.page_bytes);
    for (label, bytes, note) in [
        ("huge, shared memory", summary.huge_shmem, "ShmemPmdMapped"),
        ("huge, file", summary.huge_file, "FilePmdMapped"),
        (
            "explicit huge pages",
            summary.hugetlb,
            "hugetlb; not in resident",
        ),
        ("huge zero page", summary.huge_zero, &huge_zero),
        ("small zero pages", summary.small_zero, &small_zero),
        ("in swap", summary.swap, ""),
    ] {
        if bytes != Some(0) {
            row(pen, label, bytes, note)?;
        }
    }
    Ok(())
}

fn folios<W: Write>(inspection: &Inspection, pen: &mut Pen<'_, W>) -> fmt::Result {
    for folio in inspection.summary.folios.iter().flatten() {
        if folio.folio > inspection.space.page_bytes {
            let label = format!("in {} folios", bytes_text(folio.folio));
            row(pen, &label, Some(folio.bytes), "mapped by small entries")?;
        }
    }
    Ok(())
}

fn advice<W: Write>(summary: &Summary, pen: &mut Pen<'_, W>) -> fmt::Result {
    let (advised, against) = summary.advised;
    if advised + against == 0 {
        return Ok(());
    }
    pen.line(&format!(
        "  {:<22}{} for huge pages (hg), {} against (nh)",
        "advice",
        counted(advised, "mapping"),
        counted(against, "mapping")
    ))
}

fn row<W: Write>(pen: &mut Pen<'_, W>, label: &str, bytes: Option<u64>, note: &str) -> fmt::Result {
    let bytes = bytes.map_or_else(|| "not read".to_owned(), bytes_text);
    pen.line(&format!("  {label:<20} {bytes:>10}   {note}"))
}
