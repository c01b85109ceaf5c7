//! The pages that a setting should give a process, and the pages that it has.

use hugewise_base::units::MIB;
use hugewise_experiment::run::policy::{Malloc, Policy, Thp, runtime::Runtime};

use super::fact::{Facts, Value};
use super::settings::Settings;

/// The facts that show the pages. The kernel computes the first one by walking the page tables.
pub(super) const PAGES: [&str; 2] = ["process.anon_huge.bytes", "process.anon.bytes"];

/// The minimum share of huge pages in anonymous memory for a process to count as using them.
const SHARE: f64 = 0.1;
/// Less memory is not conclusive.
const LEAST_BYTES: f64 = 64.0 * MIB as f64;

/// The page size that a setting aims at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Aim {
    /// Huge pages.
    Huge,
    /// Small pages.
    Small,
}

impl Aim {
    /// Returns true if the pages of the process are known and differ. A process that disabled huge pages keeps the ones
    /// that it had.
    #[must_use]
    pub fn is_missed(self, facts: &Facts) -> bool {
        let number = |name: &str| match facts.get(name) {
            Some(Value::Number(bytes)) => Some(*bytes),
            _ => None,
        };
        let (Some(huge), Some(anonymous)) = (number(PAGES[0]), number(PAGES[1])) else {
            return false;
        };
        let is_off = facts.get("process.thp_disabled") == Some(&Value::Boolean(true));
        let has_huge = huge >= SHARE * anonymous;
        anonymous >= LEAST_BYTES
            && match self {
                Self::Huge => !has_huge,
                Self::Small => has_huge && !is_off,
            }
    }
}

impl Settings {
    /// The page size that the settings aim at for the memory of a process; `None` if they do not affect it.
    #[must_use]
    pub fn aim(&self) -> Option<Aim> {
        let policy = self.policy.as_deref()?.parse::<Policy>().ok()?.settings;
        let jemalloc = policy.runtimes.get(&Runtime::Jemalloc);
        let jemalloc = jemalloc.and_then(|set| set.get("thp")).map(String::as_str);
        match (policy.thp, policy.malloc, jemalloc) {
            (Some(Thp::Never | Thp::Madvise), ..) | (.., Some("never")) => Some(Aim::Small),
            (Some(Thp::Always), ..) | (_, Some(Malloc::Thp), _) | (.., Some("always")) => {
                Some(Aim::Huge)
            }
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn aim(policy: &str) -> Option<Aim> {
        let settings = Settings {
            policy: Some(policy.to_owned()),
            ..Settings::default()
        };
        settings.aim()
    }

    #[test]
    fn a_policy_says_which_pages_it_is_for() {
        assert_eq!(aim("thp=never"), Some(Aim::Small));
        assert_eq!(aim("jemalloc.thp=never"), Some(Aim::Small));
        assert_eq!(aim("jemalloc.thp=always"), Some(Aim::Huge));
        assert_eq!(aim("malloc=thp"), Some(Aim::Huge));
        assert_eq!(aim("jemalloc.metadata_thp=auto"), None);
    }

    #[test]
    fn the_pages_of_a_process_outrank_what_is_set() {
        let missed = |aim: Aim, huge: u64, anonymous: u64, off: bool| {
            let mut facts = Facts::default();
            facts.set(PAGES[0], huge * MIB);
            facts.set(PAGES[1], anonymous * MIB);
            facts.set("process.thp_disabled", off);
            aim.is_missed(&facts)
        };
        assert!(missed(Aim::Small, 156, 171, false));
        assert!(!missed(Aim::Small, 156, 171, true));
        assert!(!missed(Aim::Small, 2, 171, false));
        assert!(missed(Aim::Huge, 0, 171, false));
        assert!(!missed(Aim::Huge, 156, 171, false));
        assert!(!missed(Aim::Huge, 0, 8, false));
        assert!(!Aim::Small.is_missed(&Facts::default()));
    }
}
