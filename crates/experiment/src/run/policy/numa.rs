//! `numa=`: the memory nodes of a program's pages.

use std::collections::BTreeSet;
use std::fmt;

use serde::{Deserialize, Serialize};
use strum::{EnumString, IntoStaticStr, VariantArray};

use super::words::{Word, words};

words! {
    /// How nodes are chosen; the words of `/proc/PID/numa_maps`.
    pub enum NumaMode {
        /// The node of the processor that touches the page.
        Local,
        /// This node, and others when it is full.
        Prefer,
        /// Only these nodes.
        Bind,
        /// These nodes in rotation.
        Interleave,
    }
}

/// A memory policy of set_mempolicy(2), which children inherit.
#[derive(Clone, Debug, Serialize, Deserialize, PartialEq, Eq)]
#[serde(deny_unknown_fields)]
pub struct Numa {
    /// How nodes are chosen.
    pub mode: NumaMode,
    /// The nodes. Empty for [`NumaMode::Local`]; with [`NumaMode::Interleave`], empty means all nodes with memory.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub nodes: BTreeSet<u32>,
}

/// The kernel supports no more nodes (`MAX_NUMNODES`, linux/numa.h).
pub const MOST_NODES: u32 = 1024;

impl Numa {
    /// `bind:0+1`.
    pub(super) fn parse(key: &str, value: &str) -> Result<Self, String> {
        read(value, '+').ok_or_else(|| {
            format!(
                "`{key}={value}`: expected local, prefer:NODE, bind:NODES or interleave[:NODES], as \
                 in {key}=bind:0+1"
            )
        })
    }

    /// Returns true if a policy in the format of `/proc/PID/numa_maps` equals this one: `bind:0-1`.
    #[must_use]
    pub fn is_shown_by(&self, shown: &str) -> bool {
        let all = self.mode == NumaMode::Interleave && self.nodes.is_empty();
        read(shown, ',').is_some_and(|it| it.mode == self.mode && (all || it.nodes == self.nodes))
    }

    /// The equivalent arguments of `numactl`.
    #[must_use]
    pub fn numactl(&self) -> String {
        let nodes = joined(&self.nodes, ",");
        match self.mode {
            NumaMode::Local => "numactl --localalloc".to_owned(),
            NumaMode::Prefer => format!("numactl --preferred={nodes}"),
            NumaMode::Bind => format!("numactl --membind={nodes}"),
            NumaMode::Interleave if nodes.is_empty() => "numactl --interleave=all".to_owned(),
            NumaMode::Interleave => format!("numactl --interleave={nodes}"),
        }
    }
}

impl fmt::Display for Numa {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.mode.word())?;
        match joined(&self.nodes, "+") {
            nodes if nodes.is_empty() => Ok(()),
            nodes => write!(f, ":{nodes}"),
        }
    }
}

fn joined(nodes: &BTreeSet<u32>, separator: &str) -> String {
    let nodes: Vec<String> = nodes.iter().map(u32::to_string).collect();
    nodes.join(separator)
}

/// Parses a node list in kernel format: `0-1,3`. Returns `None` for other text.
#[must_use]
pub fn parse_nodes(list: &str) -> Option<BTreeSet<u32>> {
    read_nodes(list, ',')
}

fn read(text: &str, separator: char) -> Option<Numa> {
    let (mode, list) = match text.split_once(':') {
        Some((mode, list)) => (mode, Some(list)),
        None => (text, None),
    };
    let mode: NumaMode = mode.parse().ok()?;
    let nodes = match list {
        Some(list) => read_nodes(list, separator)?,
        None => BTreeSet::new(),
    };
    let fits = match mode {
        NumaMode::Local => list.is_none(),
        NumaMode::Prefer => nodes.len() == 1,
        NumaMode::Bind => !nodes.is_empty(),
        NumaMode::Interleave => true,
    };
    fits.then_some(Numa { mode, nodes })
}

/// Parses `0-1` and `3`, joined by a separator.
fn read_nodes(list: &str, separator: char) -> Option<BTreeSet<u32>> {
    let mut nodes = BTreeSet::new();
    for part in list.split(separator) {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        let (first, last): (u32, u32) = (first.parse().ok()?, last.parse().ok()?);
        if first > last || last >= MOST_NODES {
            return None;
        }
        nodes.extend(first..=last);
    }
    Some(nodes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nodes_are_read_and_written() {
        for (typed, text, shown, command) in [
            ("local", "local", "local", "numactl --localalloc"),
            ("prefer:1", "prefer:1", "prefer:1", "numactl --preferred=1"),
            (
                "bind:0-1+3",
                "bind:0+1+3",
                "bind:0-1,3",
                "numactl --membind=0,1,3",
            ),
            (
                "interleave",
                "interleave",
                "interleave:0-3",
                "numactl --interleave=all",
            ),
            (
                "interleave:0+2",
                "interleave:0+2",
                "interleave:0,2",
                "numactl --interleave=0,2",
            ),
        ] {
            let numa = Numa::parse("numa", typed).expect(typed);
            assert_eq!(numa.to_string(), text);
            assert!(numa.is_shown_by(shown), "{shown}");
            assert!(!numa.is_shown_by("default"), "{typed}");
            assert_eq!(numa.numactl(), command);
        }
        let bound = Numa::parse("numa", "bind:1").expect("a policy");
        assert!(!bound.is_shown_by("bind:0-1"));
    }

    #[test]
    fn what_is_no_policy_is_refused_with_an_example() {
        for typed in [
            "",
            "bind",
            "bind:",
            "bind:x",
            "prefer:0+1",
            "local:0",
            "bind:2-1",
            "bind:1024",
        ] {
            let error = Numa::parse("numa", typed).expect_err(typed);
            assert!(error.contains("numa=bind:0+1"), "{error}");
        }
    }
}
