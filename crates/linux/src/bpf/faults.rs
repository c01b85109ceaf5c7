//! Page faults paired by programs in the kernel: one record per fault instead of two samples.

use std::os::fd::{AsFd, AsRawFd, BorrowedFd};
use std::{error, fmt, io};

use aya::maps::{Map, MapData};
use aya::programs::{PerfEvent, Program};
use aya::{Btf, Ebpf, EbpfLoader, VerifierLogLevel};
use hugewise_observe::faults::Weight;

use super::ladder::FAULT_TRACEPOINTS;
use super::probe::OBJECT;
use super::programs::{CARETAKER, THREAD_GONE, attach_raw_tp, attach_tp_btf, find};
pub(crate) use super::records::PairedFault;
use super::records::{Records, records_each};

/// `PERF_EVENT_IOC_SET_BPF`, `_IOW('$', 8, __u32)`.
const IOC_SET_BPF: libc::Ioctl = 0x4004_2408;

/// The loaded programs. They record the begin of every fault of the machine from now on, and the ends for the events to
/// which they are attached.
pub(crate) struct FaultPrograms {
    object: Ebpf,
    records: Records,
    processors: u32,
}

impl fmt::Debug for FaultPrograms {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("FaultPrograms").finish_non_exhaustive()
    }
}

impl FaultPrograms {
    /// Loads the programs.
    ///
    /// # Errors
    /// The kernel refuses, or lacks a tracepoint or its types.
    pub(crate) fn load() -> Result<Self, Box<dyn error::Error>> {
        if !cfg!(target_arch = "x86_64") {
            return Err("the tracepoints of page faults are known on x86 only".into());
        }
        let types = Btf::from_sys_fs()?;
        let processors = aya::util::nr_cpus().map_err(|(_, error)| error)?;
        let each = records_each(processors);
        let all = u32::try_from(processors)?;
        let each_number = u32::try_from(each)?;
        let mut object = EbpfLoader::new()
            .btf(Some(&types))
            .verifier_log_level(VerifierLogLevel::DISABLE)
            .override_global("records_each", &each_number, true)
            .map_max_entries("paired_faults", all * each_number)
            .map_max_entries("paired_written", all)
            .load(OBJECT)?;
        for name in ["paired_minor", "paired_major"] {
            find::<PerfEvent>(&mut object, name)?.load()?;
        }
        attach_raw_tp(&mut object, CARETAKER, THREAD_GONE)?;
        let begins = ["user_fault_begin", "kernel_fault_begin"];
        for (name, tracepoint) in begins.into_iter().zip(FAULT_TRACEPOINTS) {
            attach_tp_btf(&mut object, name, tracepoint, &types)?;
        }
        let [records, written] = ["paired_faults", "paired_written"].map(|name| map(&object, name));
        let records = Records::map(records?.fd().as_fd(), written?.fd().as_fd(), processors)?;
        Ok(Self {
            object,
            records,
            processors: all,
        })
    }

    /// Makes an event of fault ends run its program; the event must not be enabled yet.
    ///
    /// # Errors
    /// The kernel refuses.
    pub(crate) fn attach(&self, event: BorrowedFd<'_>, weight: Weight) -> io::Result<()> {
        let name = match weight {
            Weight::Minor => "paired_minor",
            Weight::Major => "paired_major",
        };
        let Some(Program::PerfEvent(program)) = self.object.program(name) else {
            return Err(io::Error::from_raw_os_error(libc::ENOENT));
        };
        let program = program.fd().map_err(io::Error::other)?;
        let program = program.as_fd().as_raw_fd();
        // SAFETY: an ioctl on descriptors that both live, with a number as its argument.
        match unsafe { libc::ioctl(event.as_raw_fd(), IOC_SET_BPF, program) } {
            0 => Ok(()),
            _ => Err(io::Error::last_os_error()),
        }
    }

    /// Passes the new records of a processor to `take`, in order of time.
    pub(crate) fn drain(&mut self, processor: u32, take: impl FnMut(PairedFault)) {
        self.records.drain(processor, take);
    }

    /// Does the same for all processors.
    pub(crate) fn drain_all(&mut self, mut take: impl FnMut(PairedFault)) {
        (0..self.processors).for_each(|processor| self.drain(processor, &mut take));
    }

    /// Returns the number of records overwritten before they could be read.
    pub(crate) fn lost(&self) -> u64 {
        self.records.overwritten()
    }
}

fn map<'a>(object: &'a Ebpf, name: &str) -> Result<&'a MapData, String> {
    match object.map(name) {
        Some(Map::Array(data)) => Ok(data),
        _ => Err(format!("there is no array {name}")),
    }
}
