//! Page faults that programs in the kernel pair: one record for each, where samples would be two.

use std::os::fd::{AsFd, AsRawFd, BorrowedFd};
use std::{error, fmt, io};

use aya::maps::{MapData, PerCpuArray, RingBuf};
use aya::programs::{BtfTracePoint, PerfEvent, Program, RawTracePoint};
use aya::{Btf, Ebpf, EbpfLoader, VerifierLogLevel};
use hugewise_model::observe::faults::Weight;

use super::ladder::FAULT_TRACEPOINTS;
use super::probe::{CARETAKER, OBJECT, RawLosses};

/// `PERF_EVENT_IOC_SET_BPF`, `_IOW('$', 8, __u32)`.
const IOC_SET_BPF: libc::Ioctl = 0x4004_2408;

/// Room for records, in bytes: 250,000 of them, a tenth of a second of eight processors that do nothing but fault.
const RING_BYTES: u32 = 16 << 20;

/// `struct paired_fault` of the programs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct PairedFault {
    /// When it began, in nanoseconds of the monotonic clock; 0 where that was not seen.
    pub(crate) begun_ns: u64,
    /// When it was served.
    pub(crate) ended_ns: u64,
    pub(crate) address: u64,
    /// 0 for a zero page.
    pub(crate) physical: u64,
    /// Size of the page that maps the address; 0 where the kernel could not tell.
    pub(crate) page_bytes: u64,
    pub(crate) pid: u32,
    pub(crate) tid: u32,
    pub(crate) cpu: u32,
    /// Whether the kernel looked up page size and physical address (since Linux 6.3).
    pub(crate) looked_up: bool,
    pub(crate) weight: Weight,
}

/// Flags of a record.
const LOOKED_UP: u32 = 1;
const MAJOR: u32 = 2;

impl PairedFault {
    fn parse(bytes: &[u8]) -> Option<Self> {
        let (words, _) = bytes.as_chunks::<8>();
        let word = |index: usize| words.get(index).copied().map(u64::from_ne_bytes);
        let (halves, _) = bytes.as_chunks::<4>();
        let half = |index: usize| halves.get(index).copied().map(u32::from_ne_bytes);
        let flags = half(13)?;
        Some(Self {
            begun_ns: word(0)?,
            ended_ns: word(1)?,
            address: word(2)?,
            physical: word(3)?,
            page_bytes: word(4)?,
            pid: half(10)?,
            tid: half(11)?,
            cpu: half(12)?,
            looked_up: flags & LOOKED_UP != 0,
            weight: if flags & MAJOR == 0 {
                Weight::Minor
            } else {
                Weight::Major
            },
        })
    }
}

/// The programs, loaded. The begin of every fault of the machine is noted from now on; ends are those of
/// the events that they are attached to.
pub(crate) struct FaultPrograms {
    object: Ebpf,
    records: RingBuf<MapData>,
    losses: PerCpuArray<MapData, RawLosses>,
}

impl fmt::Debug for FaultPrograms {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("FaultPrograms").finish_non_exhaustive()
    }
}

impl FaultPrograms {
    /// Loads them.
    ///
    /// # Errors
    /// The kernel refuses, or lacks a tracepoint or its types.
    pub(crate) fn load() -> Result<Self, Box<dyn error::Error>> {
        if !cfg!(target_arch = "x86_64") {
            return Err("the tracepoints of page faults are known on x86 only".into());
        }
        let types = Btf::from_sys_fs()?;
        let mut object = EbpfLoader::new()
            .btf(Some(&types))
            .verifier_log_level(VerifierLogLevel::DISABLE)
            .map_max_entries("paired_faults", RING_BYTES)
            .load(OBJECT)?;
        for name in ["paired_minor", "paired_major"] {
            program::<PerfEvent>(&mut object, name)?.load()?;
        }
        let caretaker = program::<RawTracePoint>(&mut object, CARETAKER)?;
        caretaker.load()?;
        caretaker.attach("sched_process_free")?;
        let begins = ["user_fault_begin", "kernel_fault_begin"];
        for (name, tracepoint) in begins.into_iter().zip(FAULT_TRACEPOINTS) {
            let begin = program::<BtfTracePoint>(&mut object, name)?;
            begin.load(tracepoint, &types)?;
            begin.attach()?;
        }
        let records = object.take_map("paired_faults").ok_or("no records")?;
        let losses = object.take_map("losses").ok_or("no losses")?;
        Ok(Self {
            records: RingBuf::try_from(records)?,
            losses: PerCpuArray::try_from(losses)?,
            object,
        })
    }

    /// Has an event of ends, which is not enabled yet, run its program.
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

    /// Gives all records that are there to `take`, those of one processor in order of time.
    pub(crate) fn drain(&mut self, mut take: impl FnMut(PairedFault)) {
        while let Some(record) = self.records.next() {
            if let Some(fault) = PairedFault::parse(&record) {
                take(fault);
            }
        }
    }

    /// Records for which there was no room.
    pub(crate) fn lost(&self) -> u64 {
        let losses = self.losses.get(&0, 0);
        losses.map_or(0, |all| all.iter().map(|one| one.unsent).sum())
    }
}

fn program<'a, T>(object: &'a mut Ebpf, name: &str) -> Result<&'a mut T, String>
where
    &'a mut T: TryFrom<&'a mut Program>,
{
    let program = object.program_mut(name);
    let program = program.ok_or_else(|| format!("there is no program {name}"))?;
    let other = |_| format!("program {name} has another type");
    program.try_into().map_err(other)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_record_is_read_as_it_is_laid_out() {
        let words = (1_u64..6).flat_map(u64::to_ne_bytes);
        let halves = [6_u32, 7, 8, LOOKED_UP | MAJOR];
        let bytes: Vec<u8> = words
            .chain(halves.into_iter().flat_map(u32::to_ne_bytes))
            .collect();
        let expected = PairedFault {
            begun_ns: 1,
            ended_ns: 2,
            address: 3,
            physical: 4,
            page_bytes: 5,
            pid: 6,
            tid: 7,
            cpu: 8,
            looked_up: true,
            weight: Weight::Major,
        };
        assert_eq!(PairedFault::parse(&bytes), Some(expected));
        assert_eq!(PairedFault::parse(&bytes[..52]), None);
    }
}
