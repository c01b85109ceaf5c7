//! The laboratory as a program. All code is in the library, so that tests of other crates can run laboratory processes
//! themselves.

fn main() -> std::process::ExitCode {
    hugewise_lab::run(std::env::args().skip(1).collect())
}
