//! `xtask site`: the documents as a book with search, in `target/site`. A link that leads nowhere fails the build.
//!
//! mdBook renders one folder, and the documents link to files outside `docs/`. So the pages of `docs/SUMMARY.md`, and the files to which
//! they link, are first copied to `target/book` at the same places.

use std::fs;
use std::path::Path;
use std::process::Command;

use anyhow::{Result, ensure};

use crate::command::show;
use crate::{gallery, setup};

mod links;
mod stage;

/// The folder that mdBook reads; `book.toml` names it.
const STAGE: &str = "target/book";
/// The folder that mdBook writes; `book.toml` names it.
const SITE: &str = "target/site";
/// The program that makes the reports of the gallery.
const PROGRAM: &str = "target/debug/hugewise";
/// The list of pages.
const SUMMARY: &str = "docs/SUMMARY.md";
/// The page that lists the reports of the gallery, and the folder of these reports.
const GALLERY: (&str, &str) = ("docs/gallery.md", "docs/gallery");

/// The renderer, as `xtask/setup` installs it.
const MDBOOK: setup::Program = setup::Program {
    name: "mdbook",
    version: "0.4.52",
    features: "search",
};

/// Builds the site and checks its links.
///
/// # Errors
/// A page cannot be read, mdBook refuses one, or a link leads nowhere.
pub fn run() -> Result<()> {
    let Some(mdbook) = MDBOOK.installed()? else {
        println!("no mdbook {}: the site is not built", MDBOOK.version);
        return Ok(());
    };
    let stage = Path::new(STAGE);
    stage::pages(Path::new(SUMMARY), stage)?;
    let hugewise = Path::new(PROGRAM);
    // The tests have built it, with features that a build of this package would not choose.
    if !hugewise.exists() {
        setup::build_for_tests()?;
    }
    let reports = gallery::make(hugewise, &stage.join(GALLERY.1))?;
    link_reports(&stage.join(GALLERY.0), &reports)?;
    show(Command::new(mdbook).arg("build"))?;
    let dead = links::dead(Path::new(SITE))?;
    ensure!(
        dead.is_empty(),
        "{} dead links:\n{}",
        dead.len(),
        dead.join("\n")
    );
    println!("the site is in {SITE}");
    Ok(())
}

/// Turns the names of reports on a page into links to them.
fn link_reports(page: &Path, reports: &[std::path::PathBuf]) -> Result<()> {
    let mut text = fs::read_to_string(page)?;
    for report in reports {
        let file = report.file_name().unwrap_or_default().to_string_lossy();
        let name = format!("`{file}`");
        ensure!(
            text.contains(&name),
            "{} does not list {file}",
            page.display()
        );
        text = text.replace(&name, &format!("[{name}](gallery/{file})"));
    }
    Ok(fs::write(page, text)?)
}
