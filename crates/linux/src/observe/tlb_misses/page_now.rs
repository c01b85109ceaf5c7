use std::collections::HashMap;
use std::fs::File;

use hugewise_base::host::Host;

use crate::machine::root::Root;
use crate::spawn::page_scan::{HUGE, PRESENT, PageFilter, scan_span};

/// Looks up page sizes in a process that is still running, for hardware whose samples are not written by the kernel.
#[derive(Debug)]
pub(super) struct PageNow {
    root: Root,
    page_bytes: u64,
    pmd_bytes: Option<u64>,
    /// `None` if the process may not be read, or has ended.
    open: HashMap<u32, Option<File>>,
}

impl PageNow {
    pub(super) fn on(root: &Root, host: &Host) -> Self {
        Self {
            root: root.clone(),
            page_bytes: host.page_bytes.max(1),
            pmd_bytes: host.pmd_bytes(),
            open: HashMap::new(),
        }
    }

    /// Returns the size of the page at an address, huge or base, with no sizes in between. `None` if the page no longer
    /// exists, or the process cannot be read.
    pub(super) fn bytes(&mut self, pid: u32, address: u64) -> Option<u64> {
        let root = &self.root;
        let opened = self.open.entry(pid);
        let pagemap =
            opened.or_insert_with(|| File::open(root.path(format!("proc/{pid}/pagemap"))).ok());
        let start = address - address % self.page_bytes;
        let wanted = PageFilter {
            any_of: PRESENT,
            returned: PRESENT | HUGE,
            ..PageFilter::default()
        };
        let mut found = None;
        let span = start..start.checked_add(self.page_bytes)?;
        let take = |region: crate::spawn::page_scan::Region| found = Some(region.categories);
        scan_span(pagemap.as_ref()?, span, wanted, take).ok()?;
        match found? & HUGE {
            0 => Some(self.page_bytes),
            _ => self.pmd_bytes,
        }
    }

    /// Closes a process that executed another program or ended, so that it is opened again.
    pub(super) fn forget(&mut self, pid: u32) {
        self.open.remove(&pid);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::probe::{self, Environment};

    #[test]
    fn a_page_of_our_own_has_a_size_and_what_is_not_there_has_none() {
        let root = Root::real();
        let answers = probe::answers(&root, Environment::default()).unwrap();
        let host = probe::host(&root, &answers).unwrap();
        let mut now = PageNow::on(&root, &host);
        let pid = std::process::id();
        let page = std::ptr::from_ref(&pid) as u64;
        // Linux before 6.7 has no page scan, and every size is unknown.
        let asked = now.bytes(pid, page);
        let scans = answers.pagemap_scan == probe::Answer::Accepted;
        let expected = scans.then_some(host.page_bytes);
        assert!(
            asked == expected || scans && asked == host.pmd_bytes(),
            "{asked:?}"
        );
        assert_eq!(now.bytes(pid, 0), None);
        assert_eq!(now.bytes(u32::MAX, page), None);
    }
}
