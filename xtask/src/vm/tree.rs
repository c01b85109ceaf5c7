//! The initial files of a guest, as one archive.

use std::fs::{self, File};
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result, ensure};

/// Folders of every guest; most are mount points.
const FOLDERS: [&str; 9] = [
    "bin", "programs", "proc", "sys", "dev", "tmp", "run", "etc", "var",
];

/// A tree of files that becomes the root of a guest.
pub struct Tree {
    folder: PathBuf,
}

impl Tree {
    /// Busybox as the shell, the programs, and the script that the kernel starts.
    ///
    /// # Errors
    /// A program is missing, or the folder cannot be written.
    pub fn new(
        folder: &Path,
        init: &str,
        busybox: &Path,
        programs: impl Iterator<Item = PathBuf>,
    ) -> Result<Self> {
        let tree = Self {
            folder: folder.join("tree"),
        };
        if tree.folder.exists() {
            fs::remove_dir_all(&tree.folder)?;
        }
        for name in FOLDERS {
            fs::create_dir_all(tree.at(name))?;
        }
        program(busybox, &tree.at("bin/busybox"))?;
        symlink("busybox", tree.at("bin/sh"))?;
        for path in programs {
            let name = path.file_name().context("a program has no name")?;
            program(&path, &tree.at("programs").join(name))?;
        }
        fs::write(tree.at("init"), init)?;
        fs::set_permissions(tree.at("init"), fs::Permissions::from_mode(0o755))?;
        let users = "root:x:0:0::/:/bin/sh\nuser:x:65534:65534::/:/bin/sh\n";
        fs::write(tree.at("etc/passwd"), users)?;
        Ok(tree)
    }

    /// Returns the path of a file or folder in it.
    pub fn at(&self, path: &str) -> PathBuf {
        self.folder.join(path)
    }

    /// Packs it into a file next to the tree.
    ///
    /// # Errors
    /// cpio is not installed.
    pub fn archive(&self) -> Result<PathBuf> {
        let target = self.folder.with_file_name("initramfs.cpio");
        let status = Command::new("sh")
            .args(["-c", "find . | cpio --quiet -o -H newc"])
            .current_dir(&self.folder)
            .stdin(Stdio::null())
            .stdout(File::create(&target)?)
            .status()
            .context("starting cpio")?;
        ensure!(status.success(), "cpio ended with {status}");
        Ok(target)
    }
}

fn program(from: &Path, to: &Path) -> Result<()> {
    fs::copy(from, to).with_context(|| format!("copying {}", from.display()))?;
    Ok(fs::set_permissions(to, fs::Permissions::from_mode(0o755))?)
}
