//! The laboratory as a program; everything is in the library, so that the tests of other
//! crates can become a laboratory process themselves.

fn main() -> std::process::ExitCode {
    hugewise_lab::run(std::env::args().skip(1).collect())
}
