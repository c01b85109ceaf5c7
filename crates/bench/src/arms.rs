//! The page policies of a bench: one for each available page size.

use std::collections::BTreeMap;

use hugewise_base::host::{Host, ThpDisable};
use hugewise_base::units::{GIB, KIB, MIB};
use hugewise_experiment::run::policy::realise::{Reach, realise};
use hugewise_experiment::run::policy::{Policy, Settings, SizeMode, Thp};

/// The environment variable that requests a page size from the laboratory.
const REQUEST: &str = "HUGEWISE_LAB_PAGES";

/// The default folio size between base pages and huge pages.
const USUAL_FOLIO: u64 = 64 * KIB;

/// Returns a page size as the name of its policy: `4k`, `2m`, `1g`.
#[must_use]
pub fn page_word(bytes: u64) -> String {
    let units = [(GIB, 'g'), (MIB, 'm'), (KIB, 'k')];
    let whole = |(unit, _): &&(u64, char)| bytes.is_multiple_of(*unit);
    match units.iter().find(whole) {
        Some((unit, letter)) => format!("{}{letter}", bytes / unit),
        None => bytes.to_string(),
    }
}

/// Returns every page policy that this host and this reach allow, base pages first.
///
/// The laboratory advises its blocks (`MADV_HUGEPAGE`), so huge pages need no setting if the mode is `madvise` or
/// `always`. Folios of another size need the machine's settings. A hugetlb pool is used only if it has free pages: none
/// is ever reserved.
#[must_use]
pub fn all(host: &Host, reach: Reach) -> Vec<Policy> {
    let mut policies = vec![base(host)];
    policies.extend(folios(host));
    policies.extend(huge(host));
    policies.extend(pools(host));
    policies.retain(|policy| realise(policy, host, reach).is_ok());
    policies
}

/// Returns the policies compared by default: only one with smaller folios.
#[must_use]
pub fn usual(host: &Host, reach: Reach) -> Vec<Policy> {
    let folio = |policy: &Policy| folios(host).any(|folio| folio.name == policy.name);
    let mut policies = all(host, reach);
    policies.retain(|policy| !folio(policy) || policy.name == page_word(USUAL_FOLIO));
    policies
}

/// A program without a request: pages according to the machine's settings.
fn unasked() -> Policy {
    let request = (REQUEST.to_owned(), "plain".to_owned());
    Policy {
        name: "auto".to_owned(),
        settings: Settings {
            env: BTreeMap::from([request]),
            ..Settings::default()
        },
    }
}

/// Returns true if a policy takes pages from a hugetlb pool.
fn is_of_pool(policy: &Policy) -> bool {
    let request = policy.settings.env.get(REQUEST);
    request.is_some_and(|request| request.starts_with("hugetlb"))
}

/// The page policies of a suite.
#[derive(Clone, Debug)]
pub struct Arms {
    /// The available policies.
    pub known: Vec<Policy>,
    /// The policies compared by default.
    pub usual: Vec<Policy>,
}

/// Returns the page policies of a suite. Heaps and slabs do not grow by pool pages, and their pages without a request
/// are a separate question.
#[must_use]
pub fn of_suite(suite: &str, host: &Host, reach: Reach) -> Arms {
    let (mut known, mut usual) = (all(host, reach), usual(host, reach));
    if matches!(suite, "growth" | "heap" | "slab") {
        known.retain(|policy| !is_of_pool(policy));
        usual.retain(|policy| !is_of_pool(policy));
        known.insert(1, unasked());
    }
    if matches!(suite, "heap" | "slab") {
        usual.insert(1, unasked());
    }
    Arms { known, usual }
}

fn named(bytes: u64, settings: Settings) -> Policy {
    Policy {
        name: page_word(bytes),
        settings,
    }
}

fn base(host: &Host) -> Policy {
    let settings = Settings {
        thp: host.thp.is_ok().then_some(Thp::Never),
        ..Settings::default()
    };
    named(host.page_bytes, settings)
}

fn huge(host: &Host) -> Option<Policy> {
    let thp = host.thp.as_ref().ok()?;
    let reachable = matches!(thp.effective_pmd_mode(), "madvise" | "always")
        && host.thp_disable != ThpDisable::Disabled;
    let kib = thp.pmd_bytes / KIB;
    let settings = match (reachable, thp.sizes.contains_key(&kib)) {
        (true, _) => Settings::default(),
        (false, true) => Settings {
            mthp: BTreeMap::from([(kib, SizeMode::Madvise)]),
            ..Settings::default()
        },
        (false, false) => Settings {
            thp: Some(Thp::Madvise),
            ..Settings::default()
        },
    };
    Some(named(thp.pmd_bytes, settings))
}

/// Each policy enables a single size: the kernel would try a larger enabled size first.
fn folios(host: &Host) -> impl Iterator<Item = Policy> {
    let sizes = host
        .thp
        .as_ref()
        .ok()
        .map(|thp| (&thp.sizes, thp.pmd_bytes));
    sizes.into_iter().flat_map(|(sizes, pmd_bytes)| {
        let smaller = sizes.keys().filter(move |&&kib| kib * KIB != pmd_bytes);
        smaller.map(move |&kib| {
            let others = sizes
                .iter()
                .filter(|&(&other, mode)| other != kib && mode != "never");
            let mut mthp: BTreeMap<u64, SizeMode> =
                others.map(|(&other, _)| (other, SizeMode::Never)).collect();
            mthp.insert(kib, SizeMode::Madvise);
            let settings = Settings {
                mthp,
                ..Settings::default()
            };
            named(kib * KIB, settings)
        })
    })
}

fn pools(host: &Host) -> impl Iterator<Item = Policy> {
    let filled = |(_, pool): &(&u64, &hugewise_base::host::HugetlbPool)| pool.free > pool.reserved;
    host.hugetlb.iter().filter(filled).map(|(&bytes, _)| {
        let request = (REQUEST.to_owned(), format!("hugetlb-{bytes}"));
        Policy {
            name: format!("hugetlb-{}", page_word(bytes)),
            settings: Settings {
                env: BTreeMap::from([request]),
                ..Settings::default()
            },
        }
    })
}
