//! The machine and its processes, sample by sample. The totals come from files that need no walk of page tables; the
//! walk for `smaps_rollup` of one process is paid from a budget.

use hugewise_monitor::watch::{Header, Processes, Sample};

use crate::machine::clock::{monotonic_ns, own_cpu_ns, unix_ms};
use crate::machine::error::Result;
use crate::machine::root::Root;
use crate::observe::cgroups::read_cgroups;
use crate::observe::export::Collector;
use crate::probe::read_page_bytes;
use crate::sys::thp::read_pmd_bytes;

mod budget;
mod looks;

use crate::observe::processes::Lister;
use budget::Budget;
use looks::Looks;

/// The parts of the sample that its reader needs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Focus {
    /// A process to walk first, whatever its size.
    pub process: Option<u32>,
    /// Selects the reading of cgroups, which costs the kernel some work for each.
    pub groups: Groups,
}

/// Selects whether cgroups are read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Groups {
    /// They are left out.
    #[default]
    LeftOut,
    /// They are read.
    Read,
}

/// Takes samples.
#[derive(Debug)]
pub struct Watcher {
    root: Root,
    header: Header,
    collector: Collector,
    began_ns: u64,
    lister: Lister,
    processes: Processes,
    looks: Looks,
    budget: Budget,
}

impl Watcher {
    /// Starts watching. `interval_ns` is the time between two samples, `program` the name and version of the caller.
    ///
    /// # Errors
    /// The kernel release cannot be read, or a frozen machine has no readable `host.toml`.
    pub fn begin(root: Root, interval_ns: u64, program: &str) -> Result<Self> {
        let header = Header {
            program: program.to_owned(),
            started_unix_ms: unix_ms(),
            kernel: root.read_trimmed("proc/sys/kernel/osrelease")?,
            page_bytes: read_page_bytes(&root)?,
            huge_bytes: read_pmd_bytes(&root).ok(),
            interval_ns,
        };
        Ok(Self {
            collector: Collector::new(root.clone()),
            began_ns: monotonic_ns(),
            lister: Lister::new(header.page_bytes),
            processes: Processes::default(),
            looks: Looks::default(),
            budget: Budget::default(),
            header,
            root,
        })
    }

    /// Returns the data common to all samples.
    #[must_use]
    pub fn header(&self) -> &Header {
        &self.header
    }

    /// Takes a sample. While the budget is spent, the processes are those of the previous sample.
    #[must_use]
    pub fn sample(&mut self, focus: Focus) -> Sample {
        let at_ns = monotonic_ns().saturating_sub(self.began_ns);
        let machine = self.collector.sample();
        self.budget.earn(at_ns);
        if self.budget.is_left() {
            let (root, lister) = (&self.root, &mut self.lister);
            let list = self.budget.pay(|| lister.list(root));
            self.processes = Processes { at_ns, list };
        }
        let processes = &mut self.processes.list;
        self.looks.renew(
            &self.root,
            processes,
            at_ns,
            focus.process,
            &mut self.budget,
        );
        let groups = match focus.groups {
            Groups::Read => read_cgroups(&self.root, &|_| true).unwrap_or_default(),
            Groups::LeftOut => Vec::new(),
        };
        Sample {
            at_ns,
            cpu_ns: own_cpu_ns(),
            machine,
            processes: self.processes.clone(),
            groups,
        }
    }
}
