//! The effect of tracing a tree of processes on its memory.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use serde::{Deserialize, Serialize};

use super::MappedSite;

/// What the tracer did to one tree.
#[derive(Clone, Debug, Default, Serialize, Deserialize, PartialEq, Eq)]
#[serde(deny_unknown_fields)]
pub struct Tracing {
    /// Ranges that were advised.
    pub ranges: u64,
    /// Their bytes of address space.
    pub bytes: u64,
    /// Calls at which a thread was stopped.
    pub stops: u64,
    /// Ranges for which the kernel refused the advice.
    pub refused: u64,
    /// What was made huge later, where that was asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub collapsing: Option<Collapsing>,
    /// The code that was put into huge pages, where that was asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub text: Option<Collapsing>,
    /// What was mapped at each site, in the order of the first mapping, where sites are told apart.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub sites: Vec<MappedSite>,
    /// What it could not reach, and why: a sentence each.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub beyond: Vec<String>,
    /// Calls of the program's own that a tracer stands in the way of.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub clashes: BTreeSet<Clash>,
}

/// A way in which a program and the means of a policy exclude each other: no effect of huge pages.
#[derive(Clone, Copy, Debug, Serialize, Deserialize, PartialEq, Eq, PartialOrd, Ord)]
#[serde(rename_all = "snake_case")]
pub enum Clash {
    /// The program filters its own system calls (seccomp), and the filter refuses our call.
    OwnFilter,
    /// The program traces another process (ptrace), and a process has one tracer.
    Traces,
    /// The program asks to be traced by its parent (`PTRACE_TRACEME`), which a traced one may not.
    AsksForTracer,
    /// A set-user-ID program loses its privilege when it is traced.
    LosesPrivilege,
    /// It fails as well if the same means gives it no huge page.
    Unexplained,
}

impl Clash {
    /// Returns true if a program may do without a tracer, but not with one.
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
    /// Notes once what could not be reached.
    pub fn say(&mut self, sentence: String) {
        if !self.beyond.contains(&sentence) {
            self.beyond.push(sentence);
        }
    }
}

/// Memory or code that was made huge while the program had it in use.
#[derive(Clone, Debug, Default, Serialize, Deserialize, PartialEq, Eq)]
#[serde(deny_unknown_fields)]
pub struct Collapsing {
    /// Passes over all processes of the tree.
    pub passes: u64,
    /// Stops of one thread: one call of `madvise(MADV_COLLAPSE)` each, or those that put one
    /// stretch of code into huge pages.
    pub calls: u64,
    /// Bytes that became huge.
    pub bytes: u64,
    /// Bytes that did not, by the name of the error; those that are tried again count again.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub refused: BTreeMap<String, u64>,
    /// How long threads stood for it, in nanoseconds: one at a time.
    pub held_ns: u64,
    /// The longest stop of them, in nanoseconds.
    pub longest_ns: u64,
}
