//! The names of the programs in the object, and the programs attached by all users of the object.

use aya::programs::{BtfTracePoint, Program, RawTracePoint};
use aya::{Btf, Ebpf};

/// The program that removes the data of ended threads.
pub(super) const CARETAKER: &str = "thread_gone";
/// The tracepoint to which it is attached.
pub(super) const THREAD_GONE: &str = "sched_process_free";

pub(super) type Attached = Result<(), Box<dyn std::error::Error>>;

/// Finds a program of the expected type.
///
/// # Errors
/// The object has no such program, or its type differs.
pub(super) fn find<'a, T>(object: &'a mut Ebpf, name: &str) -> Result<&'a mut T, String>
where
    &'a mut T: TryFrom<&'a mut Program>,
{
    let program = object.program_mut(name);
    let program = program.ok_or_else(|| format!("there is no program {name}"))?;
    let other = |_| format!("program {name} has another type");
    program.try_into().map_err(other)
}

/// Loads a program and attaches it to a tracepoint with typed arguments.
///
/// # Errors
/// The kernel refuses, or there is no such program.
pub(super) fn attach_tp_btf(object: &mut Ebpf, name: &str, event: &str, types: &Btf) -> Attached {
    let program: &mut BtfTracePoint = find(object, name)?;
    program.load(event, types)?;
    program.attach()?;
    Ok(())
}

/// Does the same with raw arguments.
///
/// # Errors
/// The kernel refuses, or there is no such program.
pub(super) fn attach_raw_tp(object: &mut Ebpf, name: &str, event: &str) -> Attached {
    let program: &mut RawTracePoint = find(object, name)?;
    program.load()?;
    program.attach(event)?;
    Ok(())
}
