//! The calls that can be refused, and their errors.

/// The argument that identifies the target of a call.
#[derive(Clone, Copy)]
pub(super) enum About {
    /// The address of a path.
    Path(usize),
    /// A descriptor.
    File(usize),
    /// A number, such as a request.
    Number(usize),
    /// No argument does.
    Nothing,
}

/// A system call.
pub(super) struct Call {
    /// Its number here.
    pub(super) number: libc::c_long,
    /// Its name, as in the manual.
    pub(super) name: &'static str,
    /// Its target.
    pub(super) about: About,
}

const fn call(number: libc::c_long, name: &'static str, about: About) -> Call {
    Call {
        number,
        name,
        about,
    }
}

/// The calls by which the program reads, writes, starts processes and queries the kernel.
const CALLS: &[Call] = &[
    call(libc::SYS_openat, "openat", About::Path(1)),
    call(libc::SYS_read, "read", About::File(0)),
    call(libc::SYS_pread64, "pread64", About::File(0)),
    call(libc::SYS_write, "write", About::File(0)),
    call(libc::SYS_pwrite64, "pwrite64", About::File(0)),
    call(libc::SYS_ftruncate, "ftruncate", About::File(0)),
    call(libc::SYS_fsync, "fsync", About::File(0)),
    call(libc::SYS_fdatasync, "fdatasync", About::File(0)),
    call(libc::SYS_flock, "flock", About::File(0)),
    call(libc::SYS_getdents64, "getdents64", About::File(0)),
    call(libc::SYS_statx, "statx", About::Path(1)),
    call(libc::SYS_renameat, "renameat", About::Path(1)),
    call(libc::SYS_renameat2, "renameat2", About::Path(1)),
    call(libc::SYS_mkdirat, "mkdirat", About::Path(1)),
    call(libc::SYS_unlinkat, "unlinkat", About::Path(1)),
    #[cfg(target_arch = "x86_64")]
    call(libc::SYS_rename, "rename", About::Path(0)),
    #[cfg(target_arch = "x86_64")]
    call(libc::SYS_mkdir, "mkdir", About::Path(0)),
    #[cfg(target_arch = "x86_64")]
    call(libc::SYS_rmdir, "rmdir", About::Path(0)),
    #[cfg(target_arch = "x86_64")]
    call(libc::SYS_unlink, "unlink", About::Path(0)),
    call(libc::SYS_fchown, "fchown", About::File(0)),
    call(libc::SYS_mmap, "mmap", About::File(4)),
    call(libc::SYS_ioctl, "ioctl", About::File(0)),
    call(libc::SYS_clone, "clone", About::Nothing),
    call(libc::SYS_clone3, "clone3", About::Nothing),
    call(libc::SYS_execve, "execve", About::Path(0)),
    call(libc::SYS_wait4, "wait4", About::Nothing),
    call(libc::SYS_waitid, "waitid", About::Nothing),
    call(libc::SYS_pidfd_open, "pidfd_open", About::Nothing),
    call(libc::SYS_pipe2, "pipe2", About::Nothing),
    call(libc::SYS_socketpair, "socketpair", About::Nothing),
    call(libc::SYS_sendmsg, "sendmsg", About::Nothing),
    call(libc::SYS_recvmsg, "recvmsg", About::Nothing),
    call(libc::SYS_ppoll, "ppoll", About::Nothing),
    call(libc::SYS_ptrace, "ptrace", About::Number(0)),
    call(libc::SYS_prctl, "prctl", About::Number(0)),
    call(libc::SYS_perf_event_open, "perf_event_open", About::Nothing),
    call(libc::SYS_bpf, "bpf", About::Number(0)),
];

/// The numbers of all calls.
pub(super) fn numbers() -> Vec<libc::c_long> {
    CALLS.iter().map(|call| call.number).collect()
}

/// The call with that number.
pub(super) fn find(number: libc::c_long) -> Option<&'static Call> {
    CALLS.iter().find(|call| call.number == number)
}

/// The number of an error by its name in the manual.
pub(super) fn error(name: &str) -> Option<i32> {
    Some(match name {
        "EACCES" => libc::EACCES,
        "EAGAIN" => libc::EAGAIN,
        "EINTR" => libc::EINTR,
        "EIO" => libc::EIO,
        "EMFILE" => libc::EMFILE,
        "ENOMEM" => libc::ENOMEM,
        "ENOSPC" => libc::ENOSPC,
        "EPERM" => libc::EPERM,
        _ => return None,
    })
}
