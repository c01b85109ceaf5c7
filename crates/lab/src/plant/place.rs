//! The folder for files of plants.

use std::cell::RefCell;
use std::fs::{self, File};
use std::io::Write;
use std::os::fd::AsRawFd;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use super::span::Span;
use crate::Trouble;
use crate::region::page_bytes;

/// A folder for the files of a plant. They keep their names while the plant is held, so that a reader of `maps` can
/// identify them; dropping the folder removes them.
#[derive(Debug)]
pub(crate) struct Place {
    folder: PathBuf,
    made: RefCell<Vec<PathBuf>>,
}

impl Place {
    pub(crate) fn new(folder: PathBuf) -> Self {
        Self {
            folder,
            made: RefCell::default(),
        }
    }

    pub(crate) fn folder(&self) -> &Path {
        &self.folder
    }

    /// A file of this size, written page by page, not yet on disk.
    pub(crate) fn file(&self, bytes: usize) -> Result<CacheFile, Trouble> {
        CacheFile::create(self, &self.folder, bytes)
    }

    /// The same in the shared memory file system `/dev/shm`.
    pub(crate) fn memory_file(&self, bytes: usize) -> Result<CacheFile, Trouble> {
        CacheFile::create(self, Path::new("/dev/shm"), bytes)
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        for path in self.made.borrow().iter() {
            let _ = fs::remove_file(path);
        }
    }
}

/// A file, and which part of it is in the page cache.
#[derive(Debug)]
pub(crate) struct CacheFile {
    file: File,
    bytes: usize,
}

impl CacheFile {
    fn create(place: &Place, folder: &Path, bytes: usize) -> Result<Self, Trouble> {
        let path = folder.join(format!("hugewise-plant-{}", std::process::id()));
        let fault = |error| Trouble::Kernel("making a file", error);
        let mut file = File::options()
            .read(true)
            .write(true)
            .create_new(true)
            .open(&path)
            .map_err(fault)?;
        place.made.borrow_mut().push(path);
        let page = vec![1; page_bytes()];
        for _ in 0..bytes / page.len() {
            file.write_all(&page).map_err(fault)?;
        }
        Ok(Self { file, bytes })
    }

    /// Writes the content to disk and drops it from memory.
    pub(crate) fn leave_cache(&self) -> Result<(), Trouble> {
        self.file
            .sync_all()
            .map_err(|error| Trouble::Kernel("syncing a file", error))?;
        self.foresee(libc::POSIX_FADV_DONTNEED);
        Ok(())
    }

    /// Reads the file page by page without read-ahead, so that every page gets a separate folio.
    pub(crate) fn read_singly(&self) -> Result<(), Trouble> {
        self.foresee(libc::POSIX_FADV_RANDOM);
        let mut page = vec![0; page_bytes()];
        for at in (0..self.bytes).step_by(page.len()) {
            self.file
                .read_exact_at(&mut page, at as u64)
                .map_err(|error| Trouble::Kernel("reading a file", error))?;
        }
        Ok(())
    }

    fn foresee(&self, advice: i32) {
        // SAFETY: advice on our own descriptor; the kernel is free to ignore it.
        unsafe { libc::posix_fadvise(self.file.as_raw_fd(), 0, 0, advice) };
    }

    /// Maps the file from byte `at`, replacing the span.
    pub(crate) fn map(
        &self,
        span: Span,
        access: i32,
        flags: i32,
        at: usize,
    ) -> Result<(), Trouble> {
        span.map(access, flags, self.file.as_raw_fd(), at as i64)
    }
}
