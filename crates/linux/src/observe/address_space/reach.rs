//! Width of user addresses, a property of the running kernel that no file reports.

use std::ptr;

/// From the smallest on Arm to the largest with five levels and pages of 4 KiB.
const BITS: std::ops::RangeInclusive<u32> = 36..=57;

/// Finds the number of bits in the highest user address by requesting mappings there. The number depends on the
/// processor and its page tables, not only on the kernel configuration (arm64 with pages of 16 KiB has 47 or 52).
/// `None` if nothing can be mapped.
///
/// Without a hint the kernel returns only lower addresses, so the highest address in use would not be enough
/// (DEFAULT_MAP_WINDOW, arch/arm64/include/asm/processor.h; arch/x86/mm/mmap.c).
pub(super) fn probe_address_bits() -> Option<u32> {
    BITS.rev().find(|bits| can_be_mapped(1 << (bits - 1)))
}

/// Kernels before 4.17 treat the address as a hint, and return a different one.
fn can_be_mapped(address: u64) -> bool {
    let Ok(address) = usize::try_from(address) else {
        return false;
    };
    let flags =
        libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE | libc::MAP_FIXED_NOREPLACE;
    let bytes = rustix::param::page_size();
    let wanted: *mut libc::c_void = ptr::without_provenance_mut(address);
    // SAFETY: a fresh mapping that replaces none; its address is known nowhere else.
    let given = unsafe { libc::mmap(wanted, bytes, libc::PROT_NONE, flags, -1, 0) };
    if given == libc::MAP_FAILED {
        let error = std::io::Error::last_os_error();
        return error.raw_os_error() == Some(libc::EEXIST);
    }
    // SAFETY: the mapping was made just now, and is unused.
    unsafe { libc::munmap(given, bytes) };
    given == wanted
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The stack is near the top of the addresses that the kernel returns without a hint.
    #[test]
    fn addresses_reach_beyond_the_own_stack() {
        let here = 0_u8;
        let own = u64::BITS - (ptr::from_ref(&here).addr() as u64).leading_zeros();
        let bits = probe_address_bits().unwrap();
        assert!((own..=57).contains(&bits), "{bits} against {own}");
        assert!(!can_be_mapped(1 << bits), "{bits} are not all");
    }

    #[test]
    fn what_is_in_use_can_be_mapped() {
        let here = 0_u8;
        let page = rustix::param::page_size();
        assert!(can_be_mapped(
            (ptr::from_ref(&here).addr() / page * page) as u64
        ));
    }
}
