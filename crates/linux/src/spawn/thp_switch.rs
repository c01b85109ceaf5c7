//! The THP switch of a process, inherited by its children.

use hugewise_experiment::run::policy::realise::ThpPrctl;

/// `PR_THP_DISABLE_EXCEPT_ADVISED` (linux/prctl.h, Linux 6.18).
const EXCEPT_ADVISED: libc::c_ulong = 1 << 1;

/// Sets the switch of this process; returns -1 if the kernel refuses. Makes at most one system call, so it can be
/// called between fork and exec.
pub(super) fn set_thp(prctl: ThpPrctl) -> libc::c_int {
    let (disable, flags): (libc::c_ulong, libc::c_ulong) = match prctl {
        ThpPrctl::Leave => return 0,
        ThpPrctl::Clear => (0, 0),
        ThpPrctl::Disable => (1, 0),
        ThpPrctl::ExceptAdvised => (1, EXCEPT_ADVISED),
    };
    let none: libc::c_ulong = 0;
    // SAFETY: prctl with plain integers.
    unsafe { libc::prctl(libc::PR_SET_THP_DISABLE, disable, flags, none, none) }
}
