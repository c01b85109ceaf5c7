//! The only disk of a guest: busybox, the programs, and what they should expect.

use std::fs::{self, File};
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result, ensure};

use super::kernels::Kernel;
use super::{Purpose, programs};

const INIT: &str = include_str!("init.sh");

/// What a guest is made of.
pub struct Parts<'a> {
    /// A busybox that needs no library.
    pub busybox: &'a Path,
    /// The folder of the programs.
    pub programs: &'a Path,
    /// The folder of the expected diagnoses, one file a host.
    pub golden: &'a Path,
}

/// Makes the archive for one kernel.
///
/// # Errors
/// A part is missing, or cpio is.
pub fn make(kernel: &Kernel, parts: &Parts, purpose: Purpose, folder: &Path) -> Result<PathBuf> {
    let tree = folder.join("tree");
    if tree.exists() {
        fs::remove_dir_all(&tree)?;
    }
    for name in [
        "bin", "programs", "proc", "sys", "dev", "tmp", "run", "etc", "var", "golden",
    ] {
        fs::create_dir_all(tree.join(name))?;
    }
    program(parts.busybox, &tree.join("bin/busybox"))?;
    symlink("busybox", tree.join("bin/sh"))?;
    for name in programs::all() {
        program(
            &parts.programs.join(name),
            &tree.join("programs").join(name),
        )?;
    }
    fs::write(tree.join("init"), INIT)?;
    fs::set_permissions(tree.join("init"), fs::Permissions::from_mode(0o755))?;
    let users = "root:x:0:0::/:/bin/sh\nuser:x:65534:65534::/:/bin/sh\n";
    fs::write(tree.join("etc/passwd"), users)?;
    tell(kernel, parts, purpose, &tree)?;
    archive(&tree, &folder.join("initramfs.cpio"))
}

/// What the guest is told: what to expect, or under which name to freeze itself.
fn tell(kernel: &Kernel, parts: &Parts, purpose: Purpose, tree: &Path) -> Result<()> {
    let slug = kernel.slug();
    if purpose == Purpose::Capture {
        fs::write(tree.join("capture"), format!("guest-{slug}"))?;
        let note = format!("{} of Debian {} under QEMU", kernel.package, kernel.suite);
        return Ok(fs::write(tree.join("note"), note)?);
    }
    let mut words = format!("after-read={}", kernel.after_read);
    let golden = |user: &str| {
        parts
            .golden
            .join(format!("doctor-guest-{slug}-{user}.json"))
    };
    if golden("root").exists() {
        for user in ["root", "user"] {
            fs::copy(
                golden(user),
                tree.join("golden").join(format!("{user}.json")),
            )?;
        }
        words.push_str(" golden=/golden");
    }
    Ok(fs::write(tree.join("expectation"), words)?)
}

fn program(from: &Path, to: &Path) -> Result<()> {
    fs::copy(from, to).with_context(|| format!("copying {}", from.display()))?;
    Ok(fs::set_permissions(to, fs::Permissions::from_mode(0o755))?)
}

fn archive(tree: &Path, target: &Path) -> Result<PathBuf> {
    let status = Command::new("sh")
        .args(["-c", "find . | cpio --quiet -o -H newc"])
        .current_dir(tree)
        .stdin(Stdio::null())
        .stdout(File::create(target)?)
        .status()
        .context("starting cpio")?;
    ensure!(status.success(), "cpio ended with {status}");
    Ok(target.to_owned())
}
