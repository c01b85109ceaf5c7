//! The project's own tools.

use clap::Parser;

mod bench;
mod bpf;
mod calibrate;
mod capture;
mod command;
mod confusion;
mod crates;
mod dashboards;
mod debian;
mod docs;
mod machine;
mod program;
mod rooms;
mod schema;
mod test;
mod toolchain;
mod vm;

/// The project's own tools.
#[derive(Debug, Parser)]
#[command(name = "xtask")]
enum Task {
    /// Measures what the measuring costs a workload, or what `inspect` takes, in pairs.
    Bench(bench::Arguments),
    /// Makes or checks the committed BPF object.
    Bpf(bpf::Arguments),
    /// Runs simulated experiments through the real statistics and prints how often they err.
    Calibrate(calibrate::Arguments),
    /// Freezes this machine as a fixture.
    Capture(capture::Args),
    /// Plants each reason why memory is not huge and writes what was reported.
    Confusion(confusion::Arguments),
    /// Writes the reference pages and the dashboards from the tables of the program.
    Docs(docs::Arguments),
    /// Makes guests that are hosts of a fleet, and prints how each is started.
    Hosts(vm::host::Arguments),
    /// Checks that crates build on one another in one direction, and the modules of each crate import likewise.
    Rooms(rooms::Arguments),
    /// Makes a root of a release of Debian and prints its folder.
    Root(debian::Arguments),
    /// Builds the static programs of a release.
    Static(toolchain::Arguments),
    /// Runs all tests, and those that failed once more, alone.
    Test(test::Arguments),
    /// Runs the tests on other kernels, under QEMU.
    Vm(vm::Arguments),
}

fn main() -> anyhow::Result<()> {
    match Task::parse() {
        Task::Bench(arguments) => bench::run(&arguments),
        Task::Bpf(arguments) => bpf::run(&arguments),
        Task::Calibrate(arguments) => calibrate::run(&arguments),
        Task::Capture(arguments) => capture::run(&arguments),
        Task::Confusion(arguments) => confusion::run(&arguments),
        Task::Docs(arguments) => docs::run(&arguments),
        Task::Hosts(arguments) => vm::host::run(&arguments),
        Task::Rooms(arguments) => rooms::run(&arguments),
        Task::Root(arguments) => debian::run_root(&arguments),
        Task::Static(arguments) => toolchain::run_static(&arguments),
        Task::Test(arguments) => test::run(&arguments),
        Task::Vm(arguments) => vm::run(&arguments),
    }
}
