//! A library that dynamic programs preload: it advises huge pages for their large memory.
//!
//! `build.rs` compiles it separately; it is not a module of this crate. malloc calls mmap, mremap and brk of its own C
//! library directly, and would not call exported functions of these names. So the first bytes of these functions are
//! replaced by a jump, before any other constructor runs and while there is only one thread. After that the library
//! makes only system calls: it allocates nothing, takes no lock, and uses nothing of the C library except the location
//! of errno. So forked children, threads and signal handlers can call it at any moment.
//!
//! It does nothing without `HUGEWISE_PRELOAD=huge:BYTES`, with the size of a huge page; with `idle:BYTES` it makes the
//! same calls without effect.
#![no_std]

use core::panic::PanicInfo;
use core::sync::atomic::AtomicUsize;
use core::sync::atomic::Ordering::Relaxed;

mod machine;

use machine::{call, symbol};

const MADV_NORMAL: usize = 0;
const MADV_HUGEPAGE: usize = 14;
const ENOMEM: i32 = 12;
const FAILED: usize = usize::MAX;
const MREMAP_PLACED: u32 = 2 | 4;

/// The flags of mmap(2) that decide, and their required values: private and anonymous, but neither a stack nor hugetlb.
/// The tracer of `thp=always` uses the same rule.
const KIND: u32 = 0x2 | 0x20 | 0x100 | 0x2_0000 | 0x4_0000;
const WANTED: u32 = 0x2 | 0x20;

/// The size of a huge page, in bytes.
static BLOCK: AtomicUsize = AtomicUsize::new(usize::MAX);
/// The advice for madvise(2).
static ADVICE: AtomicUsize = AtomicUsize::new(MADV_NORMAL);

#[used]
#[unsafe(link_section = ".init_array")]
static BEGIN: unsafe extern "C" fn(usize, usize, *const *const u8) = begin;

/// The constructor. glibc passes the environment to it; other C libraries pass nothing.
unsafe extern "C" fn begin(_: usize, _: usize, given: *const *const u8) {
    let (errno, end, own) = (
        symbol!("__errno_location"),
        symbol!("__curbrk"),
        symbol!("environ"),
    );
    if errno == 0 {
        return;
    }
    // SAFETY: `environ` points to the variables; both end in a null pointer.
    unsafe {
        let variables = match (end, own) {
            (0, 0) => return,
            (0, own) => *(own as *const *const *const u8),
            _ => given,
        };
        let Some((advice, block)) = settings(variables) else {
            return;
        };
        ADVICE.store(advice, Relaxed);
        BLOCK.store(block, Relaxed);
        advise_data(block);
        redirect_all(errno, end);
    }
}

/// Parses the advice and the huge page size from `HUGEWISE_PRELOAD`.
///
/// # Safety
/// The argument must be a list of strings with a null pointer at the end.
unsafe fn settings(mut variables: *const *const u8) -> Option<(usize, usize)> {
    // SAFETY: as promised.
    unsafe {
        while !variables.is_null() && !(*variables).is_null() {
            let text = *variables;
            if let Some(bytes) = behind(text, b"HUGEWISE_PRELOAD=huge:") {
                return Some((MADV_HUGEPAGE, number(bytes)?));
            }
            if let Some(bytes) = behind(text, b"HUGEWISE_PRELOAD=idle:") {
                return Some((MADV_NORMAL, number(bytes)?));
            }
            variables = variables.add(1);
        }
    }
    None
}

/// Returns the rest of a string after `beginning`, if it has that prefix.
///
/// # Safety
/// The argument must be a NUL-terminated string.
unsafe fn behind(mut text: *const u8, beginning: &[u8]) -> Option<*const u8> {
    for &letter in beginning {
        // SAFETY: all letters before were equal to those of `beginning`, so none was NUL.
        unsafe {
            if *text != letter {
                return None;
            }
            text = text.add(1);
        }
    }
    Some(text)
}

/// # Safety
/// The argument must be a NUL-terminated string.
unsafe fn number(mut text: *const u8) -> Option<usize> {
    let mut number = 0_usize;
    // SAFETY: no letter before was NUL.
    while let digit @ b'0'..=b'9' = unsafe { *text } {
        number = number
            .checked_mul(10)?
            .checked_add(usize::from(digit - b'0'))?;
        // SAFETY: as above.
        text = unsafe { text.add(1) };
    }
    number.is_power_of_two().then_some(number)
}

/// A program header (elf.h).
#[repr(C)]
struct Header {
    kind: u32,
    flags: u32,
    _offset: usize,
    address: usize,
    _physical: usize,
    file_bytes: usize,
    bytes: usize,
    _align: usize,
}

/// Advises the program's zero-initialised data, mapped by the kernel at exec.
///
/// # Safety
/// Must be called in a program executed by the kernel.
unsafe fn advise_data(block: usize) {
    const AT_PHDR: usize = 3;
    const AT_PHNUM: usize = 5;
    const AT_PAGESZ: usize = 6;
    const PT_LOAD: u32 = 1;
    const PT_PHDR: u32 = 6;
    const WRITABLE: u32 = 2;
    let getauxval = symbol!("getauxval");
    if getauxval == 0 {
        return;
    }
    // SAFETY: the C library's function of that name, and the headers passed by the kernel.
    unsafe {
        let auxiliary: extern "C" fn(usize) -> usize = core::mem::transmute(getauxval);
        let (first, page) = (auxiliary(AT_PHDR), auxiliary(AT_PAGESZ));
        let headers = core::slice::from_raw_parts(first as *const Header, auxiliary(AT_PHNUM));
        let Some(own) = headers.iter().find(|header| header.kind == PT_PHDR) else {
            return;
        };
        let moved = first.wrapping_sub(own.address);
        let data = |header: &&Header| header.kind == PT_LOAD && header.flags & WRITABLE != 0;
        for header in headers.iter().filter(data) {
            let start = moved.wrapping_add(header.address);
            let end = start.wrapping_add(header.bytes);
            let start = start.wrapping_add(header.file_bytes).wrapping_add(page - 1) & !(page - 1);
            if end.saturating_sub(start) >= block {
                advise(start, end - start);
            }
        }
    }
}

/// Replaces the C library's functions by those of this library.
///
/// # Safety
/// There must be only one thread; `errno` is the address of a function of the C library, and `end` that of glibc's
/// `__curbrk`.
unsafe fn redirect_all(errno: usize, end: usize) {
    const HERE: usize = -100_isize as usize;
    const READ_WRITE_CLOEXEC: usize = 0o2_000_002;
    let path = c"/proc/self/mem".as_ptr() as usize;
    let places = [
        (symbol!("mmap"), map as *const () as usize),
        (symbol!("mmap64"), map as *const () as usize),
        (symbol!("mremap"), remap as *const () as usize),
        // musl's function does nothing.
        (
            if end == 0 { 0 } else { symbol!("brk") },
            move_end as *const () as usize,
        ),
    ];
    // SAFETY: the path ends in NUL. Writes to this file bypass the write protection of code.
    unsafe {
        let memory = call(machine::OPENAT, [HERE, path, READ_WRITE_CLOEXEC, 0, 0, 0]);
        if error(memory).is_some() {
            return;
        }
        for (function, to) in places {
            redirect(memory, errno, function, to);
        }
        call(machine::CLOSE, [memory, 0, 0, 0, 0, 0]);
    }
}

/// Redirects one function to this library. A function far from `errno` is not the C library's, but a replacement by
/// another library.
///
/// # Safety
/// There must be only one thread, `memory` must refer to this process, and both functions must have the same signature.
unsafe fn redirect(memory: usize, errno: usize, function: usize, to: usize) {
    const LARGEST_LIBRARY: usize = 16 << 20;
    if function == 0 || function.abs_diff(errno) > LARGEST_LIBRARY {
        return;
    }
    const LENGTH: usize = machine::JUMP.len();
    let mut code = [0_u8; LENGTH + 8];
    for (place, byte) in code.iter_mut().zip(machine::JUMP) {
        *place = byte;
    }
    for (place, byte) in code[LENGTH..].iter_mut().zip(to.to_le_bytes()) {
        *place = byte;
    }
    let code = code.as_ptr() as usize;
    // SAFETY: the bytes are those of this array; each of these functions is longer.
    unsafe { call(machine::PWRITE, [memory, code, LENGTH + 8, function, 0, 0]) };
}

/// Returns the error number of a failed system call.
fn error(result: usize) -> Option<i32> {
    const LAST: usize = -4095_isize as usize;
    (result >= LAST).then_some((result as isize).wrapping_neg() as i32)
}

/// Sets errno; returns the result of a failed call.
fn fail(number: i32) -> usize {
    let address = symbol!("__errno_location");
    // SAFETY: the C library's function of that name; without it nothing was redirected.
    unsafe {
        let errno: extern "C" fn() -> *mut i32 = core::mem::transmute(address);
        *errno() = number;
    }
    FAILED
}

fn advise(start: usize, bytes: usize) {
    // SAFETY: advice changes no content; that it is refused changes nothing.
    unsafe {
        call(
            machine::MADVISE,
            [start, bytes, ADVICE.load(Relaxed), 0, 0, 0],
        )
    };
}

/// mmap(2).
unsafe extern "C" fn map(
    address: usize,
    bytes: usize,
    access: u32,
    flags: u32,
    file: i32,
    offset: usize,
) -> usize {
    let words = [
        address,
        bytes,
        access as usize,
        flags as usize,
        file as usize,
        offset,
    ];
    // SAFETY: as the caller promises to mmap.
    let result = unsafe { call(machine::MMAP, words) };
    if let Some(number) = error(result) {
        return fail(number);
    }
    if flags & KIND == WANTED && bytes >= BLOCK.load(Relaxed) {
        advise(result, bytes);
    }
    result
}

/// mremap(2), whose last argument exists only if the flags require it.
unsafe extern "C" fn remap(
    address: usize,
    bytes: usize,
    new_bytes: usize,
    flags: u32,
    place: usize,
) -> usize {
    let place = if flags & MREMAP_PLACED != 0 { place } else { 0 };
    let words = [address, bytes, new_bytes, flags as usize, place, 0];
    // SAFETY: as the caller promises to mremap.
    let result = unsafe { call(machine::MREMAP, words) };
    if let Some(number) = error(result) {
        return fail(number);
    }
    if new_bytes > bytes && new_bytes >= BLOCK.load(Relaxed) {
        advise(result, new_bytes);
    }
    result
}

/// brk(2) as in glibc: `__curbrk` is the end of the heap. When the heap completes a huge page, the advice covers the
/// range from the start of the last huge page that was incomplete before. Advice for memory outside the heap has no bad
/// effect there.
unsafe extern "C" fn move_end(wanted: usize) -> i32 {
    let end = symbol!("__curbrk") as *mut usize;
    let block = BLOCK.load(Relaxed);
    // SAFETY: glibc's variable, which the functions that it is changed by do not lock either.
    unsafe {
        let (before, now) = (*end, call(machine::BRK, [wanted, 0, 0, 0, 0, 0]));
        *end = now;
        if now < wanted {
            fail(ENOMEM);
            return -1;
        }
        let start = before & !(block - 1);
        if before != 0 && now >= start.saturating_add(block) {
            advise(start, now - start);
        }
    }
    0
}

#[panic_handler]
fn never(_: &PanicInfo<'_>) -> ! {
    loop {}
}
