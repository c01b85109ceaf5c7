//! The child between fork and exec.
//!
//! The keeper has one thread, but it follows the rule for fork in multithreaded programs anyway: everything is prepared
//! in [`Settings`] and [`Image`], and after the fork only system calls are made.

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
use super::tmpfs::PrivateTmpfs;
use super::tracer::Filter;
use super::usage::Usage;
use super::wire::Order;
use crate::file::rights::Rights;
use crate::machine::descriptors;

/// Settings that a process applies to itself before it executes the workload.
#[derive(Debug)]
pub(super) struct Settings {
    prctl: ThpPrctl,
    identity: Option<(u32, u32, Vec<u32>)>,
    directory: Option<CString>,
    stdin: File,
    descriptors: Option<u64>,
    cpus: Option<libc::cpu_set_t>,
    nodes: Option<Nodes>,
    tmpfs: Option<PrivateTmpfs>,
    /// The file through which it joins its cgroup.
    cgroup: Option<File>,
    /// The filter that stops the tree for its tracer.
    filter: Option<Filter>,
    sacrifice: Sacrifice,
}

impl Settings {
    /// # Errors
    /// A sentence: the input cannot be opened, or a name contains a NUL byte.
    pub(super) fn prepare(order: &Order) -> Result<Self, String> {
        let input = PathBuf::from(std::ffi::OsString::from_vec(order.stdin.clone()));
        // The workload may have replaced the file for its next trial, so it is opened with the rights of the workload's
        // user.
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
            tmpfs: order
                .tmpfs
                .as_ref()
                .map(PrivateTmpfs::prepare)
                .transpose()?,
            cgroup: order.cgroup.as_ref().map(CgroupPlan::door).transpose()?,
            filter: Filter::of(&order.tracer),
            sacrifice: Sacrifice::of_child(),
        })
    }

    /// Applies all settings to this process. Makes system calls only.
    fn enter(&self, streams: Streams) -> Result<(), Failure> {
        match streams {
            Streams::Fresh => self.enter_afresh(),
            Streams::Inherited => {
                // Rust's runtime ignores the signal before `main`. SAFETY: the default action is valid for every
                // signal.
                unsafe { libc::signal(libc::SIGPIPE, libc::SIG_DFL) };
                self.enter_as_is()
            }
        }
    }

    /// Applies the settings of a fresh login.
    fn enter_afresh(&self) -> Result<(), Failure> {
        // SAFETY: setsid has no preconditions.
        unsafe { libc::setsid() };
        restore_signals();
        self.sacrifice.offer();
        self.enter_as_is()?;
        // SAFETY: descriptor 0 of this process is ours to replace.
        Step::Input.check(unsafe { libc::dup2(self.stdin.as_raw_fd(), 0) })
    }

    /// Does the same, but keeps the input and the signals of the process.
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
        if let Some(tmpfs) = &self.tmpfs {
            Step::Mount.check(tmpfs.enter())?;
        }
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

    /// Returns true if it must die with its parent. With a filter its calls would fail; if measured, its result would
    /// be useless.
    fn dies_with_parent(&self, streams: Streams) -> bool {
        streams == Streams::Fresh || self.filter.is_some()
    }

    /// Groups first: after the change of user they could not be set.
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

/// Resets every signal to its default, as in a fresh login, so that a workload runs the same way regardless of how the
/// measuring program was started.
fn restore_signals() {
    // SAFETY: the default action is valid for every signal; for those that have no other (SIGKILL, SIGSTOP, those
    // internal to the C library) the call fails and changes nothing.
    unsafe {
        for signal in 1..=64 {
            libc::signal(signal, libc::SIG_DFL);
        }
        let mut none: libc::sigset_t = mem::zeroed();
        libc::sigemptyset(&raw mut none);
        libc::sigprocmask(libc::SIG_SETMASK, &raw const none, ptr::null_mut());
    }
}

/// Notes of the child for the keeper, in a shared page. A pipe would cost system calls, and with them faults, between
/// the last count and exec.
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
        // SAFETY: the mapping lives as long as the process; every bit pattern is a valid note, and the child writes
        // only before it signals so or before it ends.
        unsafe { self.0.read_volatile() }
    }
}

/// The origin of a child's session, signals and standard input.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Streams {
    /// Fresh ones, as for a new login.
    Fresh,
    /// Those of this process.
    Inherited,
}

/// The child, waiting to be released.
#[derive(Debug)]
pub(super) struct Child {
    pub(super) pid: i32,
    gate: OwnedFd,
    shared: Shared,
}

impl Child {
    /// Forks, and returns when the child is ready to exec.
    ///
    /// # Errors
    /// A sentence that names the failed step.
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

    /// Lets it execute the workload. A child that cannot be released is killed, because it would wait for ever.
    pub(super) fn release(&self) {
        if send(self.gate.as_raw_fd()).is_err() {
            let _ = calls::kill(self.pid);
        }
    }

    /// Returns why it did not execute the workload, if it did not. Final once it is dead.
    pub(super) fn failure(&self, order: &Order) -> Option<String> {
        let failure = self.shared.read().failure;
        (failure.step != 0).then(|| failure.sentence(order))
    }

    /// Returns `PR_GET_THP_DISABLE` after all settings.
    pub(super) fn thp_disable(&self) -> Option<ThpDisable> {
        match self.shared.read().thp_disable {
            0 => Some(ThpDisable::Off),
            1 => Some(ThpDisable::Disabled),
            3 => Some(ThpDisable::ExceptAdvised),
            _ => None,
        }
    }

    /// Returns its usage at the call of exec.
    pub(super) fn usage_before_exec(&self) -> Usage {
        Usage::of(&self.shared.read().base)
    }
}

/// Creates two connected descriptors, closed on exec.
fn gate() -> io::Result<(OwnedFd, OwnedFd)> {
    let (mine, theirs) = std::os::unix::net::UnixStream::pair()?;
    Ok((mine.into(), theirs.into()))
}

/// Sends one byte to the other end; returns the error number on failure. Makes system calls only.
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

/// Waits for a byte from the other end; returns false if the other end was closed first. Makes system calls only.
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

/// Runs the child. Makes system calls only, and never returns.
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
        // Only now: a change of user clears this setting.
        if settings.dies_with_parent(streams) {
            libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL);
        }
        if libc::getppid().unsigned_abs() != keeper {
            libc::_exit(127);
        }
        let none: libc::c_ulong = 0;
        let disable = libc::prctl(libc::PR_GET_THP_DISABLE, none, none, none, none);
        (&raw mut (*note).thp_disable).write_volatile(disable);
        // A trial call, so that the real one causes no fault.
        libc::getrusage(libc::RUSAGE_SELF, &raw mut (*note).base);
        if let Err(errno) = send(gate) {
            let step = Step::Gate as i32;
            give_up(note, Failure { step, errno });
        }
        if receive(gate) != Ok(true) {
            libc::_exit(127);
        }
        // Only now, because a tracer exists: without one a filtered call fails.
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

/// Records the failed step in the note, and exits.
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

/// Applies the same settings and the same exec in this process. Input and signals stay as they are, a hangup that
/// `nohup` switched off for example; but for SIGPIPE, which Rust's runtime switches off for itself before `main`.
/// Returns the sentence that says what failed.
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
