//! Page faults with a chosen duration: a thread resolves them late (userfaultfd).

use std::time::Duration;

use crate::Trouble;
use crate::region::{Advice, Align, Region, page_bytes};
use crate::userfault::Userfault;

/// A page whose first touch takes a long time.
pub(crate) struct LatePage {
    region: Region,
}

impl LatePage {
    /// A page whose faults are resolved after `wait`.
    pub(crate) fn new(wait: Duration) -> Result<Self, Trouble> {
        let region = Region::fresh(1, Align::Page, Advice::None)?;
        let page = region.start().addr();
        let failed = |error| Trouble::Kernel("userfaultfd", error);
        let watcher = Userfault::open().map_err(failed)?;
        watcher.watch(page, page_bytes()).map_err(failed)?;
        std::thread::spawn(move || answer(&watcher, page, wait));
        Ok(Self { region })
    }

    /// Frees the page and touches it again: one fault of at least the chosen duration.
    pub(crate) fn touch(&self) -> Result<(), Trouble> {
        self.region.discard()?;
        self.region.write(page_bytes());
        Ok(())
    }
}

/// Resolves faults until the process ends.
fn answer(watcher: &Userfault, page: usize, wait: Duration) {
    while watcher.wait().is_ok() {
        std::thread::sleep(wait);
        if watcher.fill(page, page_bytes()).is_err() {
            return;
        }
    }
}
