//! Checks that are not part of `make test`: each installs its tools, builds the programs, and runs one script or test.

use std::path::PathBuf;
use std::process::Command;

use anyhow::Result;

use crate::command::show;
use crate::setup::{build, build_for_tests, build_release, install, install_if_possible};
use crate::skips::Skips;
use crate::vm;

/// The tools of the kernel matrix.
const MATRIX_TOOLS: [&str; 6] = [
    "qemu-system-x86_64:qemu-system-x86",
    "qemu-system-aarch64:qemu-system-arm",
    "cpio:cpio",
    "xz:xz-utils",
    "/usr/sbin/debootstrap:debootstrap",
    "dpkg-deb:dpkg",
];

/// The servers and load generators of the examples; a missing one is a named skip.
const SERVICE_TOOLS: [&str; 7] = [
    "redis-server:redis-server",
    "redis-benchmark:redis-tools",
    "wrk:wrk",
    "javac:default-jdk-headless",
    "pgbench:postgresql",
    "go:golang-go",
    "memcached:memcached",
];

/// Allocators: libraries without a command.
const SERVICE_LIBRARIES: [&str; 3] = [
    "libjemalloc.so.2:libjemalloc2",
    "libmimalloc.so.2:libmimalloc2.0",
    "libtcmalloc_minimal.so.4:libtcmalloc-minimal4",
];

/// The tools that scrape the exporter.
const OBSERVE_TOOLS: [&str; 5] = [
    "prometheus:prometheus",
    "promtool:prometheus",
    "curl:curl",
    "python3:python3",
    "victoria-metrics:victoria-metrics",
];

/// The tools for a fleet experiment.
const FLEET_TOOLS: [&str; 13] = [
    "prometheus:prometheus",
    "promtool:prometheus",
    "ansible-playbook:ansible-core",
    "podman:podman",
    "python3:python3",
    "slurmctld:slurmctld",
    "slurmd:slurmd",
    "sbatch:slurm-client",
    "munged:munge",
    "rclone:rclone",
    "openssl:openssl",
    "crun:crun",
    "runc:runc",
];

/// The environment variable for the folder of the project's cargo tools.
pub const TOOLS: &str = "DIST_BIN";
/// The version of cargo-fuzz.
const CARGO_FUZZ: &str = "0.13.2";

/// Lets each system call of the program fail once; no change may remain.
///
/// # Errors
/// A test fails.
pub fn faults() -> Result<()> {
    install(&[])?;
    build_for_tests()?;
    ignored("refused::sweep", &mut Command::new("cargo"))
}

/// Starts Go and Java a thousand times under each mechanism that makes calls in a program.
///
/// # Errors
/// A test fails.
pub fn starts() -> Result<()> {
    install(&[])?;
    build_for_tests()?;
    ignored("trials::starts", &mut Command::new("cargo"))
}

/// Runs one round of the examples with the real servers.
///
/// # Errors
/// A test fails.
pub fn services() -> Result<()> {
    let tools = [&SERVICE_TOOLS[..], &SERVICE_LIBRARIES].concat();
    install_if_possible(&tools)?;
    build_for_tests()?;
    let skips = Skips::begin()?;
    ignored(
        "service::examples",
        skips.name_to(&mut Command::new("cargo")),
    )?;
    skips.print();
    Ok(())
}

/// Runs hugewise in containers of podman.
///
/// # Errors
/// A test fails.
pub fn containers() -> Result<()> {
    install(&["podman:podman", "crun:crun"])?;
    build_for_tests()?;
    let test = "test --locked -p hugewise --test cli containers::";
    show(Command::new("cargo").args(test.split(' ')))
}

/// Tries the exporter, its alerts and its dashboards with the real Prometheus.
///
/// # Errors
/// An alert or a panel fails.
pub fn observe() -> Result<()> {
    install(&OBSERVE_TOOLS)?;
    build_release()?;
    show(Command::new("contrib/prometheus/try").arg("target/release"))
}

/// Scrapes 200 exporters by one Prometheus. It uses the release program, whose file is most of an exporter's memory.
///
/// # Errors
/// A limit is exceeded.
pub fn load() -> Result<()> {
    install(&OBSERVE_TOOLS)?;
    build(&["--profile", "dist", "-p", "hugewise"])?;
    show(Command::new("contrib/prometheus/load").arg("target/dist"))
}

/// Repeats the experiments of the rules of `advise`.
///
/// # Errors
/// An experiment cannot be run.
pub fn advice() -> Result<()> {
    install(&[])?;
    build_release()?;
    show(Command::new("examples/advise/try").arg("target/release/hugewise"))
}

/// Has the programs read their exports.
///
/// # Errors
/// A program reads other values.
pub fn exports() -> Result<()> {
    install(&[])?;
    build(&["-p", "hugewise"])?;
    show(Command::new("xtask/exports/try").args(["target/debug/hugewise", "target/exports"]))
}

/// Runs the tests on other kernels, under emulation: for function, never for timing.
///
/// # Errors
/// A test fails.
pub fn kernels(arguments: &vm::Arguments) -> Result<()> {
    install(&MATRIX_TOOLS)?;
    vm::run(arguments)
}

/// Runs agents and the schedulers of fleets.
#[derive(Debug, clap::Args)]
pub struct Fleet {
    /// Only these parts, for example `guests slurm`
    parts: Vec<String>,
}

/// Runs agents and the schedulers of fleets.
///
/// # Errors
/// A part fails.
pub fn fleet(arguments: &Fleet) -> Result<()> {
    install(&[&FLEET_TOOLS[..], &MATRIX_TOOLS].concat())?;
    build_for_tests()?;
    show(
        Command::new("xtask/fleet/all")
            .args(["target/debug", "target/fleet"])
            .args(&arguments.parts),
    )
}

/// Runs each fuzz target from the kept corpora.
#[derive(Debug, clap::Args)]
pub struct Fuzz {
    /// CPU seconds of each target; 60 for a quick check
    #[arg(long, default_value_t = 3600)]
    seconds: u32,
    /// Only these targets, for example `record words`
    targets: Vec<String>,
}

/// Runs each fuzz target from the kept corpora.
///
/// # Errors
/// An input crashes a target.
pub fn fuzz(arguments: &Fuzz) -> Result<()> {
    install(&[])?;
    install_tool("cargo-fuzz", CARGO_FUZZ)?;
    with_tools(
        Command::new("fuzz/run")
            .arg(arguments.seconds.to_string())
            .arg("target/fuzz")
            .args(&arguments.targets),
    )
}

/// Installs a cargo tool in the project's folder.
///
/// # Errors
/// It cannot be fetched or built.
pub fn install_tool(name: &str, version: &str) -> Result<()> {
    show(
        Command::new("cargo")
            .args(["install", "--locked", "--quiet", name, "--version", version])
            .arg("--root")
            .arg(tools()?),
    )
}

/// Returns the folder of the project's cargo tools.
///
/// # Errors
/// The current folder no longer exists.
pub fn tools() -> Result<PathBuf> {
    match std::env::var_os(TOOLS) {
        Some(folder) => Ok(folder.into()),
        None => Ok(std::env::current_dir()?.join("target/tools")),
    }
}

/// Runs a command with the project's cargo tools first in its path.
///
/// # Errors
/// It fails.
pub fn with_tools(command: &mut Command) -> Result<()> {
    let tools = tools()?.join("bin");
    let path = std::env::var_os("PATH").unwrap_or_default();
    let folders = std::iter::once(tools).chain(std::env::split_paths(&path));
    let path = std::env::join_paths(folders)?;
    show(command.env("PATH", path))
}

/// Looks for the promised instructions in each measured loop, with a test that is not part of `make test`.
///
/// # Errors
/// An instruction is missing, or a loop calls a function.
pub fn loops() -> Result<()> {
    install(&["objdump:binutils"])?;
    let test = "test --locked --workspace --test disassembly -- --ignored";
    show(Command::new("cargo").args(test.split(' ')))
}

fn ignored(name: &str, cargo: &mut Command) -> Result<()> {
    let test = "test --locked -p hugewise --test cli";
    show(
        cargo
            .args(test.split(' '))
            .args([name, "--", "--ignored", "--nocapture"]),
    )
}
