//! The programs of the object by their names, and those that every user of it attaches.

use aya::programs::{BtfTracePoint, Program, RawTracePoint};
use aya::{Btf, Ebpf};

/// The program that takes away what is kept of threads that are gone.
pub(super) const CARETAKER: &str = "thread_gone";
/// The tracepoint at which it does.
pub(super) const THREAD_GONE: &str = "sched_process_free";

pub(super) type Attached = Result<(), Box<dyn std::error::Error>>;

/// A program of the kind that is expected.
///
/// # Errors
/// The object has no such program, or one of another kind.
pub(super) fn find<'a, T>(object: &'a mut Ebpf, name: &str) -> Result<&'a mut T, String>
where
    &'a mut T: TryFrom<&'a mut Program>,
{
    let program = object.program_mut(name);
    let program = program.ok_or_else(|| format!("there is no program {name}"))?;
    let other = |_| format!("program {name} has another type");
    program.try_into().map_err(other)
}

/// Loads a program and attaches it to a tracepoint, whose arguments have types.
///
/// # Errors
/// The kernel refuses, or there is no such program.
pub(super) fn attach_tp_btf(object: &mut Ebpf, name: &str, event: &str, types: &Btf) -> Attached {
    let program: &mut BtfTracePoint = find(object, name)?;
    program.load(event, types)?;
    program.attach()?;
    Ok(())
}

/// The same with arguments as they are.
///
/// # Errors
/// The kernel refuses, or there is no such program.
pub(super) fn attach_raw_tp(object: &mut Ebpf, name: &str, event: &str) -> Attached {
    let program: &mut RawTracePoint = find(object, name)?;
    program.load()?;
    program.attach(event)?;
    Ok(())
}
