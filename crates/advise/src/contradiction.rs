//! Programs on one machine that want different values of a setting, and how all of them can be satisfied.

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;

use super::fact::Facts;
use super::program::Program;
use super::rule::Authority;
use super::ruling::{Ruling, Standing};
use super::settings::Settings;

/// The mode of huge pages of the machine. A process can have another mode through its own settings.
const MODE: &str = "enabled";

/// A machine setting for which programs want different values.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Contradiction {
    /// The setting: a file below `transparent_hugepage/`, or a sysctl name.
    pub setting: String,
    /// Its current value, if known.
    pub now: Option<String>,
    /// The programs and the values that they want.
    pub wishes: Vec<Wish>,
    /// The machine value that suits all programs; `None` if there is none.
    pub solution: Option<String>,
}

/// The value that one program wants.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Wish {
    /// The PID, if it is running.
    pub pid: Option<u32>,
    /// The name of the program.
    pub program: String,
    /// The rule.
    pub rule: String,
    /// The authority behind the rule.
    pub by: Authority,
    /// The value.
    pub value: String,
    /// The current standing of the rule.
    pub standing: Standing,
    /// How only this program can get the value, independently of the machine's value.
    pub own_means: Option<String>,
}

impl Contradiction {
    /// Returns true if programs want different values, and at least one does not have the value it wants.
    fn is_open(&self) -> bool {
        let lacks = |wish: &Wish| {
            wish.standing < Standing::Followed && self.now.as_ref() != Some(&wish.value)
        };
        let mut wishes = self.wishes.iter();
        let first = wishes.next().map(|wish| &wish.value);
        wishes.any(|wish| Some(&wish.value) != first) && self.wishes.iter().any(lacks)
    }
}

impl Wish {
    /// Name and PID for people.
    #[must_use]
    pub fn who(&self) -> String {
        match self.pid {
            Some(pid) => format!("{} ({pid})", self.program),
            None => self.program.clone(),
        }
    }
}

/// Returns the contradictions among the rules that apply and are not refuted. For each setting, a program wants the
/// value of its rule with the highest authority. If every program has its value now, there is no contradiction.
pub(super) fn find(programs: &[Program], host: &Facts) -> Vec<Contradiction> {
    let mut wishes: BTreeMap<String, Vec<Wish>> = BTreeMap::new();
    for program in programs {
        for (setting, wish) in wishes_of(program) {
            wishes.entry(setting).or_default().push(wish);
        }
    }
    let all = wishes.into_iter().map(|(setting, wishes)| Contradiction {
        now: now(&setting, host),
        solution: solve(&setting, &wishes),
        setting,
        wishes,
    });
    all.filter(Contradiction::is_open).collect()
}

fn wishes_of(program: &Program) -> BTreeMap<String, Wish> {
    let mut wishes: BTreeMap<String, Wish> = BTreeMap::new();
    // A rule with an unknown premise does not count.
    let applying = program
        .rulings
        .iter()
        .filter(|ruling| ruling.standing <= Standing::Followed && ruling.premise.is_none());
    for (ruling, set) in applying.filter_map(|ruling| Some((ruling, ruling.set.as_ref()?))) {
        for (setting, value) in settings(ruling, set) {
            let wish = wish(program, ruling, set, setting, value);
            let known = wishes.get(setting);
            if known.is_none_or(|known| wish.by < known.by) {
                wishes.insert(setting.to_owned(), wish);
            }
        }
    }
    wishes
}

/// The machine settings that a rule wants. A policy implies a mode only if the rule asks for it; informative rules do
/// not.
fn settings<'a>(ruling: &Ruling, set: &'a Settings) -> impl Iterator<Item = (&'a str, &'a str)> {
    let mode = mode(set);
    let is_asked = ruling.standing != Standing::Information;
    let mode = mode.filter(|_| is_asked && !set.thp.contains_key(MODE));
    let named = set.thp.iter().chain(&set.sysctl);
    let named = named.map(|(setting, value)| (setting.as_str(), value.as_str()));
    mode.map(|mode| (MODE, mode)).into_iter().chain(named)
}

fn wish(program: &Program, ruling: &Ruling, set: &Settings, setting: &str, value: &str) -> Wish {
    Wish {
        pid: program.pid,
        program: program.name.clone(),
        rule: ruling.id.clone(),
        by: ruling.by,
        value: value.to_owned(),
        standing: ruling.standing,
        own_means: (setting == MODE).then(|| own_means(set)).flatten(),
    }
}

/// The mode in the policy of a rule.
fn mode(set: &Settings) -> Option<&str> {
    let mut parts = set.policy.as_deref()?.split(',');
    parts.find_map(|part| part.strip_prefix("thp="))
}

/// How only one process can get its mode: by its own setting, or else by a policy. If the policy also needs machine
/// settings, only its mode is used.
fn own_means(set: &Settings) -> Option<String> {
    let conf = set
        .conf
        .as_ref()
        .map(|conf| format!("{}: {}", conf.file, conf.line));
    let env = set.env.iter().next();
    let env = env.map(|(name, value)| format!("{name}={value}"));
    let policy = || {
        let own = set.own_policy().map(str::to_owned);
        own.or_else(|| Some(format!("thp={}", mode(set)?)))
    };
    conf.or(env)
        .or_else(|| (!set.args.is_empty()).then(|| set.args.join(" ")))
        .or_else(|| Some(format!("hugewise exec --policy {}", policy()?)))
}

/// The value wanted by the programs that cannot be configured individually. If all can be, it is `madvise` for
/// `enabled`, because every program can then choose.
fn solve(setting: &str, wishes: &[Wish]) -> Option<String> {
    let dependent = wishes.iter().filter(|wish| wish.own_means.is_none());
    let values: BTreeSet<_> = dependent.map(|wish| wish.value.as_str()).collect();
    let mut values = values.into_iter();
    match (values.next(), values.next()) {
        (None, _) if setting == MODE => Some("madvise".to_owned()),
        // If the machine is set to never, no program can get huge pages individually.
        (Some("never"), None) if setting == MODE => None,
        (Some(value), None) => Some(value.to_owned()),
        _ => None,
    }
}

fn now(setting: &str, host: &Facts) -> Option<String> {
    let fact = match setting {
        "enabled" => "thp.enabled",
        "defrag" => "thp.defrag",
        "shmem_enabled" => "thp.shmem_enabled",
        "khugepaged/max_ptes_none" => "khugepaged.max_ptes_none",
        other => other,
    };
    host.get(fact).map(ToString::to_string)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wish(value: &str, standing: Standing) -> Wish {
        Wish {
            pid: None,
            program: value.to_owned(),
            rule: String::new(),
            by: Authority::Vendor,
            value: value.to_owned(),
            standing,
            own_means: None,
        }
    }

    #[test]
    fn programs_that_have_what_they_want_do_not_contradict() {
        use Standing::{Followed, NotFollowed};
        let is_open = |wishes: Vec<Wish>| {
            let contradiction = Contradiction {
                setting: MODE.to_owned(),
                now: Some("madvise".to_owned()),
                solution: None,
                wishes,
            };
            contradiction.is_open()
        };
        let never = || wish("never", Followed);
        assert!(is_open(vec![never(), wish("always", NotFollowed)]));
        assert!(is_open(vec![
            wish("always", NotFollowed),
            wish("madvise", Followed)
        ]));
        // The setting is satisfied, although the rule is not followed for another reason.
        assert!(!is_open(vec![never(), wish("madvise", NotFollowed)]));
        assert!(!is_open(vec![never(), wish("always", Followed)]));
        assert!(!is_open(vec![wish("always", NotFollowed)]));
    }
}
