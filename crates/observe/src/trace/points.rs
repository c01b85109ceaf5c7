//! The traceable points: one table of stalls, with the mechanisms for each.

use std::borrow::Cow;
use std::fmt;

use serde::{Deserialize, Serialize};
use strum::IntoStaticStr;

mod table;

pub use table::points;

/// A group of points that are requested together.
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
    /// Functions named by the user.
    Function,
}

impl Preset {
    /// The presets with a name on the command line.
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

    /// The presets with almost no overhead, because they watch rare events.
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

    /// Returns the preset with this name.
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

/// A traceable stall or event.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Point {
    /// Its unique name.
    pub name: Cow<'static, str>,
    /// The name for people.
    pub title: Cow<'static, str>,
    /// The preset that contains it.
    pub preset: Preset,
    /// The ways to trace it, the best first.
    pub means: Vec<Hook>,
}

/// A way to trace a point.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Hook {
    /// From the entry of a kernel function to its return (fentry and fexit, or kprobes).
    Function {
        /// The names across kernel versions; this kernel has one of them.
        names: Vec<Cow<'static, str>>,
        /// A parameter that distinguishes durations.
        key: Option<Key>,
        /// The work that a duration includes.
        includes: &'static str,
    },
    /// From one tracepoint to another in the same thread.
    Pair {
        /// The folder of both below `/sys/kernel/tracing/events`.
        group: &'static str,
        /// The start event.
        begin: &'static str,
        /// The end event.
        end: &'static str,
        /// A parameter that distinguishes durations, and the event that has it.
        key: Option<(Edge, Key)>,
        /// The threads whose events count.
        who: Who,
        /// The work that a duration includes.
        includes: &'static str,
    },
    /// A single tracepoint; its events are counted by kind.
    Event {
        /// Its folder below `/sys/kernel/tracing/events`.
        group: &'static str,
        /// Its name.
        name: &'static str,
        /// The parameter that distinguishes the events.
        key: Key,
        /// The meaning of the count.
        includes: &'static str,
    },
    /// From the software event before a page fault to the one after it.
    Faults {
        /// The work that a duration includes.
        includes: &'static str,
    },
}

/// One end of a duration.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Edge {
    /// The start.
    Begin,
    /// The end.
    End,
}

/// The threads whose events count.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Who {
    /// All threads.
    Everyone,
    /// Threads of user programs.
    Programs,
    /// Kernel threads.
    KernelThreads,
    /// Threads waiting for the lock of their own address space, which is the first argument of the event.
    AtOwnMmapLock,
}

/// A parameter that distinguishes durations.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Key {
    /// The names across kernel versions.
    pub parameters: &'static [&'static str],
    /// How to decode its values.
    pub decode: Decode,
}

/// How to decode the values of a parameter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Decode {
    /// The requested allocation order, a power of two of pages.
    Order,
    /// A value of a kernel enum whose names begin with the prefix.
    Enumeration {
        /// The name of the enum in the kernel's types.
        name: &'static str,
        /// The common prefix of all names.
        prefix: &'static str,
    },
    /// No or yes.
    Flag([&'static str; 2]),
}

impl Decode {
    /// Returns the property as a column title.
    #[must_use]
    pub fn head(&self) -> &'static str {
        match self {
            Self::Order => "order",
            Self::Enumeration { .. } => "result",
            Self::Flag(_) => "kind",
        }
    }

    /// The number of values with a slot, one more than the largest known value. Orders go up to 10, or 13 with pages of
    /// 64 KiB (MAX_PAGE_ORDER); enums have fewer than 48 values.
    #[must_use]
    pub fn values(&self) -> u32 {
        match self {
            Self::Order => 15,
            Self::Enumeration { .. } => 48,
            Self::Flag(_) => 2,
        }
    }
}

/// Returns the point for a function named by the user. If the table lists the function, its other names are used too.
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
