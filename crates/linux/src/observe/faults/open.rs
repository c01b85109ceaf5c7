use std::io;
use std::os::fd::{AsFd, AsRawFd, FromRawFd, IntoRawFd, OwnedFd};

use hugewise_observe::faults::{Counted, Modes, Weight};
use perf_event::events::Software;
use perf_event::{Builder, Clock, SampleFlag};

use super::refused;
use super::target::FaultTarget;
use crate::bpf::faults::FaultPrograms;
use crate::machine::error::{Error, Kind, Result};
use crate::perf::access::{FORMAT_LOST, SAMPLE_DATA_PAGE_SIZE, SampleAccess};
use crate::perf::open::announce;
use crate::perf::ring::{IOC_SET_OUTPUT, Ring};
use crate::perf::sample::Layout;

/// `_IO('$', 0)`.
const IOC_ENABLE: libc::Ioctl = 0x2400;
/// `_IO('$', 1)`.
const IOC_DISABLE: libc::Ioctl = 0x2401;
/// `_IOR('$', 7, __u64 *)`.
const IOC_ID: libc::Ioctl = 0x8008_2407_u32 as libc::Ioctl;

/// The way in which faults are watched.
#[derive(Clone, Copy, Debug)]
pub(super) struct Watch<'a> {
    pub(super) access: SampleAccess,
    /// 1 for every fault, N for one fault in N.
    pub(super) every: u64,
    /// The programs that pair begins and ends in the kernel, if they are used.
    pub(super) programs: Option<&'a FaultPrograms>,
}

impl Watch<'_> {
    /// Watches every fault, with samples.
    pub(super) fn by_samples(access: SampleAccess) -> Self {
        Self {
            access,
            every: 1,
            programs: None,
        }
    }
}

/// The purpose of an event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Role {
    /// Begins of faults; also carries mappings, forks and exits.
    Starts,
    /// Faults handled without I/O.
    Minor,
    /// Faults handled with I/O.
    Major,
    /// The call chain of every fault handled without I/O.
    Chains,
    /// The call chain of one in [`FEW`] of these faults.
    FewChains,
}

/// The sampling interval of call chains, in faults, once there are enough chains of all faults. A prime, so that it
/// does not resonate with a program's own period.
pub(super) const FEW: u64 = 61;

impl Role {
    /// Returns the events to open. If only one fault in N is sampled, each sample brings its call chain.
    fn all(every: u64) -> &'static [Self] {
        const ALL: [Role; 5] = [
            Role::Starts,
            Role::Minor,
            Role::Major,
            Role::Chains,
            Role::FewChains,
        ];
        if every == 1 { &ALL } else { &ALL[..3] }
    }

    pub(super) fn layout(self, access: SampleAccess, every: u64) -> Layout {
        let end = Layout {
            stack: every > 1 || self == Self::Major,
            physical: access.modes == Modes::All,
            page_size: access.page_size,
            ..Layout::default()
        };
        match self {
            Self::Starts => Layout::default(),
            Self::Minor | Self::Major => end,
            Self::Chains | Self::FewChains => Layout {
                stack: true,
                ..Layout::default()
            },
        }
    }

    /// Returns true except for the sampled chains, which begin when there are enough of all faults.
    pub(super) fn is_on_from_the_start(self) -> bool {
        self != Self::FewChains
    }

    /// Returns true if the event writes to the second ring of its processor, which holds chains.
    fn takes_chains(self) -> bool {
        matches!(self, Self::Chains | Self::FewChains)
    }

    /// Returns the role that a sample in a ring of events belongs to.
    pub(super) fn of_events(self) -> Self {
        if self.takes_chains() {
            Self::Minor
        } else {
            self
        }
    }

    fn software(self) -> Software {
        match self {
            Self::Starts => Software::PAGE_FAULTS,
            Self::Minor | Self::Chains | Self::FewChains => Software::PAGE_FAULTS_MIN,
            Self::Major => Software::PAGE_FAULTS_MAJ,
        }
    }

    /// Returns the sampling period, in faults. Starts and ends cannot be sampled at the same faults, because each event
    /// counts separately on each processor. So there are no starts if N > 1. There are none either if programs have
    /// seen the begin.
    fn period(self, watch: Watch<'_>) -> u64 {
        match self {
            Self::Starts if watch.every > 1 || watch.programs.is_some() => 0,
            Self::FewChains => FEW,
            _ => watch.every,
        }
    }

    /// Returns the kind of fault end at which a program may run, if any.
    fn end(self) -> Option<Weight> {
        match self {
            Self::Minor => Some(Weight::Minor),
            Self::Major => Some(Weight::Major),
            Self::Starts | Self::Chains | Self::FewChains => None,
        }
    }

    /// Returns the fields that identify a sample. If a program records the fault, the sample needs no identity, and the
    /// kernel need not look it up.
    fn identity(self, watch: Watch<'_>) -> SampleFlag {
        if self == Self::Minor && watch.programs.is_some() {
            SampleFlag::empty()
        } else {
            SampleFlag::IDENTIFIER | SampleFlag::TID | SampleFlag::TIME | SampleFlag::ADDR
        }
    }
}

/// An open event.
#[derive(Debug)]
pub(super) struct OpenEvent {
    pub(super) fd: OwnedFd,
    pub(super) role: Role,
    pub(super) id: u64,
}

impl OpenEvent {
    fn new(builder: &Builder<'_>, role: Role) -> io::Result<Self> {
        let fd = builder.build()?.into_raw_fd();
        // SAFETY: the descriptor was just given up by its owner.
        let fd = unsafe { OwnedFd::from_raw_fd(fd) };
        let mut id = 0_u64;
        // SAFETY: the ioctl writes one u64 to the place.
        if unsafe { libc::ioctl(fd.as_raw_fd(), IOC_ID, &raw mut id) } != 0 {
            return Err(io::Error::last_os_error());
        }
        Ok(Self { fd, role, id })
    }

    /// Enables the event, also in the children inherited since.
    pub(super) fn enable(&self) {
        // SAFETY: an ioctl without argument. If it fails the task is gone, and so are its events.
        unsafe { libc::ioctl(self.fd.as_raw_fd(), IOC_ENABLE, 0) };
    }

    pub(super) fn disable(&self) {
        // SAFETY: as above.
        unsafe { libc::ioctl(self.fd.as_raw_fd(), IOC_DISABLE, 0) };
    }

    /// Redirects its records to the ring of another event on the same processor.
    fn write_into(&self, leader: &Self) -> io::Result<()> {
        let (fd, to) = (self.fd.as_raw_fd(), leader.fd.as_raw_fd());
        // SAFETY: an ioctl on our own descriptors.
        match unsafe { libc::ioctl(fd, IOC_SET_OUTPUT, to) } {
            0 => Ok(()),
            _ => Err(io::Error::last_os_error()),
        }
    }

    /// Reads its value and the number of its lost samples, if the access includes that number.
    fn read(&self, access: SampleAccess) -> io::Result<(u64, Option<u64>)> {
        let mut words = [0_u64; 2];
        let wanted = if access.lost { 16 } else { 8 };
        // SAFETY: the buffer holds at least as many bytes as are asked for.
        let got = unsafe { libc::read(self.fd.as_raw_fd(), words.as_mut_ptr().cast(), wanted) };
        if usize::try_from(got) == Ok(wanted) {
            Ok((words[0], access.lost.then_some(words[1])))
        } else {
            Err(io::Error::last_os_error())
        }
    }
}

fn builder<'a>(role: Role, watch: Watch<'_>) -> Builder<'a> {
    let access = watch.access;
    let mut builder = Builder::new(role.software());
    let layout = role.layout(access, watch.every);
    let mut wanted = role.identity(watch);
    wanted.set(SampleFlag::CALLCHAIN, layout.stack);
    wanted.set(SampleFlag::PHYS_ADDR, layout.physical);
    builder
        .exclude_kernel(access.modes == Modes::User)
        .exclude_callchain_kernel(true)
        .sample(wanted)
        .sample_period(role.period(watch))
        .sample_id_all(true)
        .clockid(Clock::MONOTONIC);
    let attributes = builder.attrs_mut();
    attributes.read_format = if access.lost { FORMAT_LOST } else { 0 };
    if layout.page_size {
        attributes.sample_type |= SAMPLE_DATA_PAGE_SIZE;
    }
    builder
}

/// Opens an event with all fields on this thread, disabled.
pub(super) fn on_ourselves(watch: Watch<'_>) -> io::Result<OpenEvent> {
    let mut builder = builder(Role::Minor, watch);
    opened(builder.observe_self().any_cpu(), Role::Minor, watch)
}

fn opened(builder: &Builder<'_>, role: Role, watch: Watch<'_>) -> io::Result<OpenEvent> {
    let event = OpenEvent::new(builder, role)?;
    if let (Some(programs), Some(weight)) = (watch.programs, role.end()) {
        programs.attach(event.fd.as_fd(), weight)?;
    }
    Ok(event)
}

/// Opens all events, by processor; the starts of the first thread are the leaders and own the ring.
pub(super) fn open_all(
    target: &FaultTarget,
    cpus: &[u32],
    watch: Watch<'_>,
) -> Result<Vec<Vec<OpenEvent>>> {
    let tids = target.tids();
    let roles = Role::all(watch.every).len();
    let open_cpu = |&cpu: &u32| {
        let mut of_cpu = Vec::with_capacity(tids.len() * roles);
        for &tid in &tids {
            match open_thread(target, tid, cpu, watch) {
                Ok(opened) => of_cpu.extend(opened),
                // The thread has ended in the interval.
                Err(error) if error.raw_os_error() == Some(libc::ESRCH) => {}
                Err(error) => {
                    return Err(with_hint(error, tids.len() * cpus.len() * roles));
                }
            }
        }
        if of_cpu.is_empty() {
            return Err(refused(io::Error::from_raw_os_error(libc::ESRCH)));
        }
        Ok(of_cpu)
    };
    cpus.iter().map(open_cpu).collect()
}

fn with_hint(error: io::Error, descriptors: usize) -> Error {
    if error.raw_os_error() != Some(libc::EMFILE) {
        return refused(error);
    }
    Error {
        kind: Kind::Other(format!(
            "this needs {descriptors} file descriptors, more than the limit; raise it: ulimit -n {}",
            descriptors + 100
        )),
        doing: "opening page fault events".to_owned(),
        path: None,
        source: None,
    }
}

fn open_thread(
    target: &FaultTarget,
    tid: u32,
    cpu: u32,
    watch: Watch<'_>,
) -> io::Result<Vec<OpenEvent>> {
    let number = i32::try_from(tid).map_err(io::Error::other)?;
    let open = |role: Role| {
        let mut builder = builder(role, watch);
        builder
            .observe_pid(number)
            .one_cpu(cpu as usize)
            .inherit(true);
        if role == Role::Starts {
            announce(&mut builder);
        }
        if let FaultTarget::BeforeExec { .. } = target
            && role.is_on_from_the_start()
        {
            builder.enable_on_exec(true);
        }
        // `inherit` may affect it.
        builder.attrs_mut().read_format = if watch.access.lost { FORMAT_LOST } else { 0 };
        opened(&builder, role, watch)
    };
    Role::all(watch.every).iter().copied().map(open).collect()
}

/// Rings, in the order of the processors.
#[derive(Debug)]
pub(super) struct Rings {
    /// Rings for begins, ends and everything else.
    pub(super) events: Vec<Ring>,
    /// Rings for call chains; empty if each end carries its own.
    pub(super) chains: Vec<Ring>,
}

/// Returns the events that own rings: those of [`Rings::events`], then those of [`Rings::chains`].
pub(super) fn owners(opened: &[Vec<OpenEvent>]) -> impl Iterator<Item = &OpenEvent> {
    let of_events = opened
        .iter()
        .filter_map(|of_cpu| owner(of_cpu, Role::Starts));
    of_events.chain(
        opened
            .iter()
            .filter_map(|of_cpu| owner(of_cpu, Role::Chains)),
    )
}

/// Returns the event whose ring receives the events of a role.
fn owner(of_cpu: &[OpenEvent], role: Role) -> Option<&OpenEvent> {
    let chains = role.takes_chains();
    of_cpu.iter().find(|one| one.role.takes_chains() == chains)
}

/// The largest ring to try on each processor, in bytes.
const LARGEST_RING: usize = 8 << 20;
/// The size in bytes of the smallest ring.
const SMALLEST_RING: usize = 64 << 10;

/// Maps a ring on each processor, all of one size, as large as the kernel allows.
pub(super) fn map_rings(opened: &[Vec<OpenEvent>], page_bytes: u64) -> Result<Rings> {
    let page_bytes = usize::try_from(page_bytes).unwrap_or(SMALLEST_RING);
    let mut bytes = LARGEST_RING;
    let mut rings = loop {
        let rings: io::Result<Vec<Ring>> = owners(opened)
            .map(|owner| Ring::map(owner.fd.as_fd(), page_bytes, bytes))
            .collect();
        match rings {
            Ok(rings) => break rings,
            Err(_) if bytes > SMALLEST_RING.max(page_bytes) => bytes /= 2,
            Err(error) => return Err(refused(error)),
        }
    };
    for of_cpu in opened {
        for one in of_cpu {
            match owner(of_cpu, one.role) {
                Some(owner) if owner.id != one.id => one.write_into(owner).map_err(refused)?,
                _ => {}
            }
        }
    }
    let chains = rings.split_off(opened.len());
    Ok(Rings {
        events: rings,
        chains,
    })
}

/// The sums over all threads and processors. Events that can no longer be read are not counted.
pub(super) fn read_counters(opened: &[Vec<OpenEvent>], access: SampleAccess) -> Counted {
    let mut counted = Counted {
        lost: access.lost.then_some(0),
        ..Counted::default()
    };
    for one in opened.iter().flatten() {
        let Ok((value, lost)) = one.read(access) else {
            continue;
        };
        match one.role {
            Role::Starts => counted.starts += value,
            Role::Minor => counted.minor += value,
            Role::Major => counted.major += value,
            // These count the same faults a second time.
            Role::Chains | Role::FewChains => continue,
        }
        counted.lost = counted.lost.zip(lost).map(|(sum, more)| sum + more);
    }
    counted
}
