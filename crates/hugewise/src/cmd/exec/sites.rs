//! The policy of a file of sites, written by `attribute --sites`.

use std::path::Path;

use anyhow::Result;
use hugewise_attribute::{SitesFile, choosing};
use hugewise_experiment::run::policy::Policy;

use super::Arguments;
use crate::{exit, file};

/// Replaces the policy by that of the file of sites, if one was named.
pub(super) fn chosen(mut arguments: Arguments) -> Result<Arguments> {
    if let Some(path) = &arguments.sites {
        arguments.policy = of_sites(path)?;
    }
    Ok(arguments)
}

fn of_sites(path: &Path) -> Result<Policy> {
    let wrong = |problem: &dyn std::fmt::Display| {
        exit::usage(format!("--sites {}: {problem}", path.display()))
    };
    let bytes = file::read(path).map_err(|error| wrong(&error))?;
    let text = String::from_utf8(bytes).map_err(|error| wrong(&error))?;
    let file = SitesFile::parse(&text).map_err(|problem| wrong(&problem))?;
    Ok(choosing("sites", file.sites))
}
