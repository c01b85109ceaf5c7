//! Our own stdin, read once and given to each trial in full.

use std::fs::{self, DirBuilder, File};
use std::io::{self, Read, Seek, Write};
use std::os::fd::AsFd;
use std::os::unix::fs::{DirBuilderExt, FileTypeExt, MetadataExt};
use std::path::PathBuf;
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::thread;
use std::time::Duration;

use anyhow::{Context, Result};
use hugewise_linux::file::folder::Folder;
use hugewise_linux::file::read::open_regular;
use hugewise_linux::spawn::scratch_name;

use crate::options::Options;
use crate::{exit, invoker};

/// The size limit of the input, in bytes, because it may be kept in memory.
const LARGEST: u64 = 1 << 30;
/// How long to wait for the first data of a pipe; it may never have a writer.
const PATIENCE: Duration = Duration::from_secs(10);

/// The input of all trials, as a file.
#[derive(Debug)]
pub struct Input {
    path: PathBuf,
    bytes: u64,
    /// The folder of a copy, removed with it.
    folder: Option<PathBuf>,
}

impl Input {
    /// The file or pipe at our stdin; `None` if there is none, it is empty, or trials have another input.
    ///
    /// # Errors
    /// It is too long, or no data arrives.
    pub fn of_trials(options: &Options) -> Result<Option<Self>> {
        if options.stdin.is_some() || options.server.service.is_some() {
            return Ok(None);
        }
        let Ok(stdin) = io::stdin().as_fd().try_clone_to_owned().map(File::from) else {
            return Ok(None);
        };
        let found = stdin.metadata()?;
        let input = match found.file_type() {
            kind if kind.is_fifo() => Some(Self::copy(stdin)?),
            kind if kind.is_file() => Some(Self::file(stdin)?),
            _ => None,
        };
        Ok(input.filter(|input| input.bytes > 0))
    }

    /// These options, with the input.
    fn given_to(&self, options: Options) -> Options {
        Options {
            stdin: Some(self.path.clone()),
            ..options
        }
    }

    /// Its length in bytes.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Uses a file in place, unless it has no name or was partly read.
    fn file(mut stdin: File) -> Result<Self> {
        let identity = |it: &fs::Metadata| (it.dev(), it.ino());
        let found = stdin.metadata()?;
        let path = fs::read_link("/proc/self/fd/0").unwrap_or_default();
        // The workload's user must be able to read the file.
        let there = invoker::rights()?.lend(|| open_regular(&path)?.metadata());
        let named = there.is_ok_and(|it| identity(&it) == identity(&found));
        if !named || stdin.stream_position()? > 0 {
            return Self::copy(stdin);
        }
        Ok(Self {
            path,
            bytes: found.len(),
            folder: None,
        })
    }

    fn copy(stdin: File) -> Result<Self> {
        let folder = scratch_name(&std::env::temp_dir());
        let rights = invoker::rights()?;
        let made = rights.lend(|| DirBuilder::new().mode(0o700).create(&folder));
        let made = made.and_then(|()| Folder::open(&folder, &rights));
        let held =
            made.with_context(|| format!("making {} for a copy of stdin", folder.display()))?;
        let mut input = Self {
            path: folder.join("stdin"),
            bytes: 0,
            folder: Some(folder),
        };
        let mut copy = held.create("stdin")?;
        let blocks = blocks(stdin)?;
        while let Some(block) = next(&blocks, input.bytes)? {
            input.bytes += block.len() as u64;
            if input.bytes > LARGEST {
                return Err(exit::usage(
                    "stdin is longer than 1 GiB; name a file for the trials to read: --stdin FILE",
                ));
            }
            copy.write_all(&block).context("copying stdin")?;
        }
        Ok(input)
    }
}

/// Returns options with the input, if there is one.
pub fn with_input(options: Options, input: Option<&Input>) -> Options {
    match input {
        Some(input) => input.given_to(options),
        None => options,
    }
}

impl Drop for Input {
    fn drop(&mut self) {
        if let Some(folder) = &self.folder {
            let rights = invoker::rights();
            let _ = rights.map(|rights| rights.lend(|| fs::remove_dir_all(folder)));
        }
    }
}

/// The blocks of a pipe. A separate thread reads them, so that the caller can time out.
fn blocks(mut stdin: File) -> io::Result<Receiver<io::Result<Vec<u8>>>> {
    let (sender, receiver) = channel();
    thread::Builder::new().spawn(move || {
        loop {
            let mut block = vec![0; 1 << 16];
            let read = stdin.read(&mut block);
            if matches!(read, Ok(0)) {
                return;
            }
            let failed = read.is_err();
            let block = read.map(|length| {
                block.truncate(length);
                block
            });
            if sender.send(block).is_err() || failed {
                return;
            }
        }
    })?;
    Ok(receiver)
}

/// The next block; `None` at the end.
fn next(blocks: &Receiver<io::Result<Vec<u8>>>, so_far: u64) -> Result<Option<Vec<u8>>> {
    let patience = if so_far == 0 { PATIENCE } else { Duration::MAX };
    match blocks.recv_timeout(patience) {
        Ok(block) => block.map(Some).context("reading stdin"),
        Err(RecvTimeoutError::Disconnected) => Ok(None),
        Err(RecvTimeoutError::Timeout) => Err(exit::usage(format!(
            "nothing came on stdin for {} s; --stdin /dev/null measures without it",
            PATIENCE.as_secs()
        ))),
    }
}
