//! The registers of a stopped thread, and what a system call makes of them.

use std::io;

/// `NT_PRSTATUS` of linux/elf.h: the general registers.
const GENERAL: usize = 1;

/// All general registers of a thread.
#[derive(Clone, Copy)]
pub(super) struct Registers(libc::user_regs_struct);

impl std::fmt::Debug for Registers {
    fn fmt(&self, to: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(to, "Registers(result {:#x})", self.result())
    }
}

impl Registers {
    pub(super) fn read(thread: i32) -> io::Result<Self> {
        // SAFETY: the structure holds integers only, for which zeroes are valid.
        let mut registers = Self(unsafe { std::mem::zeroed() });
        registers.transfer(libc::PTRACE_GETREGSET, thread)?;
        Ok(registers)
    }

    pub(super) fn write(mut self, thread: i32) -> io::Result<()> {
        self.transfer(libc::PTRACE_SETREGSET, thread)
    }

    fn transfer(&mut self, request: libc::c_uint, thread: i32) -> io::Result<()> {
        let mut place = libc::iovec {
            iov_base: (&raw mut self.0).cast(),
            iov_len: size_of::<libc::user_regs_struct>(),
        };
        // SAFETY: the place is as long as it says, and outlives the call.
        match unsafe { libc::ptrace(request, thread, GENERAL, &raw mut place) } {
            -1 => Err(io::Error::last_os_error()),
            _ => Ok(()),
        }
    }

    /// The result of the call that has just ended, where it is no error.
    pub(super) fn success(&self) -> Option<u64> {
        const LARGEST_ERROR: u64 = 4095;
        let result = self.result();
        (result < LARGEST_ERROR.wrapping_neg()).then_some(result)
    }
}

/// Instructions of `syscall` and its arguments (arch/x86/entry/entry_64.S).
#[cfg(target_arch = "x86_64")]
impl Registers {
    pub(super) fn argument(&self, index: usize) -> u64 {
        [self.0.rdi, self.0.rsi, self.0.rdx, self.0.r10][index]
    }

    pub(super) fn result(&self) -> u64 {
        self.0.rax
    }

    /// The registers with which a thread that has just ended a call makes another.
    pub(super) fn calling(mut self, number: libc::c_long, arguments: [u64; 3]) -> Self {
        const SYSCALL_BYTES: u64 = 2;
        self.0.rip -= SYSCALL_BYTES;
        self.0.rax = number as u64;
        // Otherwise the kernel could take the result for one of a call to be restarted.
        self.0.orig_rax = number as u64;
        [self.0.rdi, self.0.rsi, self.0.rdx] = arguments;
        self
    }
}

/// Instructions of `svc` and its arguments (arch/arm64/kernel/syscall.c). The number is read
/// from x8 again when `svc` runs again.
#[cfg(target_arch = "aarch64")]
impl Registers {
    pub(super) fn argument(&self, index: usize) -> u64 {
        self.0.regs[index]
    }

    pub(super) fn result(&self) -> u64 {
        self.0.regs[0]
    }

    /// The registers with which a thread that has just ended a call makes another.
    pub(super) fn calling(mut self, number: libc::c_long, arguments: [u64; 3]) -> Self {
        const SVC_BYTES: u64 = 4;
        self.0.pc -= SVC_BYTES;
        self.0.regs[8] = number as u64;
        self.0.regs[..3].copy_from_slice(&arguments);
        self
    }
}

/// The signals that a thread holds back.
#[derive(Clone, Copy, Debug)]
pub(super) struct SignalMask(u64);

impl SignalMask {
    /// All of them but those that cannot be held back.
    pub(super) const ALL: Self = Self(u64::MAX);

    pub(super) fn read(thread: i32) -> io::Result<Self> {
        let mut mask = 0_u64;
        transfer_mask(libc::PTRACE_GETSIGMASK, thread, &mut mask)?;
        Ok(Self(mask))
    }

    pub(super) fn write(mut self, thread: i32) -> io::Result<()> {
        transfer_mask(libc::PTRACE_SETSIGMASK, thread, &mut self.0)
    }
}

fn transfer_mask(request: libc::c_uint, thread: i32, mask: &mut u64) -> io::Result<()> {
    // SAFETY: the kernel's set of signals has eight bytes, and the place outlives the call.
    match unsafe { libc::ptrace(request, thread, size_of::<u64>(), std::ptr::from_mut(mask)) } {
        -1 => Err(io::Error::last_os_error()),
        _ => Ok(()),
    }
}
