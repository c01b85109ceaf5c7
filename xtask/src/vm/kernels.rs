//! The kernels of the matrix, with their requirements.

use std::collections::{BTreeMap, BTreeSet};

use anyhow::{Context, Result, bail};
use serde::Deserialize;

use crate::machine::Machine;

const KERNELS: &str = include_str!("../../kernels.toml");

/// One line of `kernels.toml`.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Kernel {
    /// Its name in the table.
    #[serde(skip)]
    pub name: String,
    /// Where it runs.
    pub machine: Machine,
    /// The suite of Debian.
    pub suite: String,
    /// The package name, in which `*` matches any characters.
    pub package: String,
    /// The effect of a write after a read, in the guest's terms.
    pub after_read: String,
    /// Capabilities required for root.
    pub must: Vec<String>,
    /// Capabilities required for an ordinary user.
    pub user_must: Vec<String>,
}

impl Kernel {
    /// Returns the name in a form for file names.
    pub fn slug(&self) -> String {
        self.name.replace(' ', "-")
    }

    /// Returns the package of its modules: newer kernels have a separate one.
    pub fn modules_package(&self) -> String {
        self.package.replacen("linux-binary-", "linux-modules-", 1)
    }

    /// Returns true if this user must have this capability there.
    pub fn requires(&self, user: &str, capability: &str) -> bool {
        let list = if user == "root" {
            &self.must
        } else {
            &self.user_must
        };
        list.iter().any(|name| name == capability)
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    kernels: BTreeMap<String, Kernel>,
}

/// Returns the kernels of the matrix, x86_64 first; all, or those that a word of `wanted` selects: the one with this
/// name, otherwise those whose name contains it.
///
/// # Errors
/// `kernels.toml` has a mistake, or no kernel matches.
pub fn kernels(wanted: &[String], machine: Option<Machine>) -> Result<Vec<Kernel>> {
    let file: File = toml::from_str(KERNELS).context("xtask/kernels.toml")?;
    let all: BTreeSet<String> = file.kernels.keys().cloned().collect();
    let is_selected = |name: &str, word: &String| match all.contains(word) {
        true => name == word,
        false => name.contains(word),
    };
    let mut kernels: Vec<Kernel> = file
        .kernels
        .into_iter()
        .map(|(name, kernel)| Kernel { name, ..kernel })
        .filter(|kernel| machine.is_none_or(|machine| kernel.machine == machine))
        .filter(|it| wanted.is_empty() || wanted.iter().any(|word| is_selected(&it.name, word)))
        .collect();
    kernels.sort_by_key(|kernel| (kernel.machine, version(&kernel.name)));
    if kernels.is_empty() {
        bail!("no kernel of xtask/kernels.toml has a name with {wanted:?}");
    }
    Ok(kernels)
}

/// Returns the numbers in a name, so that 6.12 sorts after 6.1.
fn version(name: &str) -> Vec<u32> {
    let release = name.split(' ').skip(1);
    let numbers = release.flat_map(|part| part.split(|c: char| !c.is_ascii_digit()));
    numbers.filter_map(|number| number.parse().ok()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_lines_are_understood_and_in_order() {
        let kernels = kernels(&[], None).unwrap();
        let names: Vec<&str> = kernels.iter().map(|kernel| kernel.name.as_str()).collect();
        assert_eq!(names[..3], ["x86_64 6.1", "x86_64 6.12", "x86_64 7.2"]);
        assert!(names.contains(&"aarch64 6.12 16k"), "{names:?}");
        assert!(kernels.iter().all(|kernel| kernel.requires("root", "root")));
    }

    #[test]
    fn kernels_are_chosen_by_a_part_of_their_name() {
        assert_eq!(kernels(&["7.2".to_owned()], None).unwrap().len(), 2);
        assert_eq!(kernels(&["x86_64 6.1".to_owned()], None).unwrap().len(), 1);
        assert!(kernels(&["5.4".to_owned()], None).is_err());
    }
}
