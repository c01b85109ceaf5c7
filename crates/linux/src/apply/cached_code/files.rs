//! The files with the code of a command.

use std::collections::BTreeSet;
use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::{self, Read};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};
use std::process::Command;

use object::read::ReadCache;

use super::segments::{Code, Part};
use super::{Stretches, obstacle, real};
use crate::apply::runtime::{self, CommandContext};
use crate::file::read::open_regular;
use crate::file::rights::Rights;

/// A file with whole blocks of code.
#[derive(Debug)]
pub(super) struct CodeFile {
    pub(super) path: PathBuf,
    pub(super) file: File,
    pub(super) stretches: Stretches,
}

/// The number of scripts that may lead to a program, as in the kernel (`exec_binprm`, fs/exec.c).
const SCRIPTS: usize = 5;

/// Finds the files of a command, and an obstacle for each file whose code cannot be huge.
pub(super) fn find(
    start: CommandContext<'_>,
    block: u64,
) -> Result<(Vec<CodeFile>, Vec<String>), String> {
    let rights = Rights::of(start.identity);
    let program = program(start, &rights)?;
    let (file, code) = read(&program, &rights)?;
    let mut found = Found::new(block);
    let loader = code.loader.clone();
    found.add(&program, file, &code, Part::Program);
    for library in loader.iter().flat_map(|it| libraries(it, &program, start)) {
        // The loader may read more files than the user; they are no obstacle to the others.
        if let Ok((file, code)) = read(&library, &rights) {
            found.add(&library, file, &code, Part::Library);
        }
    }
    if found.files.is_empty() && found.obstacles.is_empty() {
        let why = "and its libraries have less code than one huge page holds; name the program \
                   itself, not a shell that starts it";
        found.obstacles.push(obstacle(&program, why));
    }
    Ok((found.files, found.obstacles))
}

/// The files found so far.
#[derive(Debug)]
struct Found {
    block: u64,
    seen: BTreeSet<PathBuf>,
    files: Vec<CodeFile>,
    obstacles: Vec<String>,
}

impl Found {
    fn new(block: u64) -> Self {
        Self {
            block,
            seen: BTreeSet::new(),
            files: Vec::new(),
            obstacles: Vec::new(),
        }
    }

    fn add(&mut self, path: &Path, file: File, code: &Code, part: Part) {
        if !self.seen.insert(path.to_owned()) {
            return;
        }
        match code.blocks(part, self.block) {
            Ok(_) if is_in_memory(&file) => self.obstacles.push(obstacle(
                path,
                "is in memory (tmpfs), where pages cannot be evicted and read again; copy it to a \
                 file system on a disk",
            )),
            Ok(stretches) => self.files.push(CodeFile {
                path: path.to_owned(),
                file,
                stretches,
            }),
            Err(Some(why)) => self.obstacles.push(obstacle(path, &why)),
            Err(None) => {}
        }
    }
}

/// Returns true if a file has no copy outside the page cache.
fn is_in_memory(file: &File) -> bool {
    /// `TMPFS_MAGIC` and `RAMFS_MAGIC` of linux/magic.h.
    const MAGIC: [u64; 2] = [0x0102_1994, 0x8584_58f6];
    let kind = rustix::fs::fstatfs(file).map(|it| it.f_type as u64);
    kind.is_ok_and(|kind| MAGIC.contains(&kind))
}

/// Returns the executable of a command: for a script that of its interpreter.
fn program(start: CommandContext<'_>, rights: &Rights) -> Result<PathBuf, String> {
    let mut word = start.words.first().cloned().unwrap_or_default();
    for _ in 0..SCRIPTS {
        let path = runtime::find(&word, start.directory);
        let path = path.ok_or_else(|| format!("there is no program {}", word.to_string_lossy()))?;
        let path = real(path);
        let mut file = open(&path, rights)?;
        match interpreter(&mut file).map_err(|error| format!("{}: {error}", path.display()))? {
            None => return Ok(path),
            Some(next) => word = next,
        }
    }
    Err("too many scripts lead to the program".to_owned())
}

/// Returns the program named by the first line of a script. For `env` it is the argument.
fn interpreter(file: &mut File) -> io::Result<Option<OsString>> {
    const LONGEST_LINE: u64 = 256;
    let mut start = Vec::new();
    file.take(LONGEST_LINE).read_to_end(&mut start)?;
    let Some(line) = start.strip_prefix(b"#!") else {
        return Ok(None);
    };
    let line = line.split(|&byte| byte == b'\n').next().unwrap_or_default();
    let mut words = line
        .split(|byte| byte.is_ascii_whitespace())
        .filter(|word| !word.is_empty());
    let first = words.next().unwrap_or_default();
    let is_env = Path::new(OsStr::from_bytes(first)).file_name() == Some(OsStr::new("env"));
    let named = words.find(|word| !word.starts_with(b"-"));
    let word = named.filter(|_| is_env).unwrap_or(first);
    Ok(Some(OsString::from_vec(word.to_vec())))
}

fn open(path: &Path, rights: &Rights) -> Result<File, String> {
    let opened = rights.lend(|| open_regular(path));
    opened.map_err(|error| match error.kind() {
        io::ErrorKind::PermissionDenied => format!(
            "{} may not be read by its user; that needs read permission (chmod +r)",
            path.display()
        ),
        _ => format!("{}: {error}", path.display()),
    })
}

fn read(path: &Path, rights: &Rights) -> Result<(File, Code), String> {
    let file = open(path, rights)?;
    let headers = ReadCache::new(&file);
    let code = Code::parse(&headers).ok_or_else(|| obstacle(path, "is no ELF file"))?;
    drop(headers);
    Ok((file, code))
}

/// Returns the libraries that the loader maps for a program, without starting it.
fn libraries(loader: &str, program: &Path, start: CommandContext<'_>) -> Vec<PathBuf> {
    let mut command = Command::new(loader);
    command.arg("--list").arg(program);
    let output = runtime::output(command, start).unwrap_or_default();
    listed(&String::from_utf8_lossy(&output))
}

/// Parses `NAME => PATH (ADDRESS)`; the loader itself has no arrow.
fn listed(text: &str) -> Vec<PathBuf> {
    let path = |line: &str| {
        let line = line.split_once("=>").map_or(line, |(_, path)| path);
        let path = line.split(" (0x").next().unwrap_or_default().trim();
        path.starts_with('/').then(|| real(PathBuf::from(path)))
    };
    text.lines().filter_map(path).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn libraries_are_those_with_a_path() {
        let text = "\tlinux-vdso.so.1 (0x00007ffd)\n\tlibno.so => /no/lib x.so (0x00007f)\n\
                    \t/no/ld-linux-x86-64.so.2 (0x00007f)\n\tlibgone.so => not found\n";
        let expected = ["/no/lib x.so", "/no/ld-linux-x86-64.so.2"].map(PathBuf::from);
        assert_eq!(listed(text), expected);
    }

    #[test]
    fn a_script_names_its_program() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("script");
        for (text, expected) in [
            ("#!/usr/bin/env -S node --x\n", Some("node")),
            ("#! /bin/sh -e\nexit\n", Some("/bin/sh")),
            ("\x7fELF", None),
        ] {
            std::fs::write(&path, text).unwrap();
            let found = interpreter(&mut File::open(&path).unwrap()).unwrap();
            assert_eq!(found.as_deref(), expected.map(OsStr::new), "{text}");
        }
    }
}
