//! Builds static programs with the installed toolchains: the same bytes from every folder.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result};

use crate::command::{run, said};
use crate::machine::Machine;

mod arm;

/// The rustc flag for static programs.
const STATIC: &str = "-Ctarget-feature=+crt-static";
/// The rustc flag for compact relative relocations in a static program: one bit for each, not 24 bytes.
const PACKED: &str = "-Clink-arg=-Wl,-z,pack-relative-relocs";
/// The rustc flags for programs without unwind tables: a release aborts on panic. Other profiles unwind and need the
/// tables. Cargo links in the folder of the workspace. LLVM's linker cannot omit a part of `.eh_frame`.
const NO_UNWINDING: [&str; 2] = [
    "-Clink-arg=-fuse-ld=bfd",
    "-Clink-arg=-Wl,-T,xtask/src/toolchain/no-unwinding.ld",
];
/// The environment variable for the clang of the BPF object. If it names a missing program, the committed object is
/// used: the result of an arbitrary clang would differ between machines.
const CLANG: &str = "HUGEWISE_CLANG";
/// The environment variable for the commit, if the build cannot query git.
const COMMIT: &str = "HUGEWISE_COMMIT";
/// The programs of a release.
const PROGRAMS: [&str; 2] = ["hugewise", "hugewise-lab"];

/// Build the static programs of a release, a folder for each machine
#[derive(Debug, clap::Args)]
pub struct Arguments {
    /// Only for this machine
    #[arg(long)]
    machine: Option<Machine>,
    /// Folder of the root for cross-building
    #[arg(long, default_value = ".cache/matrix")]
    cache: PathBuf,
    /// Output folder
    out: PathBuf,
}

/// Builds with the profile `dist`.
///
/// # Errors
/// The programs cannot be built here.
pub fn run_static(arguments: &Arguments) -> Result<()> {
    let machines = match arguments.machine {
        Some(machine) => vec![machine],
        None => vec![Machine::x86_64, Machine::aarch64],
    };
    build_static(&machines, &arguments.cache, &arguments.out)
}

/// Builds the programs for some machines into a folder.
///
/// # Errors
/// The programs cannot be built here.
pub fn build_static(machines: &[Machine], cache: &Path, out: &Path) -> Result<()> {
    let sources = env::current_dir()?;
    fs::create_dir_all(cache)?;
    let cache = cache.canonicalize()?;
    for &machine in machines {
        eprintln!("building for {} …", machine.name());
        let words = ["build", "--profile", "dist"].into_iter();
        let words: Vec<&str> = words
            .chain(PROGRAMS.iter().flat_map(|name| ["-p", name]))
            .collect();
        let built = build(machine, &sources, &cache, &words, &NO_UNWINDING)?.join("dist");
        let folder = out.join(machine.name());
        fs::create_dir_all(&folder)?;
        for name in PROGRAMS {
            fs::copy(built.join(name), folder.join(name))
                .with_context(|| format!("copying {name}"))?;
        }
    }
    Ok(())
}

/// The parameters of a cargo build.
struct Order<'a> {
    /// The folder of the workspace.
    sources: &'a Path,
    /// The rustc target.
    target: &'a str,
    /// The commit for `hugewise --version`.
    commit: &'a str,
    /// Arguments of cargo, without the target.
    words: &'a [&'a str],
    /// All flags for rustc.
    flags: &'a [&'a str],
}

/// Prepares the build environment of a machine, in addition to the installed toolchain, unless it exists.
///
/// # Errors
/// It cannot be made on this machine; the error has the reason.
pub fn prepare(machine: Machine, cache: &Path) -> Result<()> {
    match machine {
        Machine::x86_64 => Ok(()),
        Machine::aarch64 => arm::prepare(cache).map(drop),
    }
}

/// Builds packages of this workspace. `words` are arguments of cargo, without its target, and `flags` are additional
/// rustc flags. Returns the target folder, which has one subfolder per profile.
///
/// # Errors
/// They cannot be built on this machine; the error has the reason.
pub fn build(
    machine: Machine,
    sources: &Path,
    cache: &Path,
    words: &[&str],
    flags: &[&str],
) -> Result<PathBuf> {
    let flags = [&[STATIC, PACKED][..], flags].concat();
    let order = Order {
        sources,
        target: machine.target(),
        commit: &commit(sources),
        words,
        flags: &flags,
    };
    match machine {
        Machine::x86_64 => native(&order),
        Machine::aarch64 => arm::build(&arm::prepare(cache)?, &order),
    }
}

/// The target is explicit although it is the host's: otherwise macros, which are compiler plugins, would be built with
/// the flag for static programs. Folders have the same names as in the root for aarch64.
fn native(order: &Order<'_>) -> Result<PathBuf> {
    let renamed = |folder: &Path, name| format!("--remap-path-prefix={}={name}", folder.display());
    let mut flags: Vec<String> = order.flags.iter().copied().map(str::to_owned).collect();
    flags.push(renamed(order.sources, "/src"));
    flags.push(renamed(&cargo_home(), "/cargo"));
    let mut command = Command::new("cargo");
    command
        .args(order.words)
        .args(["--locked", "--target", order.target])
        .env("CARGO_ENCODED_RUSTFLAGS", flags.join("\x1f"))
        .env(CLANG, "none")
        .env(COMMIT, order.commit)
        .current_dir(order.sources);
    run(&mut command).with_context(|| format!("building for {}", order.target))?;
    Ok(order.sources.join("target").join(order.target))
}

/// Returns the checked-out commit, for `hugewise --version`.
pub(crate) fn commit(sources: &Path) -> String {
    let words = ["rev-parse", "--short=12", "HEAD"];
    let said = said(Command::new("git").args(words).current_dir(sources));
    said.map_or_else(|_| "unknown".to_owned(), |text| text.trim().to_owned())
}

/// Returns cargo's download folder.
fn cargo_home() -> PathBuf {
    env::var_os("CARGO_HOME").map_or_else(
        || PathBuf::from(env::var_os("HOME").unwrap_or_default()).join(".cargo"),
        PathBuf::from,
    )
}
