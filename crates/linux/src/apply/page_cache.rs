//! The pages of files in the page cache: evicted, then read again so that the kernel makes large or small folios.
//!
//! A read fault in a mapping advised with `MADV_HUGEPAGE` reads a huge page into one folio, if the file system has large
//! folios (`do_sync_mmap_readahead`, mm/filemap.c; Linux 5.18). `POSIX_FADV_WILLNEED` makes folios of one page
//! (`force_page_cache_ra`, mm/readahead.c), but reads only a limited length per call. Nothing is written.

use std::fs::File;
use std::io::{self, Read};
use std::num::NonZeroU64;
use std::path::{Path, PathBuf};

use hugewise_experiment::run::trial::CachedFiles;
use rustix::fs::{Advice, fadvise};

use super::file_window::{Access, Window};
use crate::file::read::open_regular;
use crate::file::rights::Rights;
use crate::machine::root::Root;
use crate::proc::meminfo::read_meminfo;
use crate::proc::smaps_rollup::read_smaps_rollup;

/// How files are read into the page cache.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FileReading {
    /// Through a mapping advised with `MADV_HUGEPAGE`.
    Huge,
    /// Page by page.
    Small,
    /// By read(2), as most programs do.
    Plain,
}

/// The shortest read-ahead limit of common devices: one call of `POSIX_FADV_WILLNEED` reads so much.
const PIECE: usize = 128 << 10;
/// A reader of `read(2)` uses blocks of this size.
const BLOCK: usize = 128 << 10;

/// Evicts files from the page cache and reads them again. Returns how they are cached then.
///
/// # Errors
/// A sentence: a file could not be opened or mapped.
pub fn cache(
    paths: &[PathBuf],
    rights: &Rights,
    reading: FileReading,
    block_bytes: u64,
) -> Result<CachedFiles, String> {
    let mut all = CachedFiles::default();
    for path in paths {
        let one = open(path, rights)
            .and_then(|file| {
                evict_file(&file)?;
                read(&file, reading, block_bytes)?;
                cached(&file, block_bytes)
            })
            .map_err(|error| format!("{}: {error}", path.display()))?;
        all.bytes += one.bytes;
        all.huge_bytes += one.huge_bytes;
    }
    Ok(all)
}

/// Evicts files from the page cache, as far as no process maps them and nothing waits to be written.
pub fn evict(paths: &[PathBuf], rights: &Rights) {
    for path in paths {
        if let Ok(file) = open(path, rights) {
            let _ = evict_file(&file);
        }
    }
}

/// Reads the first huge page of a file as the policy does. Returns true if the kernel made a large folio of it.
///
/// # Errors
/// The file could not be opened or mapped.
pub fn makes_huge(path: &Path, rights: &Rights, block_bytes: u64) -> io::Result<bool> {
    let file = open(path, rights)?;
    let evict_block = || fadvise(&file, 0, NonZeroU64::new(block_bytes), Advice::DontNeed);
    evict_block()?;
    let mapping = mapped(&file, block_bytes, block_bytes)?;
    mapping.advise(libc::MADV_HUGEPAGE)?;
    let before = own_huge_bytes();
    touch(&mapping);
    let found = own_huge_bytes() > before;
    drop(mapping);
    evict_block()?;
    Ok(found)
}

/// Returns the free and the reclaimable memory, in bytes.
#[must_use]
pub fn available_bytes() -> Option<u64> {
    read_meminfo(&Root::real()).ok()?.get("MemAvailable")
}

/// A file that can be mapped. Opening anything else could wait or have effects.
fn open(path: &Path, rights: &Rights) -> io::Result<File> {
    rights.lend(|| open_regular(path))
}

fn evict_file(file: &File) -> io::Result<()> {
    Ok(fadvise(file, 0, None, Advice::DontNeed)?)
}

fn read(file: &File, reading: FileReading, block_bytes: u64) -> io::Result<()> {
    let bytes = file.metadata()?.len();
    match reading {
        FileReading::Plain => {
            let mut block = vec![0; BLOCK];
            let mut file = file;
            while file.read(&mut block)? > 0 {}
        }
        FileReading::Huge => {
            let mapping = mapped(file, bytes, block_bytes)?;
            mapping.advise(libc::MADV_HUGEPAGE)?;
            touch(&mapping);
        }
        FileReading::Small => {
            let mapping = mapped(file, bytes, block_bytes)?;
            mapping.advise(libc::MADV_RANDOM)?;
            for start in (0..bytes).step_by(PIECE) {
                let piece = (bytes - start).min(PIECE as u64);
                fadvise(file, start, NonZeroU64::new(piece), Advice::WillNeed)?;
            }
            touch(&mapping);
        }
    }
    Ok(())
}

/// How a file is cached: the bytes that this process can map by huge pages.
fn cached(file: &File, block_bytes: u64) -> io::Result<CachedFiles> {
    let bytes = file.metadata()?.len();
    let mapping = mapped(file, bytes, block_bytes)?;
    let before = own_huge_bytes();
    touch(&mapping);
    Ok(CachedFiles {
        bytes,
        huge_bytes: own_huge_bytes().saturating_sub(before),
    })
}

/// `FilePmdMapped` of this process.
fn own_huge_bytes() -> u64 {
    let own = read_smaps_rollup(&Root::real(), std::process::id());
    own.map_or(0, |own| own.huge_file_bytes)
}

/// Maps the start of a file.
fn mapped(file: &File, bytes: u64, block_bytes: u64) -> io::Result<Window> {
    match bytes {
        0 => Err(io::Error::other("it is empty")),
        _ => Window::open(file, &(0..bytes), block_bytes, Access::Read),
    }
}

/// Makes the kernel map every page, and read the missing ones. If another program truncates the file, some are left.
fn touch(mapping: &Window) {
    let _ = mapping.populate();
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;

    const BLOCK_BYTES: u64 = 2 << 20;

    /// A file of four huge pages without a hole, and its folder.
    fn written() -> (tempfile::TempDir, PathBuf) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("data");
        let mut file = File::create(&path).unwrap();
        file.write_all(&vec![7; 4 * BLOCK_BYTES as usize]).unwrap();
        file.sync_all().unwrap();
        (folder, path)
    }

    #[test]
    fn small_pages_are_small_and_huge_ones_huge_where_the_kernel_can() {
        let (_folder, path) = written();
        let rights = Rights::own();
        let paths = [path.clone()];
        let read = |reading| cache(&paths, &rights, reading, BLOCK_BYTES).unwrap();
        let all = 4 * BLOCK_BYTES;
        assert_eq!(read(FileReading::Plain).bytes, all);
        for _ in 0..2 {
            let small = read(FileReading::Small);
            assert_eq!((small.bytes, small.huge_bytes), (all, 0));
            let huge = read(FileReading::Huge);
            let can = makes_huge(&path, &rights, BLOCK_BYTES).unwrap();
            let expected = if can { all } else { 0 };
            assert_eq!((huge.bytes, huge.huge_bytes), (all, expected));
        }
        assert_eq!(std::fs::read(&path).unwrap(), vec![7; all as usize]);
        evict(&paths, &rights);
    }

    #[test]
    fn what_is_no_file_with_content_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let rights = Rights::own();
        let empty = folder.path().join("empty");
        File::create(&empty).unwrap();
        for (path, word) in [
            (folder.path().to_owned(), "it is a folder"),
            (PathBuf::from("/dev/null"), "it is a device"),
            (folder.path().join("none"), "No such file"),
            (empty, "it is empty"),
        ] {
            let error = cache(&[path], &rights, FileReading::Plain, BLOCK_BYTES).unwrap_err();
            assert!(error.contains(word), "{error}");
        }
    }
}
