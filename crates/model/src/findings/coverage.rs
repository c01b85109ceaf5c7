//! How much of a program's memory was huge, by kind, under two policies.

use super::ground::{Absent, Look};

/// The kinds of huge memory that are measured as bytes at their peak.
const KINDS: &[&str] = &[
    "huge_anon_peak_bytes",
    "huge_file_peak_bytes",
    "huge_shmem_peak_bytes",
    "hugetlb_peak_bytes",
];

/// What two policies have in common.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Coverage {
    /// As much was huge under both, in bytes of the baseline.
    Equal(f64),
    /// They differ.
    Differs,
}

/// Compares the huge bytes of a policy with those of the baseline. Anonymous memory must have
/// been read; a kind that was not read under both is left out, and so is no evidence.
///
/// The sampling may miss the peak by a little: less than one huge page, or 1 % of it, is equal.
pub(super) fn compare(look: &mut Look<'_, '_>) -> Result<Coverage, Absent> {
    let mut total = 0.0;
    let huge_page = look.ground.host().pmd_bytes().unwrap_or(0) as f64;
    for kind in KINDS {
        let (there, here) = match look.both(kind) {
            Ok(values) => values,
            Err(absent) if *kind == KINDS[0] => return Err(absent),
            Err(_) => continue,
        };
        if (there - here).abs() >= huge_page.max(0.01 * there.max(here)).max(1.0) {
            return Ok(Coverage::Differs);
        }
        total += there;
    }
    Ok(Coverage::Equal(total))
}
