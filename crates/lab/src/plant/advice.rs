//! Decisions of the program, its parents or the machine: advice, prctl, policy.

use std::ptr;

use super::Planted;
use super::look::{mappings, meminfo};
use super::place::Place;
use super::preconditions::{Fact, demand};
use super::span::{READ_WRITE, Span};
use crate::Trouble;
use crate::region::huge_bytes;

/// `PR_THP_DISABLE_EXCEPT_ADVISED` (Linux 6.18, include/uapi/linux/prctl.h).
const EXCEPT_ADVISED: libc::c_ulong = 2;

/// The program asked for small pages.
pub(super) fn no_huge_page(_: &Place) -> Result<Planted, Trouble> {
    let span = Span::fresh(2)?;
    span.advise(libc::MADV_NOHUGEPAGE)?;
    span.write();
    Ok(Planted::small(span, [Fact::Flag("nh")]))
}

/// Mapped as a stack, with a guard below it in the same mapping, as thread and coroutine libraries do.
pub(super) fn stack(_: &Place) -> Result<Planted, Trouble> {
    let whole = Span::reserve(3)?;
    let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_STACK;
    whole.map(libc::PROT_NONE, flags, -1, 0)?;
    let span = whole.part(huge_bytes(), 2 * huge_bytes());
    span.protect(READ_WRITE)?;
    span.write();
    stack_facts(span)
}

/// The same without a guard: only the mapping call marks it as a stack.
pub(super) fn bare_stack(_: &Place) -> Result<Planted, Trouble> {
    let span = Span::reserve(2)?;
    let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_STACK;
    span.map(READ_WRITE, flags, -1, 0)?;
    span.write();
    stack_facts(span)
}

/// The stack of a waiting thread.
pub(super) fn thread_stack(_: &Place) -> Result<Planted, Trouble> {
    let whole = waiting_thread()?;
    let huge = huge_bytes();
    let start = whole.start.next_multiple_of(huge);
    // Excludes the last huge page, which the thread itself uses.
    let inside = Span {
        start,
        end: whole.end / huge * huge,
    };
    let span = inside.part(0, 2 * huge);
    demand(span.end < inside.end, || {
        "the stack is too small".to_owned()
    })?;
    span.write();
    stack_facts(span)
}

fn stack_facts(span: Span) -> Result<Planted, Trouble> {
    if Fact::Flag("nh").check(span).is_err() {
        let what = "this kernel lets stacks be huge (before Linux 6.8)";
        return Err(Trouble::NotHere(what.to_owned()));
    }
    Ok(Planted::small(span, [Fact::Flag("nh")]))
}

/// Starts a thread that waits for ever; returns its stack.
fn waiting_thread() -> Result<Span, Trouble> {
    extern "C" fn wait(_: *mut libc::c_void) -> *mut libc::c_void {
        loop {
            // SAFETY: waits for a signal; nothing is shared.
            unsafe { libc::pause() };
        }
    }
    // SAFETY: the attributes are initialised before use; the thread uses nothing of ours.
    unsafe {
        let mut attributes: libc::pthread_attr_t = std::mem::zeroed();
        libc::pthread_attr_init(&raw mut attributes);
        libc::pthread_attr_setstacksize(&raw mut attributes, 5 * huge_bytes());
        let mut thread: libc::pthread_t = 0;
        let failed = libc::pthread_create(
            &raw mut thread,
            &raw const attributes,
            wait,
            ptr::null_mut(),
        );
        if failed != 0 {
            let error = std::io::Error::from_raw_os_error(failed);
            return Err(Trouble::Kernel("starting a thread", error));
        }
        stack_of(thread)
    }
}

/// # Safety
/// The thread must be alive.
unsafe fn stack_of(thread: libc::pthread_t) -> Result<Span, Trouble> {
    let (mut start, mut bytes) = (ptr::null_mut(), 0);
    // SAFETY: the attributes are filled in by the first call, for a live thread.
    unsafe {
        let mut attributes: libc::pthread_attr_t = std::mem::zeroed();
        libc::pthread_getattr_np(thread, &raw mut attributes);
        libc::pthread_attr_getstack(&raw const attributes, &raw mut start, &raw mut bytes);
    }
    let start = start as usize;
    Ok(Span {
        start,
        end: start + bytes,
    })
}

/// The process disables huge pages for itself.
pub(super) fn disabled(_: &Place) -> Result<Planted, Trouble> {
    disable(0).map_err(|error| Trouble::Kernel("disabling huge pages", error))?;
    let span = Span::fresh(2)?;
    span.advise(libc::MADV_HUGEPAGE)?;
    span.write();
    Ok(Planted::small(span, [Fact::Flag("hg")]))
}

/// The process allows huge pages only for advised memory, and this is not advised.
pub(super) fn except_advised(_: &Place) -> Result<Planted, Trouble> {
    disable(EXCEPT_ADVISED).map_err(|_| {
        let what = "this kernel has no PR_THP_DISABLE_EXCEPT_ADVISED (Linux 6.18)";
        Trouble::NotHere(what.to_owned())
    })?;
    let span = Span::fresh(2)?;
    span.write();
    Ok(Planted::small(span, [Fact::NoFlag("hg")]))
}

/// `PR_SET_THP_DISABLE`, which every child inherits.
fn disable(flags: libc::c_ulong) -> std::io::Result<()> {
    // SAFETY: only numbers are passed.
    match unsafe { libc::prctl(libc::PR_SET_THP_DISABLE, 1_u64, flags, 0_u64, 0_u64) } {
        0 => Ok(()),
        _ => Err(std::io::Error::last_os_error()),
    }
}

/// Reverts it.
pub(super) fn enable_again() -> Result<(), Trouble> {
    // SAFETY: only numbers are passed.
    match unsafe { libc::prctl(libc::PR_SET_THP_DISABLE, 0_u64, 0_u64, 0_u64, 0_u64) } {
        0 => Ok(()),
        _ => Err(Trouble::last("enabling huge pages")),
    }
}

/// Until [`enable_again`], no memory of this process becomes huge.
pub(super) fn disable_for_now() -> Result<(), Trouble> {
    disable(0).map_err(|error| Trouble::Kernel("disabling huge pages", error))
}

/// Advised, on a machine set to `never`.
pub(super) fn never(_: &Place) -> Result<Planted, Trouble> {
    let span = Span::fresh(2)?;
    span.advise(libc::MADV_HUGEPAGE)?;
    span.write();
    Ok(Planted::small(span, [Fact::Flag("hg")]))
}

/// The same on a machine with less than 512 MiB, which starts with `never`
/// (`hugepage_init`, mm/huge_memory.c).
pub(super) fn little_memory(place: &Place) -> Result<Planted, Trouble> {
    match meminfo("MemTotal") {
        Some(bytes) if bytes < 512 << 20 => never(place),
        _ => Err(Trouble::NotHere(
            "this machine has 512 MiB of memory or more".to_owned(),
        )),
    }
}

/// Not advised, on a machine set to `madvise`.
pub(super) fn not_advised(_: &Place) -> Result<Planted, Trouble> {
    let span = Span::fresh(2)?;
    span.write();
    Ok(Planted::small(
        span,
        [Fact::NoFlag("hg"), Fact::NoFlag("nh")],
    ))
}

/// Advised after all pages were present.
pub(super) fn late(_: &Place) -> Result<Planted, Trouble> {
    let span = Span::fresh(2)?;
    span.write_small_then_advise()?;
    Ok(Planted::small(span, [Fact::Flag("hg")]))
}

/// Advised after one page of each huge page was present: one is enough.
pub(super) fn late_by_one_page(_: &Place) -> Result<Planted, Trouble> {
    let span = Span::fresh(2)?;
    span.advise(libc::MADV_NOHUGEPAGE)?;
    span.middles().for_each(Span::write);
    span.advise(libc::MADV_HUGEPAGE)?;
    span.write();
    Ok(Planted::small(span, [Fact::Flag("hg")]))
}

/// `MAP_POPULATE` fills the memory before any advice can be given.
pub(super) fn populated(_: &Place) -> Result<Planted, Trouble> {
    let span = Span::reserve(2)?;
    let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_POPULATE;
    span.map(READ_WRITE, flags, -1, 0)?;
    span.advise(libc::MADV_HUGEPAGE)?;
    demand(mappings(span)?.len() == 1, || {
        "the mapping was not made in one piece".to_owned()
    })?;
    Ok(Planted::small(span, [Fact::Flag("hg")]))
}
