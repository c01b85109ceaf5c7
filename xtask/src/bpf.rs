//! Rebuilds or checks the committed BPF object, for users without clang.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail};
use clap::Args;

/// The folder of the sources and the committed object.
const FOLDER: &str = "crates/linux/src/bpf";
const OBJECT: &str = "prebuilt/latency.bpf.o";
/// The sources and the compiler of the object.
const ORIGIN: &str = "prebuilt/ORIGIN";

/// Flags of `bpf`.
#[derive(Debug, Args)]
pub struct Arguments {
    /// Only compare the committed object with the sources
    #[arg(long)]
    check: bool,

    /// The compiler; another version generates other instructions
    #[arg(long, default_value = "clang-14", value_name = "PROGRAM")]
    clang: String,
}

/// Builds or checks the object. The instructions and everything else that is loaded must be the same, byte for byte;
/// debug information can differ.
pub fn run(arguments: &Arguments) -> Result<()> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let folder = root.join(FOLDER);
    let made = root.join("target/latency.bpf.o");
    compile(&arguments.clang, &folder, &made)?;
    let origin = origin(&arguments.clang)?;
    let bytes = fs::read(&made)?;
    if !arguments.check {
        fs::write(folder.join(OBJECT), &bytes)?;
        fs::write(folder.join(ORIGIN), origin)?;
        return Ok(());
    }
    let committed = fs::read(folder.join(OBJECT))?;
    let by = fs::read_to_string(folder.join(ORIGIN))?;
    if by.lines().next() != origin.lines().next() {
        bail!(
            "the committed object was made by {by}and this is {origin}: name that one with --clang"
        );
    }
    let (ours, theirs) = (sections(&bytes)?, sections(&committed)?);
    if ours != theirs || by != origin {
        bail!("{FOLDER}/{OBJECT} differs from a build of the sources; run: cargo xtask bpf");
    }
    Ok(())
}

fn origin(clang: &str) -> Result<String> {
    let output = Command::new(clang).arg("--version").output()?;
    let text = String::from_utf8_lossy(&output.stdout);
    let sources = hugewise_linux::bpf::source_fingerprint();
    Ok(format!(
        "{}\nsources {sources:016x}\n",
        text.lines().next().unwrap_or_default()
    ))
}

/// Uses the flags of `crates/linux/build.rs`. Source debug information is stripped if a tool for it is installed; the
/// data for the loader (BTF) stays.
fn compile(clang: &str, folder: &Path, target: &Path) -> Result<()> {
    let folder = fs::canonicalize(folder)?;
    let status = Command::new(clang)
        .current_dir(&folder)
        // Line information does not name a folder of the build machine.
        .arg(format!("-fdebug-prefix-map={}=.", folder.display()))
        .args([
            "-target", "bpfel", "-mcpu=v3", "-O2", "-g", "-Wall", "-Wextra", "-Werror",
        ])
        .args(["-Wno-unused-function", "-c", "latency.bpf.c", "-o"])
        .arg(fs::canonicalize(target.parent().unwrap_or(Path::new(".")))?.join("latency.bpf.o"))
        .status()
        .with_context(|| format!("{clang}: install it, or name another with --clang"))?;
    if !status.success() {
        bail!("{clang} failed");
    }
    let strip = ["llvm-strip", "llvm-strip-14"].map(PathBuf::from);
    let stripped = strip
        .iter()
        .any(|tool| Command::new(tool).arg("-g").arg(target).status().is_ok());
    if !stripped {
        bail!("llvm-strip is missing; install llvm");
    }
    Ok(())
}

/// Returns name and content of the sections that become programs and maps: code, constants, map definitions and all
/// their relocations.
fn sections(elf: &[u8]) -> Result<Vec<(String, Vec<u8>)>> {
    const CODE: u64 = 4;
    const ALLOCATED: u64 = 2;
    const RELOCATIONS: u32 = 9;
    let torn = || anyhow::anyhow!("the object is torn");
    let number = |at: usize, bytes: usize| -> Result<u64> {
        let part = elf.get(at..at + bytes).ok_or_else(torn)?;
        Ok(part
            .iter()
            .rev()
            .fold(0, |sum, &byte| sum << 8 | u64::from(byte)))
    };
    // Elf64_Ehdr and Elf64_Shdr, elf(5).
    let (table, size, count) = (number(40, 8)?, number(58, 2)?, number(60, 2)?);
    let names_index = number(62, 2)?;
    let header = |index: u64| (table + index * size) as usize;
    let content = |at: usize| -> Result<&[u8]> {
        let (from, bytes) = (number(at + 24, 8)? as usize, number(at + 32, 8)? as usize);
        elf.get(from..from + bytes).ok_or_else(torn)
    };
    let names = content(header(names_index))?;
    let mut found = Vec::new();
    for index in 0..count {
        let at = header(index);
        let (kind, flags) = (number(at + 4, 4)? as u32, number(at + 8, 8)?);
        let name = names.get(number(at, 4)? as usize..).ok_or_else(torn)?;
        let name = name.split(|&byte| byte == 0).next().unwrap_or_default();
        let name = String::from_utf8_lossy(name).into_owned();
        let of_debugging = name.contains(".debug") || name.contains(".BTF");
        let loaded = flags & (CODE | ALLOCATED) != 0 || kind == RELOCATIONS;
        if loaded && !of_debugging {
            found.push((name, content(at)?.to_vec()));
        }
    }
    if found.is_empty() {
        bail!("the object has no programs");
    }
    Ok(found)
}
