//! Provides two files for the build. The BPF object is compiled here if clang is available; otherwise the committed
//! object next to its source is used (`cargo xtask bpf` makes and checks it). The preload library is compiled by the
//! same rustc and for the same target.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::{env, fs, io};

const FOLDER: &str = "src/bpf";
const OBJECT: &str = "latency.bpf.o";
const LIBRARY: &str = "src/apply/preload/library.rs";

#[expect(
    clippy::disallowed_macros,
    reason = "this is how a build script speaks to cargo"
)]
fn main() -> io::Result<()> {
    for path in [
        "src/bpf/latency.bpf.c",
        "src/bpf/mini.h",
        "src/bpf/faults.h",
        "src/bpf/prebuilt/latency.bpf.o",
        LIBRARY,
        "src/apply/preload/machine.rs",
    ] {
        println!("cargo::rerun-if-changed={path}");
    }
    println!("cargo::rerun-if-env-changed=HUGEWISE_CLANG");
    let folder = PathBuf::from(env::var_os("OUT_DIR").unwrap_or_default());
    compile_library(&folder.join("library.so"))?;
    let target = folder.join(OBJECT);
    if compiled(&target) {
        return Ok(());
    }
    let prebuilt: PathBuf = [FOLDER, "prebuilt", OBJECT].iter().collect();
    fs::copy(prebuilt, target).map(drop)
}

/// Compiles with the clang named by `HUGEWISE_CLANG`, or else the first of the usual names. A missing clang, or one
/// without the BPF target, is no error: the committed object is used instead.
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

/// Compiles the preload library. It needs no standard library, no C library and no start files. Its constructor runs
/// before all others (`initfirst`). It is empty for a processor without jump code in the source.
fn compile_library(target: &Path) -> io::Result<()> {
    let of_target = |name: &str| env::var(format!("CARGO_CFG_TARGET_{name}")).unwrap_or_default();
    let has_source = ["x86_64", "aarch64"].contains(&of_target("ARCH").as_str());
    if !has_source || of_target("OS") != "linux" {
        return fs::write(target, "");
    }
    let mut rustc = Command::new(env::var_os("RUSTC").unwrap_or_else(|| "rustc".into()));
    rustc
        .args(["--crate-name", "hugewise_preload", "--crate-type", "cdylib"])
        .args(["--edition", "2024", "--target"])
        .arg(env::var_os("TARGET").unwrap_or_default())
        .args(["-Copt-level=s", "-Cpanic=abort", "-Ccodegen-units=1"])
        .args(["-Coverflow-checks=off", "-Cdebug-assertions=off"])
        .args(["-Cdebuginfo=0", "-Cstrip=symbols", "-Crelocation-model=pic"])
        .args(["-Clink-arg=-nostdlib", "-Clink-arg=-nostartfiles"])
        .args(["-Clink-arg=-Wl,-z,initfirst,-z,now,--build-id=none"]);
    if of_target("ENV") == "musl" {
        rustc.arg("-Ctarget-feature=-crt-static");
    }
    if let Some(linker) = env::var_os("RUSTC_LINKER") {
        let mut words = OsString::from("-Clinker=");
        words.push(linker);
        rustc.arg(words);
    }
    let output = rustc.arg("-o").arg(target).arg(LIBRARY).output()?;
    if output.status.success() {
        return Ok(());
    }
    Err(io::Error::other(format!(
        "compiling {LIBRARY}: {}",
        String::from_utf8_lossy(&output.stderr)
    )))
}
