//! The child between fork and exec.
//!
//! The keeper has one thread, but the rule of fork is kept all the same: everything is
//! prepared in [`Settings`] and [`Image`], and from the fork on only system calls are made.

use std::ffi::CString;
use std::fs::File;
use std::io;
use std::mem;
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::ffi::OsStringExt;
use std::path::PathBuf;
use std::ptr;

use hugewise_base::host::ThpDisable;
use hugewise_experiment::run::policy::realise::ThpPrctl;

use super::calls::{self, errno};
use super::cgroup::CgroupPlan;
use super::image::Image;
use super::oom_score::Sacrifice;
use super::placement::{Nodes, cpu_set};
use super::step::{Failure, Step};
use super::thp_switch::set_thp;
use super::tracer::Filter;
use super::usage::Usage;
use super::wire::Order;
use crate::file::rights::Rights;
use crate::machine::descriptors;

/// Settings that a process applies to itself before it becomes the workload.
#[derive(Debug)]
pub(super) struct Settings {
    prctl: ThpPrctl,
    identity: Option<(u32, u32, Vec<u32>)>,
    directory: Option<CString>,
    stdin: File,
    descriptors: Option<u64>,
    cpus: Option<libc::cpu_set_t>,
    nodes: Option<Nodes>,
    /// The door of its cgroup.
    cgroup: Option<File>,
    /// Where the tree stops for its tracer.
    filter: Option<Filter>,
    sacrifice: Sacrifice,
}

impl Settings {
    /// # Errors
    /// A sentence: the input cannot be opened, or a name contains a NUL byte.
    pub(super) fn prepare(order: &Order) -> Result<Self, String> {
        let input = PathBuf::from(std::ffi::OsString::from_vec(order.stdin.clone()));
        // The workload may choose what it finds there in its next trial: so its user's rights decide.
        let rights = Rights::of(order.identity.as_ref());
        let stdin = rights
            .lend(|| File::open(&input))
            .map_err(|error| format!("opening {} as input: {error}", input.display()))?;
        let directory = order.directory.clone().map(CString::new).transpose();
        let identity = order.identity.as_ref();
        Ok(Self {
            prctl: order.prctl,
            identity: identity.map(|who| (who.uid, who.gid, who.groups.clone())),
            directory: directory.map_err(|_| "the working directory contains a NUL byte")?,
            stdin,
            descriptors: order.descriptors,
            cpus: order.cpus.as_deref().map(cpu_set),
            nodes: order.numa.as_ref().map(Nodes::of),
            cgroup: order.cgroup.as_ref().map(CgroupPlan::door).transpose()?,
            filter: Filter::of(&order.tracer),
            sacrifice: Sacrifice::of_child(),
        })
    }

    /// Puts everything in force in this process. Makes system calls only.
    fn enter(&self, streams: Streams) -> Result<(), Failure> {
        match streams {
            Streams::Fresh => self.enter_afresh(),
            Streams::Inherited => {
                // Rust's runtime switches it off before `main`.
                // SAFETY: the default action is valid for every signal.
                unsafe { libc::signal(libc::SIGPIPE, libc::SIG_DFL) };
                self.enter_as_is()
            }
        }
    }

    /// As for a fresh login.
    fn enter_afresh(&self) -> Result<(), Failure> {
        // SAFETY: setsid has no preconditions.
        unsafe { libc::setsid() };
        restore_signals();
        self.sacrifice.offer();
        self.enter_as_is()?;
        // SAFETY: descriptor 0 of this process is ours to replace.
        Step::Input.check(unsafe { libc::dup2(self.stdin.as_raw_fd(), 0) })
    }

    /// The same, with the input and the signals that the process has.
    fn enter_as_is(&self) -> Result<(), Failure> {
        if let Some(count) = self.descriptors {
            descriptors::lower(count);
        }
        if let Some(cpus) = &self.cpus {
            let size = size_of::<libc::cpu_set_t>();
            // SAFETY: the set outlives the call.
            let result = unsafe { libc::sched_setaffinity(0, size, ptr::from_ref(cpus)) };
            Step::Binding.check(result)?;
        }
        if let Some(nodes) = &self.nodes {
            Step::Nodes.check(nodes.set())?;
        }
        self.join_cgroup()?;
        Step::HugePages.check(set_thp(self.prctl))?;
        self.become_user()?;
        if let Some(directory) = &self.directory {
            // SAFETY: the path ends in NUL.
            Step::Directory.check(unsafe { libc::chdir(directory.as_ptr()) })?;
        }
        Ok(())
    }

    fn join_cgroup(&self) -> Result<(), Failure> {
        let Some(door) = &self.cgroup else {
            return Ok(());
        };
        // SAFETY: one byte is there to be written.
        let written = unsafe { libc::write(door.as_raw_fd(), c"0".as_ptr().cast(), 1) };
        Step::Cgroup.check(if written == 1 { 0 } else { -1 })
    }

    /// Whether it cannot go on without its parent. With a filter its calls would fail; one that
    /// is measured is of no use any more.
    fn dies_with_parent(&self, streams: Streams) -> bool {
        streams == Streams::Fresh || self.filter.is_some()
    }

    /// Groups first: once the user is changed, they could not be.
    fn become_user(&self) -> Result<(), Failure> {
        let Some((uid, gid, groups)) = &self.identity else {
            return Ok(());
        };
        // SAFETY: the array holds as many groups as are announced.
        Step::Groups.check(unsafe { libc::setgroups(groups.len(), groups.as_ptr()) })?;
        // SAFETY: setgid has no preconditions.
        Step::Groups.check(unsafe { libc::setgid(*gid) })?;
        // SAFETY: setuid has no preconditions.
        Step::User.check(unsafe { libc::setuid(*uid) })
    }
}

/// Every signal as a fresh login has it, so that a workload runs alike wherever the
/// measuring program was started from.
fn restore_signals() {
    // SAFETY: the default action is valid for every signal; for those that have no other
    // (SIGKILL, SIGSTOP, the C library's own) the call fails and changes nothing.
    unsafe {
        for signal in 1..=64 {
            libc::signal(signal, libc::SIG_DFL);
        }
        let mut none: libc::sigset_t = mem::zeroed();
        libc::sigemptyset(&raw mut none);
        libc::sigprocmask(libc::SIG_SETMASK, &raw const none, ptr::null_mut());
    }
}

/// Notes of the child for the keeper, in a page that both have mapped. A pipe would cost
/// system calls, and with them faults, between the last count and exec.
#[derive(Clone, Copy)]
#[repr(C)]
struct Note {
    failure: Failure,
    thp_disable: i32,
    base: libc::rusage,
}

/// The shared page.
#[derive(Debug)]
struct Shared(*mut Note);

impl Shared {
    fn new() -> io::Result<Self> {
        let access = libc::PROT_READ | libc::PROT_WRITE;
        let flags = libc::MAP_SHARED | libc::MAP_ANONYMOUS | libc::MAP_POPULATE;
        // SAFETY: a fresh mapping at an address of the kernel's choice.
        let page = unsafe { libc::mmap(ptr::null_mut(), size_of::<Note>(), access, flags, -1, 0) };
        if page == libc::MAP_FAILED {
            return Err(io::Error::last_os_error());
        }
        Ok(Self(page.cast()))
    }

    fn read(&self) -> Note {
        // SAFETY: the mapping lives as long as the process; every bit pattern is a valid note,
        // and the child writes only before it says so or before it ends.
        unsafe { self.0.read_volatile() }
    }
}

/// Whose session, signals and standard input a child has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Streams {
    /// Its own, as for a fresh login.
    Fresh,
    /// Ours.
    Inherited,
}

/// The child, waiting for its release.
#[derive(Debug)]
pub(super) struct Child {
    pub(super) pid: i32,
    gate: OwnedFd,
    shared: Shared,
}

impl Child {
    /// Forks, and returns when the child stands before its exec.
    ///
    /// # Errors
    /// A sentence that says which step failed.
    pub(super) fn fork(order: &Order, streams: Streams) -> Result<Self, String> {
        let settings = Settings::prepare(order)?;
        let mut image = Image::prepare(order)?;
        calls::check_waiting()?;
        let failed = |call: &'static str| move |error: io::Error| format!("{call}: {error}");
        let shared = Shared::new().map_err(failed("mapping a page, by mmap(2)"))?;
        let (gate, theirs) = gate().map_err(failed("connecting it, by socketpair(2)"))?;
        let keeper = std::process::id();
        // SAFETY: the keeper has one thread, and the child makes system calls only.
        match unsafe { libc::fork() } {
            -1 => Err(failed("forking")(io::Error::last_os_error())),
            0 => live(
                (&settings, streams),
                &mut image,
                &shared,
                theirs.as_raw_fd(),
                keeper,
            ),
            pid => {
                drop(theirs);
                let child = Self { pid, gate, shared };
                child.wait_until_ready(order)?;
                Ok(child)
            }
        }
    }

    fn wait_until_ready(&self, order: &Order) -> Result<(), String> {
        // The child's end closes when it dies.
        match receive(self.gate.as_raw_fd()) {
            Ok(true) => Ok(()),
            Ok(false) => Err(self
                .failure(order)
                .unwrap_or_else(|| "it was killed before it started".to_owned())),
            Err(errno) => {
                let _ = calls::kill(self.pid);
                let error = io::Error::from_raw_os_error(errno);
                Err(format!("waiting for it before its start: {error}"))
            }
        }
    }

    /// Lets it become the workload. One that cannot be told is killed: it would wait for ever.
    pub(super) fn release(&self) {
        if send(self.gate.as_raw_fd()).is_err() {
            let _ = calls::kill(self.pid);
        }
    }

    /// Why it did not become the workload, if it did not. Final once it is dead.
    pub(super) fn failure(&self, order: &Order) -> Option<String> {
        let failure = self.shared.read().failure;
        (failure.step != 0).then(|| failure.sentence(order))
    }

    /// `PR_GET_THP_DISABLE` as it was after all settings.
    pub(super) fn thp_disable(&self) -> Option<ThpDisable> {
        match self.shared.read().thp_disable {
            0 => Some(ThpDisable::Off),
            1 => Some(ThpDisable::Disabled),
            3 => Some(ThpDisable::ExceptAdvised),
            _ => None,
        }
    }

    /// Its usage at the call of exec.
    pub(super) fn usage_before_exec(&self) -> Usage {
        Usage::of(&self.shared.read().base)
    }
}

/// Two connected ends, closed on exec.
fn gate() -> io::Result<(OwnedFd, OwnedFd)> {
    let (mine, theirs) = std::os::unix::net::UnixStream::pair()?;
    Ok((mine.into(), theirs.into()))
}

/// Sends the other end a byte, or says by which number it failed. Makes system calls only.
fn send(gate: i32) -> Result<(), i32> {
    loop {
        // SAFETY: one byte is there to be written.
        match unsafe { libc::write(gate, c"!".as_ptr().cast(), 1) } {
            -1 if errno() == libc::EINTR => {}
            -1 => return Err(errno()),
            _ => return Ok(()),
        }
    }
}

/// Waits for a byte of the other end; whether one came before it was closed. Makes system calls
/// only.
fn receive(gate: i32) -> Result<bool, i32> {
    let mut byte = 0_u8;
    loop {
        // SAFETY: one byte fits.
        match unsafe { libc::read(gate, (&raw mut byte).cast(), 1) } {
            -1 if errno() == libc::EINTR => {}
            -1 => return Err(errno()),
            count => return Ok(count == 1),
        }
    }
}

/// The life of the child. Makes system calls only, and never returns.
fn live(
    (settings, streams): (&Settings, Streams),
    image: &mut Image,
    shared: &Shared,
    gate: i32,
    keeper: u32,
) -> ! {
    let note = shared.0;
    // SAFETY: the note is mapped and writable; the keeper reads it only after the byte on the
    // gate or after our death. `_exit` leaves at once, without running anything of the parent.
    unsafe {
        if let Err(failure) = settings.enter(streams) {
            give_up(note, failure);
        }
        // Only now: a change of user clears it.
        if settings.dies_with_parent(streams) {
            libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL);
        }
        if libc::getppid().unsigned_abs() != keeper {
            libc::_exit(127);
        }
        let none: libc::c_ulong = 0;
        let disable = libc::prctl(libc::PR_GET_THP_DISABLE, none, none, none, none);
        (&raw mut (*note).thp_disable).write_volatile(disable);
        // A dry run, so that the real one faults nothing in.
        libc::getrusage(libc::RUSAGE_SELF, &raw mut (*note).base);
        if let Err(errno) = send(gate) {
            let step = Step::Gate as i32;
            give_up(note, Failure { step, errno });
        }
        if receive(gate) != Ok(true) {
            libc::_exit(127);
        }
        // Only now there is a tracer: without one a filtered call fails.
        if let Some(filter) = &settings.filter
            && let Err(failure) = Step::Filter.check(filter.install())
        {
            give_up(note, failure);
        }
        libc::getrusage(libc::RUSAGE_SELF, &raw mut (*note).base);
        let errno = image.execute();
        let step = Step::Exec as i32;
        give_up(note, Failure { step, errno })
    }
}

/// Leaves a note of what failed, and ends.
///
/// # Safety
/// The note is mapped and writable.
unsafe fn give_up(note: *mut Note, failure: Failure) -> ! {
    // SAFETY: as promised; `_exit` runs nothing of the parent.
    unsafe {
        (&raw mut (*note).failure).write_volatile(failure);
        libc::_exit(127)
    }
}

/// The same settings and the same exec, in this very process. Input and signals stay as they
/// are, a hangup that `nohup` switched off for example; but for SIGPIPE, which Rust's runtime
/// switches off for itself before `main`. Returns the sentence that says what failed.
pub(super) fn become_in_place(order: &Order, image: &mut Image) -> String {
    let settings = match Settings::prepare(order) {
        Ok(settings) => settings,
        Err(sentence) => return sentence,
    };
    let failure = match settings.enter(Streams::Inherited) {
        Err(failure) => failure,
        Ok(()) => Failure {
            step: Step::Exec as i32,
            errno: image.execute(),
        },
    };
    failure.sentence(order)
}
