//! The oracle: touching N pages causes a known number of faults.

use std::process::ExitCode;
use std::time::Duration;

use crate::Trouble;
use crate::arguments::Arguments;
use crate::region::{Advice, Align, Region, faults, page_bytes};

/// `touch`: writes one byte to each of N fresh pages at a distance of S pages, and prints `pages N faults F`.
///
/// On 4 KiB pages and 2 MiB huge pages, 23,029 pages are 23,029 faults without huge pages, and 545 with them: 44 huge
/// ones and the 501 small ones of the tail. With 512 pages from one to the next, 16 pages are 16 faults, and occupy 64
/// KiB without huge pages and 32 MiB with them.
pub(crate) fn run(arguments: &mut Arguments) -> Result<ExitCode, Trouble> {
    let pages = arguments.needed("--pages")?;
    let step = arguments.number("--step")?.unwrap_or(1).max(1);
    let repeat = arguments.number("--repeat")?.unwrap_or(1);
    let hold = arguments.number("--hold")?.unwrap_or(0);
    let align = align(arguments)?;
    let advice = advice(arguments)?;
    arguments.finish()?;

    warm()?;
    let mut last: Option<Region> = None;
    for _ in 0..repeat {
        if let Some(region) = last.take() {
            region.unmap();
        }
        let region = Region::fresh(pages.saturating_mul(step), align, advice)?;
        println!("pages {pages} faults {}", faults_of_writing(&region, step));
        last = Some(region);
    }
    std::thread::sleep(Duration::from_millis(hold as u64));
    Ok(ExitCode::SUCCESS)
}

/// Only the touches may fault between the two readings; [`warm`] ensures that.
fn faults_of_writing(region: &Region, step: usize) -> i64 {
    let stride = step * page_bytes();
    let before = faults();
    region.write(stride);
    faults() - before
}

/// Loads the code, the stack and the buffers of [`faults_of_writing`] by running it over one page, twice.
fn warm() -> Result<(), Trouble> {
    let page = Region::fresh(1, Align::Huge, Advice::None)?;
    faults_of_writing(&page, 1);
    faults_of_writing(&page, 1);
    page.unmap();
    Ok(())
}

fn align(arguments: &mut Arguments) -> Result<Align, Trouble> {
    match arguments.word("--align")?.as_deref() {
        None | Some("huge") => Ok(Align::Huge),
        Some("page") => Ok(Align::Page),
        Some(other) => Err(Trouble::Usage(format!(
            "--align is `huge` or `page`, not `{other}`"
        ))),
    }
}

fn advice(arguments: &mut Arguments) -> Result<Advice, Trouble> {
    match (arguments.switch("--huge"), arguments.switch("--small")) {
        (false, false) => Ok(Advice::None),
        (true, false) => Ok(Advice::Huge),
        (false, true) => Ok(Advice::Small),
        (true, true) => Err(Trouble::Usage(
            "--huge and --small exclude each other".to_owned(),
        )),
    }
}
