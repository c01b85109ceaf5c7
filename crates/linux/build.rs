//! Brings the BPF object into the build: compiled here where there is a clang, and otherwise the
//! one that is committed beside its source (`cargo xtask bpf` makes and checks it).

use std::path::{Path, PathBuf};
use std::process::Command;
use std::{env, fs, io};

const FOLDER: &str = "src/bpf";
const OBJECT: &str = "latency.bpf.o";

#[expect(
    clippy::disallowed_macros,
    reason = "this is how a build script speaks to cargo"
)]
fn main() -> io::Result<()> {
    for path in [
        "src/bpf/latency.bpf.c",
        "src/bpf/mini.h",
        "src/bpf/prebuilt/latency.bpf.o",
    ] {
        println!("cargo::rerun-if-changed={path}");
    }
    println!("cargo::rerun-if-env-changed=HUGEWISE_CLANG");
    let target = Path::new(&env::var_os("OUT_DIR").unwrap_or_default()).join(OBJECT);
    if compiled(&target) {
        return Ok(());
    }
    let prebuilt: PathBuf = [FOLDER, "prebuilt", OBJECT].iter().collect();
    fs::copy(prebuilt, target).map(drop)
}

/// Compiles with the clang that `HUGEWISE_CLANG` names, or else the first of the usual names. A
/// clang without the BPF target, or none, is no fault: the committed object takes its place.
fn compiled(target: &Path) -> bool {
    let clangs = match env::var("HUGEWISE_CLANG") {
        Ok(named) => vec![named],
        Err(_) => ["clang", "clang-19", "clang-16", "clang-14"]
            .map(str::to_owned)
            .to_vec(),
    };
    clangs.into_iter().any(|clang| {
        let output = Command::new(clang)
            .args([
                "-target", "bpfel", "-mcpu=v3", "-O2", "-g", "-Wall", "-Wextra", "-Werror",
            ])
            .args(["-Wno-unused-function", "-c", "src/bpf/latency.bpf.c", "-o"])
            .arg(target)
            .output();
        output.is_ok_and(|output| output.status.success())
    })
}
