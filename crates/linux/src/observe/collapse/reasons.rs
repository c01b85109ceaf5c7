use hugewise_base::missing::Missing;

use super::Reasons;
use crate::machine::root::Root;
use crate::tracepoint::{Listener, TracepointFormats};

/// The events that end with the status of a range: of anonymous memory, and of files and shared
/// memory. Linux 7.1 renamed functions, not events.
const EVENTS: [&str; 2] = [
    "huge_memory/mm_khugepaged_scan_pmd",
    "huge_memory/mm_khugepaged_scan_file",
];

/// The kernel's reasons, by trace events of the thread that opened it.
#[derive(Debug)]
pub struct KernelReasons {
    listeners: Vec<Listener>,
    missing: Option<Missing>,
}

impl KernelReasons {
    /// Begins to listen in this thread.
    #[must_use]
    pub fn open(root: &Root) -> Self {
        match listeners(root) {
            Ok(listeners) => Self {
                listeners,
                missing: None,
            },
            Err(missing) => Self {
                listeners: Vec::new(),
                missing: Some(missing),
            },
        }
    }

    /// Why there are no reasons; `None` where there are.
    #[must_use]
    pub fn missing(&self) -> Option<&Missing> {
        self.missing.as_ref()
    }
}

fn listeners(root: &Root) -> Result<Vec<Listener>, Missing> {
    let events = TracepointFormats::find(root)?;
    EVENTS
        .iter()
        .map(|event| Listener::open(&events, event))
        .collect()
}

impl Reasons for KernelReasons {
    fn forget(&mut self) {
        self.status();
    }

    fn status(&mut self) -> Option<String> {
        let statuses = self.listeners.iter_mut();
        statuses
            .flat_map(|listener| listener.drain("status"))
            .last()
    }
}
