//! Probes bpf(2): creating a map and loading a tracing program. Raw system calls, because a library would be larger
//! than the probe.

use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};

use crate::bpf::types::read_types;
use crate::machine::root::Root;
use crate::probe::answers::Answer;

/// A function present in every kernel with transparent huge pages, and rarely called.
const FUNCTION: &str = "do_huge_pmd_anonymous_page";

const BPF_MAP_CREATE: libc::c_int = 0;
const BPF_PROG_LOAD: libc::c_int = 5;
const BPF_RAW_TRACEPOINT_OPEN: libc::c_int = 17;
const BPF_MAP_TYPE_ARRAY: u32 = 2;
const BPF_PROG_TYPE_RAW_TRACEPOINT: u32 = 17;
const BPF_PROG_TYPE_TRACING: u32 = 26;
const BPF_TRACE_FENTRY: u32 = 24;

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
#[derive(Default)]
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
    name: [u8; 16],
    interface: u32,
    attach_kind: u32,
    btf: u32,
    function_record_bytes: u32,
    functions: u64,
    function_count: u32,
    line_record_bytes: u32,
    lines: u64,
    line_count: u32,
    attach_id: u32,
}

/// `union bpf_attr` for `BPF_RAW_TRACEPOINT_OPEN`; without a name the program determines its attach point.
#[repr(C)]
struct AttachAttribute {
    name: u64,
    program: u32,
    padding: u32,
}

/// `r0 = 0; exit`, in the machine's byte order (of the Linux machines only s390x is not little-endian; there the two
/// register halves swap, and both are 0 here).
const RETURN_0: [[u8; 8]; 2] = [[0xb7, 0, 0, 0, 0, 0, 0, 0], [0x95, 0, 0, 0, 0, 0, 0, 0]];

/// Creates an array of one number, and drops it.
pub(super) fn map_create() -> Answer {
    let attribute = MapAttribute {
        kind: BPF_MAP_TYPE_ARRAY,
        key_bytes: 4,
        value_bytes: 8,
        entries: 1,
    };
    call(BPF_MAP_CREATE, &attribute).map(drop).into()
}

/// Loads a program of the type that reads kernel events, without attaching it, and drops it.
pub(super) fn program_load() -> Answer {
    load(&ProgramAttribute {
        kind: BPF_PROG_TYPE_RAW_TRACEPOINT,
        ..ProgramAttribute::default()
    })
    .map(drop)
    .into()
}

/// Attaches a program without effect to the entry of a function, and detaches it. Loading alone proves nothing: Linux
/// 6.1 on arm64 loads such a program and cannot attach it.
pub(super) fn fentry(root: &Root) -> Answer {
    let Ok(types) = read_types(root) else {
        return Answer::NotTried;
    };
    match types.function_number(FUNCTION) {
        Some(id) => attach(id).map(drop).into(),
        None => Answer::Refused(libc::ENOENT),
    }
}

fn attach(function: u32) -> io::Result<OwnedFd> {
    let program = load(&ProgramAttribute {
        kind: BPF_PROG_TYPE_TRACING,
        attach_kind: BPF_TRACE_FENTRY,
        attach_id: function,
        ..ProgramAttribute::default()
    })?;
    let attribute = AttachAttribute {
        name: 0,
        program: program.as_raw_fd().cast_unsigned(),
        padding: 0,
    };
    call(BPF_RAW_TRACEPOINT_OPEN, &attribute)
}

/// Loads the smallest program with the other attributes as given.
fn load(attribute: &ProgramAttribute) -> io::Result<OwnedFd> {
    let licence = c"MIT";
    call(
        BPF_PROG_LOAD,
        &ProgramAttribute {
            instruction_count: 2,
            instructions: RETURN_0.as_ptr() as u64,
            licence: licence.as_ptr() as u64,
            ..*attribute
        },
    )
}

fn call<T>(command: libc::c_int, attribute: &T) -> io::Result<OwnedFd> {
    // SAFETY: the attribute is a valid prefix of `union bpf_attr` of the size passed; its pointers are valid during the
    // call, and both commands only read through them.
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
    // SAFETY: the kernel has just returned this new descriptor, and nothing else owns it.
    Ok(unsafe { OwnedFd::from_raw_fd(fd) })
}
