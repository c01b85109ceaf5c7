//! How close a report came to the planted reason.

use super::kept::{Kind, Row};

/// Each has a name in the document.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// Only the planted reason.
    Alone,
    /// The planted reason first, with others that cannot be distinguished from it.
    First,
    /// The planted reason among several.
    Among,
    /// Something else.
    Wrong,
    /// It could not be planted.
    Absent,
}

impl Verdict {
    /// Returns the verdict on a row.
    pub fn of(row: &Row) -> Self {
        if matches!(row.kind, Kind::NotHere | Kind::Spoilt) {
            return Self::Absent;
        }
        let code = row.code();
        let (first, others) = match row.reported.split_once(" or ") {
            None => (row.reported.as_str(), ""),
            Some(pair) => pair,
        };
        let several_answers = row.reported.contains(" and ");
        match first == code {
            _ if several_answers => Self::Wrong,
            true if others.is_empty() => Self::Alone,
            true => Self::First,
            false if others.split(", ").any(|other| other == code) => Self::Among,
            false => Self::Wrong,
        }
    }

    /// Returns the sign in the table.
    pub fn sign(self) -> &'static str {
        match self {
            Self::Alone => "✓",
            Self::First => "1st",
            Self::Among => "among",
            Self::Wrong => "**✗**",
            Self::Absent => "–",
        }
    }
}

/// Returns true if a row is as expected: exactly the reason; less, with a sentence that explains it; or nothing if it
/// is impossible on this machine.
pub fn is_right(row: &Row) -> bool {
    match Verdict::of(row) {
        Verdict::Alone => true,
        Verdict::First | Verdict::Among => row.exception.is_some(),
        Verdict::Absent => row.kind == Kind::NotHere,
        Verdict::Wrong => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(planted: &str, kind: Kind, reported: &str) -> Row {
        Row {
            planted: planted.to_owned(),
            role: "root".to_owned(),
            kind,
            reported: reported.to_owned(),
            exception: None,
        }
    }

    #[test]
    fn only_the_planted_reason_alone_is_right() {
        let verdict = |planted, reported| Verdict::of(&row(planted, Kind::Why, reported));
        assert_eq!(verdict("KSM", "KSM"), Verdict::Alone);
        assert_eq!(verdict("KSM/x", "KSM"), Verdict::Alone);
        assert_eq!(verdict("KSM", "KSM or UFFD"), Verdict::First);
        assert_eq!(verdict("KSM", "UFFD or SWAPPED, KSM"), Verdict::Among);
        assert_eq!(verdict("KSM", "UFFD"), Verdict::Wrong);
        assert_eq!(verdict("KSM", "UFFD or SWAPPED"), Verdict::Wrong);
        assert_eq!(verdict("KSM", "KSM?"), Verdict::Wrong);
        assert_eq!(verdict("KSM", "KSM and UFFD"), Verdict::Wrong);
    }

    #[test]
    fn less_is_right_with_a_reason_only() {
        let mut several = row("KSM", Kind::Why, "KSM or UFFD");
        assert!(!is_right(&several));
        several.exception = Some("no rights".to_owned());
        assert!(is_right(&several));
        assert!(is_right(&row("KSM", Kind::NotHere, "not here: no KSM")));
        assert!(!is_right(&row("KSM", Kind::Spoilt, "did not come up")));
    }
}
