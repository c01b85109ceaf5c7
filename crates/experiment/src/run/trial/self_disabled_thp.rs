//! A program's own calls against huge pages.

use std::fmt;

use super::{Process, off_remedy};

/// An action by which the program keeps huge pages from its memory, whatever the policy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OwnAct<'a> {
    /// `prctl(PR_SET_THP_DISABLE)`.
    SwitchedOff(&'a Process),
    /// `madvise(MADV_NOHUGEPAGE)` on most of its anonymous memory.
    AdvisedAgainst {
        /// The process.
        process: &'a Process,
        /// Advised anonymous memory, in bytes.
        bytes: u64,
        /// All of its anonymous memory, in bytes.
        of: u64,
    },
    /// Not an action of the program: the kernel keeps thread stacks small, and they make up most of its anonymous
    /// memory.
    ThreadStacks {
        /// The process.
        process: &'a Process,
        /// Anonymous memory of stacks, in bytes.
        bytes: u64,
        /// All of its anonymous memory, in bytes.
        of: u64,
    },
}

/// Programs with a setting for it: the name of the process, and the setting that keeps huge pages enabled.
const REMEDIES: [(&str, &str); 3] = [
    ("redis-server", "--disable-thp no"),
    ("valkey-server", "--disable-thp no"),
    ("keydb-server", "--disable-thp no"),
];

/// The setting that keeps huge pages enabled in a program that disables them, by the name of its process.
#[must_use]
pub fn remedy(command: &str) -> Option<&'static str> {
    let known = REMEDIES.iter().find(|(name, _)| *name == command);
    known.map(|(_, remedy)| *remedy)
}

impl<'a> OwnAct<'a> {
    /// The process that did it.
    #[must_use]
    pub fn process(self) -> &'a Process {
        match self {
            Self::SwitchedOff(process)
            | Self::AdvisedAgainst { process, .. }
            | Self::ThreadStacks { process, .. } => process,
        }
    }

    /// The start option that prevents it, if known.
    #[must_use]
    pub fn remedy(self) -> Option<String> {
        let process = self.process();
        if matches!(self, Self::ThreadStacks { .. }) {
            return None;
        }
        if let Some(remedy) = remedy(&process.name) {
            return Some(remedy.to_owned());
        }
        off_remedy(&process.environment).map(str::to_owned)
    }
}

impl fmt::Display for OwnAct<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::SwitchedOff(process) => write!(
                f,
                "{} switched huge pages off for itself by prctl(PR_SET_THP_DISABLE)",
                process.name
            ),
            Self::AdvisedAgainst { process, bytes, of } => write!(
                f,
                "{} advised MADV_NOHUGEPAGE on {:.0} % of its anonymous memory",
                process.name,
                *bytes as f64 / (*of).max(1) as f64 * 100.0
            ),
            Self::ThreadStacks { process, bytes, of } => write!(
                f,
                "{:.0} % of the anonymous memory of {} is thread stacks, which the kernel keeps small (MAP_STACK)",
                *bytes as f64 / (*of).max(1) as f64 * 100.0,
                process.name
            ),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::host::ThpDisable;
    use crate::run::trial::{Advice, ProcessTree, ReadBack};

    fn read_back(change: impl FnOnce(&mut Process)) -> ReadBack {
        let mut largest = Process {
            name: "redis-server".to_owned(),
            thp_enabled: Some(true),
            ..Process::default()
        };
        change(&mut largest);
        let tree = ProcessTree {
            largest,
            ..ProcessTree::default()
        };
        ReadBack {
            thp_disable: Some(ThpDisable::Off),
            tree: Some(tree),
            ..ReadBack::default()
        }
    }

    #[test]
    fn the_switch_is_the_programs_own_where_it_was_not_inherited() {
        let mut read = read_back(|process| process.thp_enabled = Some(false));
        let act = read.own_act().expect("an act");
        assert_eq!(act.remedy().as_deref(), Some("--disable-thp no"));
        assert_eq!(
            act.to_string(),
            "redis-server switched huge pages off for itself by prctl(PR_SET_THP_DISABLE)"
        );
        read.thp_disable = Some(ThpDisable::Disabled);
        assert_eq!(read.own_act(), None);
        assert_eq!(read_back(|_| {}).own_act(), None);
        assert_eq!(ReadBack::default().own_act(), None);
    }

    #[test]
    fn advice_against_is_an_act_of_its_own() {
        let read = read_back(|process| {
            process.name = "x".to_owned();
            let conf = ("MALLOC_CONF".to_owned(), "narenas:1,thp:never".to_owned());
            process.environment.extend([conf]);
            process.advice = Some(Advice {
                anon_bytes: 100 << 20,
                huge_bytes: 0,
                no_huge_bytes: 93 << 20,
                ..Advice::default()
            });
        });
        let act = read.own_act().expect("an act");
        assert_eq!(
            act.to_string(),
            "x advised MADV_NOHUGEPAGE on 93 % of its anonymous memory"
        );
        assert_eq!(
            act.remedy().as_deref(),
            Some("MALLOC_CONF without thp:never")
        );
    }
}
