use std::fmt;
use std::fs::{self, DirBuilder, File, OpenOptions, Permissions};
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rustix::fs::OFlags;

use crate::machine::error::{Error, Result};
use crate::machine::root::Root;
use crate::sys::setting::read_setting;

/// Notified just before and just after every change on disk, so that tests can kill the process there.
pub trait Steps: fmt::Debug + Send + Sync {
    /// `doing` will be or has been done to `path`.
    fn step(&self, doing: &str, path: &Path);
}

/// No notification.
#[derive(Clone, Copy, Debug)]
pub struct Unwatched;

impl Steps for Unwatched {
    fn step(&self, _: &str, _: &Path) {}
}

/// A machine whose settings are changed, and the directory of its journal.
#[derive(Clone, Debug)]
pub struct UndoFolder {
    root: Root,
    state: PathBuf,
    steps: Arc<dyn Steps>,
}

impl UndoFolder {
    /// `state` is created when the first journal is written.
    #[must_use]
    pub fn new(root: &Root, state: &Path) -> Self {
        Self {
            root: root.clone(),
            state: state.to_owned(),
            steps: Arc::new(Unwatched),
        }
    }

    /// Adds an observer.
    #[must_use]
    pub fn watched_by(self, steps: impl Steps + 'static) -> Self {
        Self {
            steps: Arc::new(steps),
            ..self
        }
    }

    /// Returns the machine.
    #[must_use]
    pub fn root(&self) -> &Root {
        &self.root
    }

    pub(crate) fn state(&self) -> &Path {
        &self.state
    }

    /// Returns the current value of a settings file, by its path relative to the root: the word in brackets, or the
    /// whole text.
    ///
    /// # Errors
    /// The file cannot be read.
    pub fn value(&self, relative: &str) -> Result<String> {
        read_setting(&self.root, relative)
    }

    /// Writes a settings file with one system call; the kernel accepts or refuses it as a whole.
    pub(crate) fn set(&self, relative: &str, value: &str) -> Result<()> {
        self.change("writing", &self.root.path(relative), |path| {
            let mut file = OpenOptions::new().write(true).truncate(true).open(path)?;
            file.write_all(value.as_bytes())
        })
    }

    /// Makes the directory readable for everybody, regardless of the umask: a run of an ordinary user must see that a
    /// run of root was interrupted.
    pub(super) fn create_state(&self) -> Result<()> {
        if self.state.is_dir() {
            return Ok(());
        }
        self.change("creating", &self.state, |path| {
            DirBuilder::new().recursive(true).mode(0o755).create(path)?;
            fs::set_permissions(path, Permissions::from_mode(0o755))
        })
    }

    /// Creates a file that must not exist yet, with its content safely on disk.
    pub(super) fn write_new(&self, path: &Path, content: &[u8]) -> Result<()> {
        let file = self.change("creating", path, |path| {
            let nofollow = OFlags::NOFOLLOW.bits().cast_signed();
            let mut options = OpenOptions::new();
            options.write(true).create_new(true).mode(0o644);
            let file = options.custom_flags(nofollow).open(path)?;
            file.set_permissions(Permissions::from_mode(0o644))?;
            Ok(file)
        })?;
        self.change("writing", path, |_| (&file).write_all(content))?;
        self.change("syncing", path, |_| file.sync_all())
    }

    pub(super) fn rename(&self, from: &Path, to: &Path) -> Result<()> {
        self.change("renaming", from, |from| fs::rename(from, to))?;
        self.sync_state()
    }

    /// Removes a file of the state directory; a missing file is no error.
    pub(super) fn remove(&self, path: &Path) -> Result<()> {
        if path.symlink_metadata().is_err() {
            return Ok(());
        }
        self.change("removing", path, |path| fs::remove_file(path))?;
        self.sync_state()
    }

    fn sync_state(&self) -> Result<()> {
        self.change("syncing", &self.state, |state| {
            File::open(state)?.sync_all()
        })
    }

    fn change<T>(
        &self,
        doing: &str,
        path: &Path,
        act: impl FnOnce(&Path) -> io::Result<T>,
    ) -> Result<T> {
        self.steps.step(doing, path);
        let done = act(path).map_err(|error| Error::io(doing, path, error))?;
        self.steps.step(doing, path);
        Ok(done)
    }
}
