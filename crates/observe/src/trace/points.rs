//! What can be traced: one table of stalls, and by which means each can be seen.

use std::borrow::Cow;
use std::fmt;

use serde::{Deserialize, Serialize};
use strum::IntoStaticStr;

mod table;

pub use table::points;

/// Points that are asked for together.
#[derive(
    Clone, Copy, Debug, Serialize, Deserialize, PartialEq, Eq, PartialOrd, Ord, IntoStaticStr,
)]
#[serde(rename_all = "snake_case")]
#[strum(serialize_all = "snake_case")]
pub enum Preset {
    /// The slow path of the page allocator.
    Alloc,
    /// Compaction: moving pages to make large blocks.
    Compaction,
    /// Reclaim: freeing pages to make room.
    Reclaim,
    /// khugepaged: scanning and collapsing.
    Khugepaged,
    /// Zeroing of huge pages.
    Zeroing,
    /// Page faults and copy-on-write.
    Fault,
    /// Splitting of huge mappings and huge pages.
    Split,
    /// Waiting for the lock of an address space.
    Lock,
    /// Functions that the user named.
    Function,
}

impl Preset {
    /// Those that have a name on the command line.
    pub const NAMED: [Self; 8] = [
        Self::Alloc,
        Self::Compaction,
        Self::Reclaim,
        Self::Khugepaged,
        Self::Zeroing,
        Self::Fault,
        Self::Split,
        Self::Lock,
    ];

    /// Those that cost next to nothing: what they watch is rare.
    pub const RARE: [Self; 6] = [
        Self::Alloc,
        Self::Compaction,
        Self::Reclaim,
        Self::Khugepaged,
        Self::Zeroing,
        Self::Split,
    ];

    /// Its name on the command line.
    #[must_use]
    pub fn name(self) -> &'static str {
        self.into()
    }

    /// The preset of that name.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        Self::NAMED.into_iter().find(|preset| preset.name() == name)
    }
}

impl fmt::Display for Preset {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// Something whose durations, or whose kinds, are of interest.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Point {
    /// Its one name in all outputs.
    pub name: Cow<'static, str>,
    /// How people call it.
    pub title: Cow<'static, str>,
    /// With what it is asked for.
    pub preset: Preset,
    /// By what it can be seen, the best first.
    pub means: Vec<Hook>,
}

/// A way to see a point.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Hook {
    /// From the entry of a kernel function to its return (fentry and fexit, or kprobes).
    Function {
        /// The names that it has had, one of which this kernel has.
        names: Vec<Cow<'static, str>>,
        /// A parameter by which durations are told apart.
        key: Option<Key>,
        /// What is inside.
        includes: &'static str,
    },
    /// From one tracepoint to another in the same thread.
    Pair {
        /// The folder of both below `/sys/kernel/tracing/events`.
        group: &'static str,
        /// The one that begins.
        begin: &'static str,
        /// The one that ends.
        end: &'static str,
        /// A parameter by which durations are told apart, and of which of the two.
        key: Option<(Edge, Key)>,
        /// Whose events count.
        who: Who,
        /// What is inside.
        includes: &'static str,
    },
    /// A tracepoint alone, of which only the kind is counted.
    Event {
        /// Its folder below `/sys/kernel/tracing/events`.
        group: &'static str,
        /// Its name.
        name: &'static str,
        /// The parameter by which the events are told apart.
        key: Key,
        /// What is counted.
        includes: &'static str,
    },
    /// From the software event before a page fault to the one after it.
    Faults {
        /// What is inside.
        includes: &'static str,
    },
}

/// One of the two ends of a duration.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Edge {
    /// Where it begins.
    Begin,
    /// Where it ends.
    End,
}

/// Whose events count.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Who {
    /// All threads.
    Everyone,
    /// Threads of programs.
    Programs,
    /// The kernel's own threads.
    KernelThreads,
    /// Threads at the lock of their own address space, which is the event's first argument.
    AtOwnMmapLock,
}

/// A parameter by which durations are told apart.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Key {
    /// The names that it has had.
    pub parameters: &'static [&'static str],
    /// What its values mean.
    pub decode: Decode,
}

/// What the values of a parameter mean.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Decode {
    /// The power of two of pages that is wanted.
    Order,
    /// A value of an enumeration of the kernel; its names begin with the prefix.
    Enumeration {
        /// Its name in the kernel's types.
        name: &'static str,
        /// What all names begin with.
        prefix: &'static str,
    },
    /// No or yes.
    Flag([&'static str; 2]),
}

impl Decode {
    /// What is told apart, as a head of a column.
    #[must_use]
    pub fn head(&self) -> &'static str {
        match self {
            Self::Order => "order",
            Self::Enumeration { .. } => "result",
            Self::Flag(_) => "kind",
        }
    }

    /// How many values there are room for, one more than the largest that is known. Orders go up
    /// to 10, or 13 with pages of 64 KiB (MAX_PAGE_ORDER); enumerations have fewer than 48.
    #[must_use]
    pub fn values(&self) -> u32 {
        match self {
            Self::Order => 15,
            Self::Enumeration { .. } => 48,
            Self::Flag(_) => 2,
        }
    }
}

/// The point for a function that the user named: its other names are known where the table
/// knows them.
#[must_use]
pub fn of_function(name: &str) -> Point {
    let known = points().into_iter().flat_map(|point| point.means);
    let group = known.filter_map(|means| match means {
        Hook::Function { names, .. } if names.iter().any(|known| known == name) => Some(names),
        _ => None,
    });
    let mut names = vec![Cow::Owned(name.to_owned())];
    let others = group.flatten().filter(|other| other != name);
    names.extend(others);
    Point {
        name: Cow::Owned(name.to_owned()),
        title: Cow::Owned(name.to_owned()),
        preset: Preset::Function,
        means: vec![Hook::Function {
            names,
            key: None,
            includes: "the whole function, and what it calls",
        }],
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn every_point_has_a_name_of_its_own_and_a_means() {
        let mut names = BTreeSet::new();
        for point in points() {
            assert!(names.insert(point.name.clone()), "{} twice", point.name);
            assert!(!point.means.is_empty(), "{}", point.name);
            assert!(point.title.chars().count() <= 36, "{}", point.title);
            let legal = |c: char| c.is_ascii_lowercase() || c == '_';
            assert!(point.name.chars().all(legal), "{}", point.name);
        }
    }

    #[test]
    fn every_preset_has_points_and_is_found_by_its_name() {
        for preset in Preset::NAMED {
            assert!(points().iter().any(|point| point.preset == preset));
            assert_eq!(Preset::named(preset.name()), Some(preset));
        }
        assert_eq!(Preset::named("function"), None);
    }

    #[test]
    fn an_old_name_brings_the_new_one() {
        let point = of_function("clear_huge_page");
        let [Hook::Function { names, .. }] = &point.means[..] else {
            panic!("one function");
        };
        assert_eq!(names, &["clear_huge_page", "folio_zero_user"]);
        assert_eq!(of_function("vfs_read").title, "vfs_read");
    }
}
