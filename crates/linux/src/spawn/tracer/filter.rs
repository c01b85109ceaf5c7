//! The seccomp filter that stops a tree only when its memory may need advice.
//!
//! All other calls pass at the cost of a few instructions. A filter cannot be removed, and children inherit it.

use std::io;

use hugewise_experiment::run::policy::realise::TreeTracer as Advice;

use super::call::Call;

/// `AUDIT_ARCH_…` of linux/audit.h for the ABI of this program.
#[cfg(target_arch = "x86_64")]
const ABI: u32 = 0xc000_003e;
#[cfg(target_arch = "aarch64")]
const ABI: u32 = 0xc000_00b7;

/// The first number of x32 (`__X32_SYSCALL_BIT`); no other ABI has numbers this high.
const X32: u32 = 0x4000_0000;
/// The flags of mmap(2) that decide. Stacks are excluded: the kernel uses no huge pages for them under `always` either
/// (`VM_NOHUGEPAGE` for `MAP_STACK`, include/linux/mman.h).
const KIND: u32 = (libc::MAP_ANONYMOUS
    | libc::MAP_PRIVATE
    | libc::MAP_STACK
    | libc::MAP_HUGETLB
    | libc::MAP_GROWSDOWN) as u32;
const WANTED: u32 = (libc::MAP_ANONYMOUS | libc::MAP_PRIVATE) as u32;

/// Offsets in `struct seccomp_data`; both architectures are little endian.
const NUMBER: u32 = 0;
const ARCH: u32 = 4;

const fn low(argument: u32) -> u32 {
    16 + 8 * argument
}

const fn high(argument: u32) -> u32 {
    low(argument) + 4
}

/// Selects whether a tree stops when memory is unmapped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Unmapping {
    Stops,
    Passes,
}

/// A filter for memory whose huge pages have `block` bytes.
#[derive(Debug)]
pub(in crate::spawn) struct Filter(Vec<libc::sock_filter>);

impl Filter {
    /// Returns the filter that the tracer of a policy needs; `None` if the policy has none.
    pub(in crate::spawn) fn of(advice: &Advice) -> Option<Self> {
        let unmapping = match advice {
            Advice::None => return None,
            Advice::Sites(_) => Unmapping::Stops,
            Advice::Huge | Advice::Idle => Unmapping::Passes,
        };
        Some(Self::new(super::block_bytes(), unmapping))
    }

    fn new(block: u64, unmapping: Unmapping) -> Self {
        let block = u32::try_from(block).unwrap_or(u32::MAX);
        let mut code = vec![
            load(ARCH),
            skip_unless_equal(ABI, 1),
            jump(1),
            trace(Call::Foreign),
        ];
        // A foreign ABI was handled above; the number here belongs to this ABI.
        code.extend([load(NUMBER), skip_if_less(X32, 1), trace(Call::Foreign)]);
        code.extend(section(libc::SYS_mmap, Self::map(block)));
        code.extend(section(libc::SYS_brk, Self::break_()));
        code.extend(section(libc::SYS_mremap, large(2, block, Call::Remap)));
        if unmapping == Unmapping::Stops {
            code.extend(section(libc::SYS_munmap, large(1, block, Call::Unmap)));
        }
        code.extend(section(libc::SYS_ptrace, vec![trace(Call::Trace)]));
        code.extend(section(libc::SYS_seccomp, vec![trace(Call::Filter)]));
        code.extend(section(libc::SYS_prctl, Self::prctl()));
        code.push(allow());
        Self(code)
    }

    fn map(block: u32) -> Vec<libc::sock_filter> {
        let mut code = vec![
            load(low(3)),
            statement(libc::BPF_ALU | libc::BPF_AND | libc::BPF_K, KIND),
            skip_if_equal(WANTED, 1),
            allow(),
        ];
        code.extend(large(1, block, Call::Map));
        code
    }

    /// brk(0) only queries the end.
    fn break_() -> Vec<libc::sock_filter> {
        vec![
            load(low(0)),
            skip_unless_equal(0, 2),
            load(high(0)),
            skip_if_equal(0, 1),
            trace(Call::Break),
            allow(),
        ]
    }

    fn prctl() -> Vec<libc::sock_filter> {
        vec![
            load(low(0)),
            skip_unless_equal(libc::PR_SET_SECCOMP as u32, 1),
            trace(Call::Filter),
            allow(),
        ]
    }

    /// Installs it for this thread and all its future children. Makes only system calls, so it can be called between
    /// fork and exec. Without CAP_SYS_ADMIN the kernel requires `PR_SET_NO_NEW_PRIVS` first (`seccomp_prepare_filter`,
    /// kernel/seccomp.c).
    pub(in crate::spawn) fn install(&self) -> libc::c_int {
        let program = libc::sock_fprog {
            len: self.0.len() as libc::c_ushort,
            filter: self.0.as_ptr().cast_mut(),
        };
        let none: libc::c_ulong = 0;
        // SAFETY: plain integers, and a program that outlives the call, which only reads it.
        unsafe {
            let set =
                |mode: libc::c_ulong| libc::prctl(libc::PR_SET_SECCOMP, mode, &raw const program);
            let mode = libc::c_ulong::from(libc::SECCOMP_MODE_FILTER);
            if set(mode) == 0 {
                return 0;
            }
            let one: libc::c_ulong = 1;
            if libc::prctl(libc::PR_SET_NO_NEW_PRIVS, one, none, none, none) == -1 {
                return -1;
            }
            set(mode)
        }
    }
}

/// Tests whether a child of this process may be traced and filtered, in a child that exits at once.
///
/// # Errors
/// The kernel's error for the first of the two that it refused.
pub fn try_tracing() -> io::Result<()> {
    let filter = Filter::new(super::block_bytes(), Unmapping::Passes);
    // SAFETY: the child makes system calls only, and leaves at once.
    match unsafe { libc::fork() } {
        -1 => Err(io::Error::last_os_error()),
        0 => {
            // SAFETY: as above; PTRACE_TRACEME takes no argument.
            unsafe {
                let nothing = std::ptr::null_mut::<libc::c_void>();
                let traced = libc::ptrace(libc::PTRACE_TRACEME, 0, nothing, nothing);
                if traced == -1 || filter.install() == -1 {
                    libc::_exit(super::super::calls::errno());
                }
                libc::_exit(0)
            }
        }
        child => {
            let mut status = 0;
            // SAFETY: the place is valid, and the child is ours.
            let waited = unsafe { libc::waitpid(child, &raw mut status, 0) };
            match (waited, libc::WEXITSTATUS(status)) {
                (-1, _) => Err(io::Error::last_os_error()),
                (_, 0) => Ok(()),
                (_, errno) => Err(io::Error::from_raw_os_error(errno)),
            }
        }
    }
}

/// Returns the code for one system call, which ends in a verdict and is skipped for all others. The accumulator
/// contains the number before it.
fn section(number: libc::c_long, code: Vec<libc::sock_filter>) -> Vec<libc::sock_filter> {
    let length = u8::try_from(code.len()).unwrap_or(u8::MAX);
    let first = skip_unless_equal(number as u32, length);
    [vec![first], code].concat()
}

/// Stops if a 64-bit argument is at least `block`.
fn large(argument: u32, block: u32, call: Call) -> Vec<libc::sock_filter> {
    vec![
        load(high(argument)),
        skip_unless_equal(0, 2),
        load(low(argument)),
        skip_if_less(block, 1),
        trace(call),
        allow(),
    ]
}

fn statement(code: u32, value: u32) -> libc::sock_filter {
    jump_by(code, value, 0, 0)
}

fn jump_by(code: u32, value: u32, on_true: u8, on_false: u8) -> libc::sock_filter {
    libc::sock_filter {
        code: code as u16,
        jt: on_true,
        jf: on_false,
        k: value,
    }
}

fn load(offset: u32) -> libc::sock_filter {
    statement(libc::BPF_LD | libc::BPF_W | libc::BPF_ABS, offset)
}

fn jump(count: u32) -> libc::sock_filter {
    statement(libc::BPF_JMP | libc::BPF_JA, count)
}

fn skip_if_equal(value: u32, count: u8) -> libc::sock_filter {
    jump_by(libc::BPF_JMP | libc::BPF_JEQ | libc::BPF_K, value, count, 0)
}

fn skip_unless_equal(value: u32, count: u8) -> libc::sock_filter {
    jump_by(libc::BPF_JMP | libc::BPF_JEQ | libc::BPF_K, value, 0, count)
}

fn skip_if_less(value: u32, count: u8) -> libc::sock_filter {
    jump_by(libc::BPF_JMP | libc::BPF_JGE | libc::BPF_K, value, 0, count)
}

fn trace(call: Call) -> libc::sock_filter {
    let answer = libc::SECCOMP_RET_TRACE | u32::from(call as u16);
    statement(libc::BPF_RET | libc::BPF_K, answer)
}

fn allow() -> libc::sock_filter {
    statement(libc::BPF_RET | libc::BPF_K, libc::SECCOMP_RET_ALLOW)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Runs the filter on a call of `abi`, as the kernel would; returns the data of the verdict, or 0 if the call
    /// passes.
    fn answer(filter: &Filter, abi: u32, number: i64, arguments: [u64; 6]) -> u32 {
        let mut data = Vec::new();
        data.extend((number as u32).to_le_bytes());
        data.extend(abi.to_le_bytes());
        data.extend(0_u64.to_le_bytes());
        data.extend(arguments.iter().flat_map(|it| it.to_le_bytes()));
        let word = |at: u32| {
            let at = at as usize;
            u32::from_le_bytes(data[at..at + 4].try_into().expect("four bytes"))
        };
        let (mut at, mut held) = (0, 0);
        loop {
            let it = filter.0[at];
            at += 1;
            let skip = |holds: bool| usize::from(if holds { it.jt } else { it.jf });
            match u32::from(it.code) {
                0x20 => held = word(it.k),
                0x54 => held &= it.k,
                0x05 => at += it.k as usize,
                0x15 => at += skip(held == it.k),
                0x35 => at += skip(held >= it.k),
                0x06 if it.k == libc::SECCOMP_RET_ALLOW => return 0,
                0x06 => return it.k & 0xffff,
                other => panic!("code {other:#x}"),
            }
        }
    }

    #[test]
    fn only_what_may_need_advice_stops() {
        let filter = Filter::new(2 << 20, Unmapping::Stops);
        let ours = |number, arguments| answer(&filter, ABI, number, arguments);
        let map = |length: u64, flags: i32| {
            ours(libc::SYS_mmap, [0, length, 3, flags as u64, u64::MAX, 0])
        };
        let anonymous = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS;
        let (stop, pass) = (Call::Map as u32, 0);
        assert_eq!(map(2 << 20, anonymous), stop);
        assert_eq!(map(1 << 40, anonymous | libc::MAP_NORESERVE), stop);
        assert_eq!(map(1 << 32, anonymous), stop);
        assert_eq!(map((2 << 20) - 4096, anonymous), pass);
        assert_eq!(map(8 << 20, anonymous | libc::MAP_STACK), pass);
        assert_eq!(map(8 << 20, anonymous | libc::MAP_HUGETLB), pass);
        assert_eq!(map(8 << 20, libc::MAP_PRIVATE), pass);
        assert_eq!(map(8 << 20, libc::MAP_SHARED | libc::MAP_ANONYMOUS), pass);
        assert_eq!(ours(libc::SYS_brk, [0; 6]), pass);
        assert_eq!(
            ours(libc::SYS_brk, [1 << 40, 0, 0, 0, 0, 0]),
            Call::Break as u32
        );
        assert_eq!(
            ours(libc::SYS_brk, [4096, 0, 0, 0, 0, 0]),
            Call::Break as u32
        );
        let remap = |size| ours(libc::SYS_mremap, [1 << 40, 4096, size, 1, 0, 0]);
        assert_eq!((remap(4 << 20), remap(1 << 20)), (Call::Remap as u32, pass));
        let unmap = |size| ours(libc::SYS_munmap, [1 << 40, size, 0, 0, 0, 0]);
        assert_eq!((unmap(4 << 20), unmap(4096)), (Call::Unmap as u32, pass));
        let plain = Filter::new(2 << 20, Unmapping::Passes);
        let large = [1 << 40, 4 << 20, 0, 0, 0, 0];
        assert_eq!(answer(&plain, ABI, libc::SYS_munmap, large), pass);
        assert_eq!(ours(libc::SYS_read, [3, 1 << 40, 1 << 40, 0, 0, 0]), pass);
        assert_eq!(ours(libc::SYS_ptrace, [0; 6]), Call::Trace as u32);
        assert_eq!(ours(libc::SYS_seccomp, [1; 6]), Call::Filter as u32);
        assert_eq!(
            ours(libc::SYS_prctl, [22, 2, 0, 0, 0, 0]),
            Call::Filter as u32
        );
        assert_eq!(ours(libc::SYS_prctl, [38, 1, 0, 0, 0, 0]), pass);
        assert_eq!(
            answer(&filter, 0x4000_0003, 90, [0; 6]),
            Call::Foreign as u32
        );
        assert_eq!(ours(0x4000_0009, [0; 6]), Call::Foreign as u32);
    }
}
