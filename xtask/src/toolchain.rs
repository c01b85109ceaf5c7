//! Static programs for a machine, from the toolchains at hand: the same bytes from every folder.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result};

use crate::command::{run, said};
use crate::machine::Machine;

mod arm;

/// The flag of rustc for programs that need no library.
const STATIC: &str = "-Ctarget-feature=+crt-static";
/// The flag of rustc for addresses that a static program adjusts when it starts: a bit for each, not
/// 24 bytes.
const PACKED: &str = "-Clink-arg=-Wl,-z,pack-relative-relocs";
/// The flags of rustc for programs without tables for unwinding: a release aborts where it panics.
/// Other profiles unwind and cannot go without. Cargo links in the folder of the workspace. LLVM's
/// linker does not leave out a part of `.eh_frame`.
const NO_UNWINDING: [&str; 2] = [
    "-Clink-arg=-fuse-ld=bfd",
    "-Clink-arg=-Wl,-T,xtask/src/toolchain/no-unwinding.ld",
];
/// Names the clang of the BPF object. With none of that name the committed object is taken: that
/// of some clang would differ from machine to machine.
const CLANG: &str = "HUGEWISE_CLANG";
/// Names the commit, where the build cannot ask git.
const COMMIT: &str = "HUGEWISE_COMMIT";
/// What a release consists of.
const PROGRAMS: [&str; 2] = ["hugewise", "hugewise-lab"];

/// Build the static programs of a release, a folder for each machine
#[derive(Debug, clap::Args)]
pub struct Arguments {
    /// Only for this machine
    #[arg(long)]
    machine: Option<Machine>,
    /// Where the root for cross-building is kept
    #[arg(long, default_value = ".cache/matrix")]
    cache: PathBuf,
    /// Where the programs go
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

/// What cargo is to build.
struct Order<'a> {
    /// Where the workspace lies.
    sources: &'a Path,
    /// The target, as rustc names it.
    target: &'a str,
    /// The commit, as `hugewise --version` names it.
    commit: &'a str,
    /// The words of cargo, without the target.
    words: &'a [&'a str],
    /// All flags for rustc.
    flags: &'a [&'a str],
}

/// Makes what a build for a machine needs besides the toolchain at hand, unless it is there.
///
/// # Errors
/// It cannot be made here; the error says why.
pub fn prepare(machine: Machine, cache: &Path) -> Result<()> {
    match machine {
        Machine::x86_64 => Ok(()),
        Machine::aarch64 => arm::prepare(cache).map(drop),
    }
}

/// Builds packages of this workspace; `words` are those of cargo, without its target, and `flags`
/// are for rustc besides those of a static program. Gives the folder of the target, which has one
/// for each profile.
///
/// # Errors
/// They cannot be built here; the error says why.
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

/// The target is named although it is the host's: only so are macros, which are libraries of the
/// compiler, built without the flag for static programs. Folders have the names that they have in
/// the root for aarch64.
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

/// The commit that is checked out, as `hugewise --version` names it.
pub(crate) fn commit(sources: &Path) -> String {
    let words = ["rev-parse", "--short=12", "HEAD"];
    let said = said(Command::new("git").args(words).current_dir(sources));
    said.map_or_else(|_| "unknown".to_owned(), |text| text.trim().to_owned())
}

/// Where cargo keeps what it fetched.
fn cargo_home() -> PathBuf {
    env::var_os("CARGO_HOME").map_or_else(
        || PathBuf::from(env::var_os("HOME").unwrap_or_default()).join(".cargo"),
        PathBuf::from,
    )
}
