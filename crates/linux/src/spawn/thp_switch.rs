//! The switch of huge pages that a process has and its children inherit.

use hugewise_experiment::run::policy::realise::ThpPrctl;

/// `PR_THP_DISABLE_EXCEPT_ADVISED` (linux/prctl.h, Linux 6.18).
const EXCEPT_ADVISED: libc::c_ulong = 1 << 1;

/// Sets the switch of this process, and returns -1 where the kernel refuses. Makes one system
/// call at the most, so that it may be called between fork and exec.
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
