use std::collections::{BTreeMap, BTreeSet};

use hugewise_model::base::missing::Missing;
use hugewise_model::observe::faults::Accounted;

use super::{Parsed, number};
use crate::root::Root;

/// Faults so far of some processes, by the kernel's own accounting.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FaultCounts(BTreeMap<u32, Accounted>);

/// Parses `minflt` and `majflt`, fields 10 and 12 of `/proc/PID/stat`: all threads of the
/// process, dead ones included.
///
/// # Errors
/// The line has too few fields, or they are no numbers.
pub fn parse_fault_counts(bytes: &[u8]) -> Parsed<Accounted> {
    let text = String::from_utf8_lossy(bytes);
    // The name in parentheses may hold anything, parentheses included: the last one ends it.
    let (_, rest) = text.rsplit_once(')').ok_or("line 1: no name")?;
    let fields: Vec<&str> = rest.split_whitespace().collect();
    let field = |name, index: usize| {
        let text = fields.get(index).ok_or("line 1: too few fields")?;
        number(1, name, text)
    };
    Ok(Accounted {
        minor: field("minflt", 7)?,
        major: field("majflt", 9)?,
    })
}

impl FaultCounts {
    /// Reads them; processes that are gone are left out.
    #[must_use]
    pub fn read(root: &Root, pids: &BTreeSet<u32>) -> Self {
        let counts = pids.iter().filter_map(|&pid| {
            let bytes = root.read(format!("proc/{pid}/stat")).ok()?;
            Some((pid, parse_fault_counts(&bytes).ok()?))
        });
        Self(counts.collect())
    }

    /// What has come since, in the same processes.
    ///
    /// # Errors
    /// One of them has ended.
    pub fn until(&self, later: &Self) -> Result<Accounted, Missing> {
        let mut sum = Accounted::default();
        for (pid, before) in &self.0 {
            let after = later.0.get(pid).ok_or(Missing::TooShort)?;
            sum.minor += after.minor.saturating_sub(before.minor);
            sum.major += after.major.saturating_sub(before.major);
        }
        Ok(sum)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn names_may_hold_parentheses() {
        let text = b"13845 (a) (b) R 13814 13814 4542 0 -1 4194304 100 7 3 0 0 0\n";
        let expected = Accounted {
            minor: 100,
            major: 3,
        };
        assert_eq!(parse_fault_counts(text), Ok(expected));
        assert!(parse_fault_counts(b"1 (a) R 2").is_err());
    }

    #[test]
    fn a_process_that_ended_has_no_difference() {
        let one = |minor| FaultCounts(BTreeMap::from([(7, Accounted { minor, major: 0 })]));
        assert_eq!(one(5).until(&one(9)), Ok(Accounted { minor: 4, major: 0 }));
        assert!(one(5).until(&FaultCounts::default()).is_err());
    }

    proptest! {
        #[test]
        fn no_bytes_panic(bytes: Vec<u8>) {
            let _ = parse_fault_counts(&bytes);
        }
    }
}
