//! The effect of tracing a tree of processes on its memory.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use serde::{Deserialize, Serialize};

use super::MappedSite;

/// The tracer's actions on one tree.
#[derive(Clone, Debug, Default, Serialize, Deserialize, PartialEq, Eq)]
#[serde(deny_unknown_fields)]
pub struct Tracing {
    /// Number of advised ranges.
    pub ranges: u64,
    /// Their bytes of address space.
    pub bytes: u64,
    /// Calls at which a thread was stopped.
    pub stops: u64,
    /// Ranges for which the kernel refused the advice.
    pub refused: u64,
    /// Memory made huge later, if requested.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub collapsing: Option<Collapsing>,
    /// Code put into huge pages, if requested.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub text: Option<Collapsing>,
    /// The mappings of each site, in the order of the first mapping, if sites are distinguished.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub sites: Vec<MappedSite>,
    /// Processes and memory that it could not reach, and why: a sentence each.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub beyond: Vec<String>,
    /// Calls of the program that a tracer interferes with.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub clashes: BTreeSet<Clash>,
}

/// A conflict between a program and the mechanism of a policy, unrelated to huge pages.
#[derive(Clone, Copy, Debug, Serialize, Deserialize, PartialEq, Eq, PartialOrd, Ord)]
#[serde(rename_all = "snake_case")]
pub enum Clash {
    /// The program filters its system calls (seccomp), and the filter refuses ours.
    OwnFilter,
    /// The program traces another process (ptrace), and a process has one tracer.
    Traces,
    /// The program asks to be traced by its parent (`PTRACE_TRACEME`), which a traced process cannot.
    AsksForTracer,
    /// A set-user-ID program loses its privilege when it is traced.
    LosesPrivilege,
    /// It also fails if the same mechanism gives it no huge page.
    Unexplained,
}

impl Clash {
    /// Returns true if a program may run without a tracer, but not with one.
    #[must_use]
    pub fn is_about_tracing(self) -> bool {
        matches!(self, Self::Traces | Self::AsksForTracer)
    }
}

impl fmt::Display for Clash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::OwnFilter => "it filters its own system calls (seccomp)",
            Self::Traces => "it traces another process (ptrace)",
            Self::AsksForTracer => "a process of it asks to be traced (PTRACE_TRACEME)",
            Self::LosesPrivilege => "a set-user-ID program loses its privilege if it is traced",
            Self::Unexplained => "it fails as well if the same means gives no huge page",
        })
    }
}

impl Tracing {
    /// Adds an unreachable item, once.
    pub fn say(&mut self, sentence: String) {
        if !self.beyond.contains(&sentence) {
            self.beyond.push(sentence);
        }
    }
}

/// Memory or code made huge while in use by the program.
#[derive(Clone, Debug, Default, Serialize, Deserialize, PartialEq, Eq)]
#[serde(deny_unknown_fields)]
pub struct Collapsing {
    /// Passes over all processes of the tree.
    pub passes: u64,
    /// Stops of one thread: one call of `madvise(MADV_COLLAPSE)` each, or the calls that put one range of code into
    /// huge pages.
    pub calls: u64,
    /// Bytes that became huge.
    pub bytes: u64,
    /// Bytes that did not, by the name of the error; retries count again.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub refused: BTreeMap<String, u64>,
    /// Total time for which threads were stopped, in nanoseconds: one at a time.
    pub held_ns: u64,
    /// The longest of these stops, in nanoseconds.
    pub longest_ns: u64,
}
