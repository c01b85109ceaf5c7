//! The parts of the library that depend on the processor: system calls, symbols, and a jump to any address.

/// Returns the address of a symbol of the program or its libraries; 0 if it is not defined.
#[cfg(target_arch = "x86_64")]
macro_rules! symbol {
    ($name:literal) => {{
        let address: usize;
        // SAFETY: reads a slot that the loader filled. Weak, so that it may be left empty.
        unsafe {
            core::arch::asm!(concat!(".weak ", $name),
                concat!("mov {0}, qword ptr [rip + ", $name, "@GOTPCREL]"),
                out(reg) address, options(pure, readonly, nostack, preserves_flags));
        }
        address
    }};
}
#[cfg(target_arch = "aarch64")]
macro_rules! symbol {
    ($name:literal) => {{
        let address: usize;
        // SAFETY: reads a slot that the loader filled. Weak, so that it may be left empty.
        unsafe {
            core::arch::asm!(concat!(".weak ", $name),
                concat!("adrp {0}, :got:", $name),
                concat!("ldr {0}, [{0}, :got_lo12:", $name, "]"),
                out(reg) address, options(pure, readonly, nostack, preserves_flags));
        }
        address
    }};
}

pub(crate) use symbol;

/// Numbers of system calls (asm/unistd.h), and the jump.
#[cfg(target_arch = "x86_64")]
mod own {
    use core::arch::asm;

    pub const OPENAT: usize = 257;
    pub const CLOSE: usize = 3;
    pub const PWRITE: usize = 18;
    pub const MMAP: usize = 9;
    pub const MREMAP: usize = 25;
    pub const BRK: usize = 12;
    pub const MADVISE: usize = 28;

    /// `jmp *0(%rip)`, followed by the address.
    pub const JUMP: [u8; 6] = [0xff, 0x25, 0, 0, 0, 0];

    /// # Safety
    /// The same as for the system call.
    pub unsafe fn call(number: usize, words: [usize; 6]) -> usize {
        let result;
        // SAFETY: as promised; the kernel changes these registers and no others.
        unsafe {
            asm!("syscall", inlateout("rax") number => result,
                in("rdi") words[0], in("rsi") words[1], in("rdx") words[2],
                in("r10") words[3], in("r8") words[4], in("r9") words[5],
                lateout("rcx") _, lateout("r11") _, options(nostack));
        }
        result
    }
}

/// Numbers of system calls (asm/unistd.h), and the jump.
#[cfg(target_arch = "aarch64")]
mod own {
    use core::arch::asm;

    pub const OPENAT: usize = 56;
    pub const CLOSE: usize = 57;
    pub const PWRITE: usize = 68;
    pub const MMAP: usize = 222;
    pub const MREMAP: usize = 216;
    pub const BRK: usize = 214;
    pub const MADVISE: usize = 233;

    /// `bti c; ldr x16, .+8; br x16`, followed by the address. If the C library is protected by BTI, functions must
    /// start with a `bti` instruction.
    pub const JUMP: [u8; 12] = [
        0x5f, 0x24, 0x03, 0xd5, 0x50, 0x00, 0x00, 0x58, 0x00, 0x02, 0x1f, 0xd6,
    ];

    /// # Safety
    /// The same as for the system call.
    pub unsafe fn call(number: usize, words: [usize; 6]) -> usize {
        let result;
        // SAFETY: as promised; the kernel changes this register and no other.
        unsafe {
            asm!("svc 0", in("x8") number, inlateout("x0") words[0] => result,
                in("x1") words[1], in("x2") words[2], in("x3") words[3],
                in("x4") words[4], in("x5") words[5], options(nostack));
        }
        result
    }
}

pub(crate) use own::*;
