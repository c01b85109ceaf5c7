//! Large folios in the page cache of a file system.

use super::range::Range;

/// File systems, and the first release in which they have large folios.
const SINCE: [(&str, (u32, u32)); 3] = [("xfs", (5, 18)), ("ext4", (6, 16)), ("btrfs", (7, 3))];
/// Stacked file systems; the lower one decides.
const STACKED: [&str; 4] = ["overlay", "ecryptfs", "fuse", "fuseblk"];

/// The support for large folios in a file system.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum LargeFolios {
    /// A mapping of this process shows some.
    Seen,
    /// The release supports them. A backport or a mount option can change that.
    Expected {
        /// The first release with support.
        since: (u32, u32),
    },
    /// Not known.
    Unknown,
    /// No release is known to support them, or this one is older.
    Absent,
}

impl LargeFolios {
    /// Returns the support of the file system behind a range.
    pub(super) fn of(range: &Range<'_>) -> Self {
        if range.whole.large_folios.contains(&range.mapping.device) {
            return Self::Seen;
        }
        let Some(system) = range.mapping.file_system.as_deref() else {
            return Self::Unknown;
        };
        let since = SINCE.iter().find(|(name, _)| *name == system);
        match (since, release(&range.settings.kernel)) {
            (None, _) if STACKED.contains(&system) => Self::Unknown,
            (None, _) => Self::Absent,
            (Some(_), None) => Self::Unknown,
            (Some(&(_, since)), Some(release)) if release >= since => Self::Expected { since },
            (Some(_), Some(_)) => Self::Absent,
        }
    }
}

/// The first two numbers of a kernel release.
fn release(text: &str) -> Option<(u32, u32)> {
    let mut numbers = text.split(|sign: char| !sign.is_ascii_digit());
    let mut next = || numbers.next()?.parse().ok();
    Some((next()?, next()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn releases_are_compared_as_numbers() {
        assert_eq!(release("6.18.44-fc-v657"), Some((6, 18)));
        assert_eq!(release("5.4-rc1"), Some((5, 4)));
        assert!(release("6.9.1") < release("6.16.0"));
        assert_eq!(release("unknown"), None);
        assert_eq!(release(""), None);
    }
}
