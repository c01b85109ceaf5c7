//! bpf(2): whether a map can be made and a tracing program loaded. Raw, because a library would
//! be larger than the question.

use std::io;
use std::os::fd::{FromRawFd, OwnedFd};

use crate::probe::answers::Answer;

const BPF_MAP_CREATE: libc::c_int = 0;
const BPF_PROG_LOAD: libc::c_int = 5;
const BPF_MAP_TYPE_ARRAY: u32 = 2;
const BPF_PROG_TYPE_RAW_TRACEPOINT: u32 = 17;

/// The first fields of `union bpf_attr` for `BPF_MAP_CREATE`; the kernel takes the rest as 0.
#[repr(C)]
struct MapAttribute {
    kind: u32,
    key_bytes: u32,
    value_bytes: u32,
    entries: u32,
}

/// The first fields of `union bpf_attr` for `BPF_PROG_LOAD`; the kernel takes the rest as 0.
#[repr(C)]
struct ProgramAttribute {
    kind: u32,
    instruction_count: u32,
    instructions: u64,
    licence: u64,
    log_level: u32,
    log_bytes: u32,
    log: u64,
    kernel_version: u32,
    flags: u32,
}

/// `r0 = 0; exit`, in the machine's byte order (all Linux machines we know are little-endian
/// but s390x; there the two register halves swap, and both are 0 here).
const RETURN_0: [[u8; 8]; 2] = [[0xb7, 0, 0, 0, 0, 0, 0, 0], [0x95, 0, 0, 0, 0, 0, 0, 0]];

/// Makes an array of one number, and drops it.
pub(super) fn map_create() -> Answer {
    let attribute = MapAttribute {
        kind: BPF_MAP_TYPE_ARRAY,
        key_bytes: 4,
        value_bytes: 8,
        entries: 1,
    };
    call(BPF_MAP_CREATE, &attribute).map(drop).into()
}

/// Loads a program of the kind that reads kernel events, attached to nothing, and drops it.
pub(super) fn program_load() -> Answer {
    let licence = c"MIT";
    let attribute = ProgramAttribute {
        kind: BPF_PROG_TYPE_RAW_TRACEPOINT,
        instruction_count: 2,
        instructions: RETURN_0.as_ptr() as u64,
        licence: licence.as_ptr() as u64,
        log_level: 0,
        log_bytes: 0,
        log: 0,
        kernel_version: 0,
        flags: 0,
    };
    call(BPF_PROG_LOAD, &attribute).map(drop).into()
}

fn call<T>(command: libc::c_int, attribute: &T) -> io::Result<OwnedFd> {
    // SAFETY: the attribute is a valid prefix of `union bpf_attr` of the size that is passed;
    // what it points to outlives the call, and both commands only read it.
    let fd = unsafe {
        libc::syscall(
            libc::SYS_bpf,
            command,
            std::ptr::from_ref(attribute),
            size_of::<T>(),
        )
    };
    let fd = i32::try_from(fd).unwrap_or(-1);
    if fd < 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: the kernel has just given us this descriptor and nobody else knows it.
    Ok(unsafe { OwnedFd::from_raw_fd(fd) })
}
