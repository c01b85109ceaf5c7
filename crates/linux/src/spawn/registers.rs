//! Reads and writes the registers of a stopped thread, and prepares them for a system call.

use std::io;

use framehop::UnwindRegsNative;

#[cfg(target_arch = "aarch64")]
use super::tracee;

/// `NT_PRSTATUS` of linux/elf.h: the general registers.
const GENERAL: usize = 1;

/// A system call to be injected into a thread.
#[derive(Clone, Copy, Debug)]
pub(super) struct SystemCall {
    number: libc::c_long,
    arguments: [u64; 6],
}

impl SystemCall {
    /// Missing arguments are 0.
    pub(super) fn new<const N: usize>(number: libc::c_long, given: [u64; N]) -> Self {
        let mut arguments = [0; 6];
        arguments[..N].copy_from_slice(&given);
        Self { number, arguments }
    }
}

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

    /// A thread that executes code of another ABI has a shorter set.
    fn transfer(&mut self, request: libc::c_uint, thread: i32) -> io::Result<()> {
        let whole = size_of::<libc::user_regs_struct>();
        let place = (&raw mut self.0).cast();
        match transfer_set(request, thread, GENERAL, place, whole)? {
            given if given < whole => Err(io::ErrorKind::Unsupported.into()),
            _ => Ok(()),
        }
    }

    /// Returns the result of the call that has just ended, unless it failed.
    pub(super) fn success(&self) -> Option<u64> {
        const LARGEST_ERROR: u64 = 4095;
        let result = self.result();
        (result < LARGEST_ERROR.wrapping_neg()).then_some(result)
    }

    /// Returns the error number of a failed call.
    pub(super) fn error(&self) -> Option<i32> {
        let number = i32::try_from(self.result().wrapping_neg()).ok();
        number.filter(|_| self.success().is_none())
    }
}

/// Reads or writes a register set; returns its size in bytes.
fn transfer_set(
    request: libc::c_uint,
    thread: i32,
    set: usize,
    place: *mut libc::c_void,
    bytes: usize,
) -> io::Result<usize> {
    let mut place = libc::iovec {
        iov_base: place,
        iov_len: bytes,
    };
    // SAFETY: the callers give a place of so many bytes, which outlives the call.
    match unsafe { libc::ptrace(request, thread, set, &raw mut place) } {
        -1 => Err(io::Error::last_os_error()),
        _ => Ok(place.iov_len),
    }
}

/// The `syscall` instruction and its arguments (arch/x86/entry/entry_64.S).
#[cfg(target_arch = "x86_64")]
impl Registers {
    /// Returns the initial registers for unwinding.
    pub(super) fn frame(&self) -> UnwindRegsNative {
        UnwindRegsNative::new(self.0.rip, self.0.rsp, self.0.rbp)
    }

    pub(super) fn argument(&self, index: usize) -> u64 {
        [self.0.rdi, self.0.rsi, self.0.rdx, self.0.r10][index]
    }

    pub(super) fn result(&self) -> u64 {
        self.0.rax
    }

    /// Returns the registers for another call in a thread that has just ended a call.
    pub(super) fn calling(mut self, call: SystemCall) -> Self {
        self.0.rip -= SYSCALL_BYTES;
        self.0.rax = call.number as u64;
        // Otherwise the kernel could mistake the result for that of a call to restart.
        self.0.orig_rax = call.number as u64;
        self.set_arguments(call);
        self
    }

    fn set_arguments(&mut self, call: SystemCall) {
        let set = &mut self.0;
        [set.rdi, set.rsi, set.rdx, set.r10, set.r8, set.r9] = call.arguments;
    }

    /// Returns the instruction pointer.
    pub(super) fn place(&self) -> u64 {
        self.0.rip
    }

    /// Returns true if the kernel makes the thread restart its interrupted call (`arch_do_signal_or_restart`,
    /// arch/x86/kernel/signal.c).
    pub(super) fn makes_call_again(&self, _thread: i32) -> bool {
        let error = (self.0.rax as i64).wrapping_neg();
        let stood_in_call = (self.0.orig_rax as i64) >= 0;
        stood_in_call && RESTARTS.contains(&error)
    }

    /// Returns true if the stop has just interrupted call `number` in the thread.
    pub(super) fn gave_up(&self, _thread: i32, number: libc::c_long) -> bool {
        self.error() == Some(libc::EINTR) && self.0.orig_rax == number as u64
    }

    /// Returns the registers with which the thread restarts the interrupted call. If a handler of the program runs
    /// first, the kernel converts the result back to EINTR.
    pub(super) fn trying_again(mut self, _first_argument: u64) -> Self {
        self.0.rax = RESTARTS[0].wrapping_neg() as u64;
        self
    }

    /// Returns the registers for a call from `place`, the address of a system call instruction.
    pub(super) fn calling_from(mut self, place: u64, call: SystemCall) -> Self {
        self.0.rip = place;
        self.0.rax = call.number as u64;
        self.0.orig_rax = u64::MAX;
        self.set_arguments(call);
        self
    }

    /// Replaces the call that a thread has just entered by another.
    pub(super) fn exchange_call(mut self, thread: i32, call: SystemCall) -> io::Result<()> {
        self.0.orig_rax = call.number as u64;
        self.set_arguments(call);
        self.write(thread)
    }

    /// Returns the registers from before the call that a thread has just entered.
    pub(super) fn before_call(mut self) -> Self {
        self.0.rip -= SYSCALL_BYTES;
        self.0.rax = self.0.orig_rax;
        self.0.orig_rax = u64::MAX;
        self
    }
}

#[cfg(target_arch = "x86_64")]
const SYSCALL_BYTES: u64 = 2;

/// `ERESTARTNOHAND`, `ERESTARTSYS`, `ERESTARTNOINTR`, `ERESTART_RESTARTBLOCK` (linux/errno.h).
#[cfg(target_arch = "x86_64")]
const RESTARTS: [i64; 4] = [514, 512, 513, 516];

/// The system call instruction: `syscall`.
#[cfg(target_arch = "x86_64")]
pub(super) const CALL_INSTRUCTION: &[u8] = &[0x0f, 0x05];

/// The `svc` instruction and its arguments (arch/arm64/kernel/syscall.c). When `svc` runs again, the kernel reads the
/// number from x8 again.
#[cfg(target_arch = "aarch64")]
impl Registers {
    /// Returns the initial registers for unwinding: the return address, the stack and the frame pointer.
    pub(super) fn frame(&self) -> UnwindRegsNative {
        let (link, frame) = (self.0.regs[30], self.0.regs[29]);
        UnwindRegsNative::new(link, self.0.sp, frame)
    }

    pub(super) fn argument(&self, index: usize) -> u64 {
        self.0.regs[index]
    }

    pub(super) fn result(&self) -> u64 {
        self.0.regs[0]
    }

    /// Returns the registers for another call in a thread that has just ended a call.
    pub(super) fn calling(mut self, call: SystemCall) -> Self {
        self.0.pc -= SVC_BYTES;
        self.0.regs[8] = call.number as u64;
        self.0.regs[..6].copy_from_slice(&call.arguments);
        self
    }

    /// Returns the program counter.
    pub(super) fn place(&self) -> u64 {
        self.0.pc
    }

    /// Returns true if the next instruction of the thread is a system call. The kernel has prepared a restart before
    /// the tracer sees the stop (`do_signal`, arch/arm64/kernel/signal.c).
    pub(super) fn makes_call_again(&self, thread: i32) -> bool {
        is_call(thread, self.0.pc)
    }

    /// Returns true if the stop has just interrupted call `number` in the thread.
    pub(super) fn gave_up(&self, thread: i32, number: libc::c_long) -> bool {
        let behind_call = is_call(thread, self.0.pc - SVC_BYTES);
        behind_call && self.error() == Some(libc::EINTR) && self.0.regs[8] == number as u64
    }

    /// Returns the registers with which the thread restarts the interrupted call.
    pub(super) fn trying_again(mut self, first_argument: u64) -> Self {
        self.0.pc -= SVC_BYTES;
        self.0.regs[0] = first_argument;
        self
    }

    /// Returns the registers for a call from `place`, the address of a system call instruction.
    pub(super) fn calling_from(mut self, place: u64, call: SystemCall) -> Self {
        /// The type of the last branch (`PSTATE.BTYPE`); the processor faults if the branch may not target this
        /// instruction.
        const BRANCH: u64 = 0b11 << 10;
        self.0.pc = place;
        self.0.pstate &= !BRANCH;
        self.0.regs[8] = call.number as u64;
        self.0.regs[..6].copy_from_slice(&call.arguments);
        self
    }

    /// Replaces the call that a thread has just entered by another. The number of a call that has been entered is no
    /// general register (`NT_ARM_SYSTEM_CALL` of linux/elf.h).
    pub(super) fn exchange_call(mut self, thread: i32, call: SystemCall) -> io::Result<()> {
        const SYSTEM_CALL: usize = 0x404;
        let mut number = call.number as libc::c_int;
        let place = (&raw mut number).cast();
        let bytes = size_of::<libc::c_int>();
        transfer_set(libc::PTRACE_SETREGSET, thread, SYSTEM_CALL, place, bytes)?;
        self.0.regs[..6].copy_from_slice(&call.arguments);
        self.write(thread)
    }

    /// Returns the registers from before the call that a thread has just entered.
    pub(super) fn before_call(mut self) -> Self {
        self.0.pc -= SVC_BYTES;
        self
    }
}

/// Returns true if a system call instruction is at an address of a thread's program.
#[cfg(target_arch = "aarch64")]
fn is_call(thread: i32, place: u64) -> bool {
    let mut instruction = [0; SVC_BYTES as usize];
    tracee::memory(thread, place, &mut instruction).is_some() && instruction == *CALL_INSTRUCTION
}

#[cfg(target_arch = "aarch64")]
const SVC_BYTES: u64 = 4;

/// The system call instruction: `svc #0`.
#[cfg(target_arch = "aarch64")]
pub(super) const CALL_INSTRUCTION: &[u8] = &[0x01, 0x00, 0x00, 0xd4];

/// The signals that a thread blocks.
#[derive(Clone, Copy, Debug)]
pub(super) struct SignalMask(u64);

impl SignalMask {
    /// All signals except those that cannot be blocked.
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

/// The state of a thread before an injected call.
#[derive(Debug)]
pub(super) struct OwnState {
    pub(super) registers: Registers,
    mask: SignalMask,
}

impl OwnState {
    pub(super) fn read(thread: i32) -> io::Result<Self> {
        Ok(Self {
            registers: Registers::read(thread)?,
            mask: SignalMask::read(thread)?,
        })
    }

    /// A thread killed in the interval needs no restoration.
    pub(super) fn put_back(self, thread: i32) {
        let _ = self.registers.write(thread);
        let _ = self.mask.write(thread);
    }
}
