//! The project's own tools.

use clap::Parser;

mod bench;
mod bpf;
mod calibrate;
mod capture;
mod checks;
mod command;
mod confusion;
mod crates;
mod dashboards;
mod debian;
mod docs;
mod flaky;
mod gallery;
mod machine;
mod program;
mod prose;
mod release;
mod rooms;
mod schema;
mod session;
mod setup;
mod site;
mod skips;
mod test;
mod toolchain;
#[cfg(test)]
mod type_names;
mod vm;

/// The project's own tools.
#[derive(Debug, Parser)]
#[command(name = "xtask")]
enum Task {
    /// Measures the overhead for a workload, or the cost of `inspect`, in pairs.
    Bench(bench::Arguments),
    /// Makes or checks the committed BPF object.
    Bpf(bpf::Arguments),
    /// Runs simulated experiments through the real statistics and prints how often they err.
    Calibrate(calibrate::Arguments),
    /// Freezes this machine as a fixture.
    Capture(capture::Args),
    /// Plants each reason for small pages and writes the reports.
    Confusion(confusion::Arguments),
    /// Makes a release in `dist/`: static programs, packages, image, list of parts and `SHA256SUMS`.
    Dist(release::Arguments),
    /// Makes a release in two folders, which must have the same bytes.
    DistTwice(release::Arguments),
    /// Writes the reference pages and the dashboards from the tables of the program.
    Docs(docs::Arguments),
    /// Runs each fuzz target for an hour of processor time, from the kept corpora.
    Fuzz(checks::Fuzz),
    /// Makes one page of each kind that `--html` writes.
    Gallery(gallery::Arguments),
    /// Makes guests as hosts of a fleet, and prints how each is started.
    Hosts(vm::host::Arguments),
    /// Checks the English of comments, messages and documents (docs/STYLE.md).
    Prose(prose::Arguments),
    /// Runs a publish check against the crates index; nothing is uploaded.
    PublishCheck,
    /// Checks that crates depend on one another in one direction, and that the modules of each crate import likewise.
    Rooms(rooms::Arguments),
    /// Makes a root of a release of Debian and prints its folder.
    Root(debian::Arguments),
    /// Builds the documents as a site in `target/site`, and checks its links.
    Site,
    /// Builds the static programs of a release.
    Static(toolchain::Arguments),
    /// Runs all tests, and repeats failed ones separately.
    Test(test::Arguments),
    /// Repeats the experiments of the rules of advise, next to their kept answers (more than an hour).
    TestAdvice,
    /// Runs hugewise in containers of podman, with and without ptrace.
    TestContainers,
    /// Has pprof, Firefox Profiler and benchstat read their exports.
    TestExports,
    /// Lets each system call of the program fail once; no change may remain (minutes).
    TestFaults,
    /// Runs agents on QEMU guests, by Ansible, podman, Slurm, Kubernetes and containerd (a quarter of an hour).
    TestFleet(checks::Fleet),
    /// Runs the tests on other kernels and on Arm, under QEMU, and installs what they need.
    TestKernels(vm::Arguments),
    /// Scrapes 200 exporters by one Prometheus, and queries one of them continuously (a quarter of an hour).
    TestLoad,
    /// Tries `export`, its alerts and its dashboards with the real Prometheus (three minutes).
    TestObserve,
    /// Checks the machine code of the measured loops.
    TestLoops,
    /// Installs `.deb`, `.rpm` and image, and runs them.
    TestPackages(release::Packages),
    /// Makes the gallery, and checks it in Chromium and Firefox.
    TestPages,
    /// Runs one round of the examples with the real Redis, Java, PostgreSQL, Go and memcached.
    TestServices,
    /// Starts Go and Java a thousand times under each mechanism; STARTS=N for another number (half an hour).
    TestStarts,
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
        Task::Dist(arguments) => release::dist(&arguments),
        Task::DistTwice(arguments) => release::dist_twice(&arguments),
        Task::Docs(arguments) => docs::run(&arguments),
        Task::Fuzz(arguments) => checks::fuzz(&arguments),
        Task::Gallery(arguments) => gallery::run_gallery(&arguments),
        Task::Hosts(arguments) => vm::host::run(&arguments),
        Task::Prose(arguments) => prose::run(&arguments),
        Task::PublishCheck => release::publish_check(),
        Task::Rooms(arguments) => rooms::run(&arguments),
        Task::Root(arguments) => debian::run_root(&arguments),
        Task::Site => site::run(),
        Task::Static(arguments) => toolchain::run_static(&arguments),
        Task::Test(arguments) => test::run(&arguments),
        Task::TestAdvice => checks::advice(),
        Task::TestContainers => checks::containers(),
        Task::TestExports => checks::exports(),
        Task::TestFaults => checks::faults(),
        Task::TestFleet(arguments) => checks::fleet(&arguments),
        Task::TestKernels(arguments) => checks::kernels(&arguments),
        Task::TestLoad => checks::load(),
        Task::TestLoops => checks::loops(),
        Task::TestObserve => checks::observe(),
        Task::TestPackages(arguments) => release::test_packages(&arguments),
        Task::TestPages => gallery::test_pages(),
        Task::TestServices => checks::services(),
        Task::TestStarts => checks::starts(),
        Task::Vm(arguments) => vm::run(&arguments),
    }
}
