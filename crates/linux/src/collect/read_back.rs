//! Proof that the policy was in force.

use std::collections::BTreeMap;

use hugewise_model::run::policy::realise::Realisation;

use super::account::Account;
use super::sampler::Samples;
use crate::machine::root::Root;
use crate::sys::setting::read_setting;

/// The values in force of some settings files; those that cannot be read are left out.
pub(super) fn files(root: &Root, paths: &[String]) -> BTreeMap<String, String> {
    paths
        .iter()
        .filter_map(|path| Some((path.clone(), read_setting(root, path).ok()?)))
        .collect()
}

/// The library of the policy as it was found: its path, or nothing when it was looked for and
/// not there; `None` when nobody asked or nobody could look.
pub(super) fn allocator(
    expected: &Realisation,
    account: &Account,
    samples: &Samples,
) -> Option<String> {
    let library = expected.preload.as_ref()?;
    let exit = account.exit.as_ref().ok();
    let at_exit = exit.and_then(|exit| exit.preload_found);
    let looked = at_exit.is_some() || samples.count > 0;
    let found = samples.library_found || at_exit == Some(true);
    looked.then(|| {
        if found {
            library.clone()
        } else {
            String::new()
        }
    })
}
