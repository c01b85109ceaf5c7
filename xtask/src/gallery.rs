//! `xtask gallery`: one page of each kind that `--html` writes, from kept records and recordings. `xtask test-pages`
//! checks these pages in Chromium and Firefox.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result};

use crate::command::{run, show};
use crate::setup;

/// The pages: the name of each, and the arguments that create it.
const PAGES: [(&str, &[&str]); 14] = [
    (
        "allocators",
        &["report", "examples/allocators/record.jsonl.gz"],
    ),
    (
        "attribute",
        &["attribute", "--from", "examples/attribute/jvm.jsonl.gz"],
    ),
    ("bench", &["report", "fixtures/benches/latency.jsonl"]),
    (
        "faults",
        &["faults", "--replay", "fixtures/recordings/faults.jsonl"],
    ),
    ("go", &["report", "evidence/go.jsonl.gz"]),
    ("history", &["history", "--folder", "examples/history"]),
    (
        "inspect",
        &["inspect", "--from", "fixtures/spaces/grown.json"],
    ),
    ("jvm", &["report", "evidence/jvm.jsonl.gz"]),
    ("memcached", &["report", "evidence/memcached.jsonl.gz"]),
    ("postgres", &["report", "evidence/postgres.jsonl.gz"]),
    ("redis", &["report", "examples/redis/record.jsonl.gz"]),
    (
        "stat",
        &["stat", "--replay", "fixtures/recordings/stat.jsonl"],
    ),
    (
        "trace",
        &["trace", "--replay", "fixtures/recordings/trace.json"],
    ),
    (
        "two-records",
        &[
            "report",
            "--across",
            "examples/history/05.jsonl.gz",
            "examples/history/06.jsonl.gz",
        ],
    ),
];

/// The program as it is released.
const RELEASED: &str = "target/release/hugewise";

/// The browsers, and the source of their driver.
const BROWSERS: [&str; 3] = ["chromium:chromium", "firefox-esr:firefox-esr", "npm:npm"];

/// Makes one page of each kind
#[derive(Debug, clap::Args)]
pub struct Arguments {
    /// Folder of the pages
    #[arg(default_value = "target/gallery", value_name = "FOLDER")]
    folder: PathBuf,
}

/// Makes the pages.
///
/// # Errors
/// The program cannot be built, or a page cannot be made.
pub fn run_gallery(arguments: &Arguments) -> Result<()> {
    setup::build_release()?;
    make(Path::new(RELEASED), &arguments.folder).map(drop)
}

/// Makes the pages and checks them in browsers.
///
/// # Errors
/// A page cannot be made, or a browser finds a fault in it.
pub fn test_pages() -> Result<()> {
    setup::install(&BROWSERS)?;
    setup::build_release()?;
    let pages = make(Path::new(RELEASED), Path::new("target/pages/gallery"))?;
    // The npm packages are fetched for each run, and are not part of the project.
    let npm =
        "install --prefix target/pages --no-audit --no-fund --silent axe-core@4 puppeteer-core@24";
    show(Command::new("npm").args(npm.split(' ')))?;
    show(
        Command::new("node")
            .args(["xtask/pages/look.mjs", "target/pages"])
            .args(pages),
    )
}

/// Makes the pages with a built program and returns their files.
///
/// # Errors
/// A page cannot be made.
pub fn make(hugewise: &Path, folder: &Path) -> Result<Vec<PathBuf>> {
    fs::create_dir_all(folder).with_context(|| format!("making {}", folder.display()))?;
    let pages = PAGES.iter().map(|(name, arguments)| {
        let file = folder.join(format!("{name}.html"));
        run(Command::new(hugewise)
            .args(*arguments)
            .arg("--html")
            .arg(&file))?;
        Ok(file)
    });
    pages.collect()
}
