//! The only disk of a guest of the matrix: the programs, and their expected results.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::Result;

use super::Purpose;
use super::kernels::Kernel;
use super::tree::Tree;

const INIT: &str = include_str!("init.sh");

/// The parts of a guest.
pub struct Parts<'a> {
    /// A static busybox.
    pub busybox: &'a Path,
    /// The folder of the programs.
    pub programs: &'a Path,
    /// The folder of the expected diagnoses, one file per host.
    pub golden: &'a Path,
}

/// Makes the archive for one kernel.
///
/// # Errors
/// A part or cpio is missing.
pub fn make(kernel: &Kernel, parts: &Parts, purpose: Purpose, folder: &Path) -> Result<PathBuf> {
    let programs = purpose
        .programs()
        .names()
        .map(|name| parts.programs.join(name));
    let tree = Tree::new(folder, INIT, parts.busybox, programs)?;
    fs::create_dir_all(tree.at("golden"))?;
    tell(kernel, parts, purpose, &tree)?;
    tree.archive()
}

/// Writes the guest's instructions: the expected results, or the name of the frozen machine.
fn tell(kernel: &Kernel, parts: &Parts, purpose: Purpose, tree: &Tree) -> Result<()> {
    let slug = kernel.slug();
    if purpose == Purpose::Capture {
        fs::write(tree.at("capture"), format!("guest-{slug}"))?;
        let note = format!("{} of Debian {} under QEMU", kernel.package, kernel.suite);
        return Ok(fs::write(tree.at("note"), note)?);
    }
    let mut words = format!("after-read={}", kernel.after_read);
    let golden = |user: &str| {
        parts
            .golden
            .join(format!("doctor-guest-{slug}-{user}.json"))
    };
    if golden("root").exists() {
        for user in ["root", "user"] {
            fs::copy(golden(user), tree.at(&format!("golden/{user}.json")))?;
        }
        words.push_str(" golden=/golden");
    }
    Ok(fs::write(tree.at("expectation"), words)?)
}
