//! The attempts to trace a point, best method first; the first one accepted by the kernel is used.

use hugewise_observe::trace::points::{Decode, Edge, Hook, Key, Point, Who};
use hugewise_observe::trace::{Attachment, PointKind};

use super::types::Types;
use crate::proc::kallsyms::{FunctionLookup, Functions};

/// Types and functions of the kernel.
#[derive(Clone, Debug, Default)]
pub struct KernelTypes {
    /// Its types.
    pub types: Types,
    /// Its functions; empty if the kernel does not report them.
    pub functions: Functions,
}

/// One way to trace a point, as requested from the kernel.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Attempt {
    /// The attach method.
    pub attachment: Attachment,
    /// The directory of the tracepoints; empty for functions.
    pub group: String,
    /// The function or tracepoint at the begin of the duration, or of the counted event.
    pub begin: String,
    /// The tracepoint at the end; `None` for functions and for single events.
    pub end: Option<String>,
    /// The location of the key, and its meaning.
    pub key: Option<KeyPlace>,
    /// The processes whose events count.
    pub who: Who,
    /// The costs included in the duration.
    pub includes: String,
    /// Further notes for the reader.
    pub notes: Vec<String>,
    /// The kind of result: durations or a count.
    pub kind: PointKind,
}

/// The location of a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KeyPlace {
    /// At the begin or at the end.
    pub edge: Edge,
    /// Offset in the program's context, in bytes.
    pub offset: u32,
    /// The bits of the register that belong to it.
    pub mask: u32,
    /// The meaning of its values.
    pub decode: Decode,
}

/// The size in bytes of an argument in the context of fentry, tp_btf and raw_tp programs.
const ARGUMENT_BYTES: u32 = 8;

/// The offsets of the first arguments of a function in `struct pt_regs` (arch/*/include/asm/ptrace.h).
#[cfg(target_arch = "x86_64")]
const REGISTERS: &[u32] = &[112, 104, 96, 88, 72, 64];
/// The offsets of the first arguments of a function in `struct user_pt_regs`.
#[cfg(target_arch = "aarch64")]
const REGISTERS: &[u32] = &[0, 8, 16, 24, 32, 40, 48, 56];
#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
const REGISTERS: &[u32] = &[];

/// Returns the attempts for a point, the best first, and the methods known to be unavailable.
#[must_use]
pub fn attempts(point: &Point, kernel: &KernelTypes) -> (Vec<Attempt>, Vec<String>) {
    let mut found = Vec::new();
    let mut absent = Vec::new();
    for means in &point.means {
        match of_means(means, kernel) {
            Ok(attempts) => found.extend(attempts),
            Err(what) => absent.push(what),
        }
    }
    (found, absent)
}

/// Returns the attempts for one method, or the reason why it is unavailable.
fn of_means(means: &Hook, kernel: &KernelTypes) -> Result<Vec<Attempt>, String> {
    if let Some(tracepoints) = Tracepoints::of(means) {
        let begin = tracepoints.begin;
        if !kernel.types.has_tracepoint(begin) {
            return Err(format!("no tracepoint {begin} in this kernel"));
        }
        return Ok(tracepoints.attempts(&kernel.types));
    }
    Ok(match means {
        Hook::Function {
            names,
            key,
            includes,
        } => {
            let function = resolve(names, kernel)?;
            of_function(&names[0], &function, key.as_ref(), includes, kernel)
        }
        Hook::Faults { includes } => of_faults(includes, &kernel.types),
        Hook::Pair { .. } | Hook::Event { .. } => Vec::new(),
    })
}

/// Returns the name of a function in this kernel. If the kernel reports no names, the newest name is tried.
fn resolve(names: &[impl AsRef<str>], kernel: &KernelTypes) -> Result<FunctionLookup, String> {
    let names = || names.iter().map(AsRef::as_ref);
    if kernel.functions.is_empty() {
        let known = names().find(|name| kernel.types.has_function(name));
        let name = known.ok_or("the kernel does not list its functions")?;
        return Ok(FunctionLookup {
            name: name.to_owned(),
            whole: true,
        });
    }
    kernel.functions.find(names()).ok_or_else(|| {
        let names: Vec<&str> = names().collect();
        format!(
            "no function {} in this kernel: inlined into its callers, or not built",
            names.join(" or ")
        )
    })
}

fn of_function(
    asked: &str,
    function: &FunctionLookup,
    key: Option<&Key>,
    includes: &str,
    kernel: &KernelTypes,
) -> Vec<Attempt> {
    let mut notes = Vec::new();
    if function.name != asked {
        notes.push(format!("{asked} is {} in this kernel", function.name));
    }
    if !function.whole && key.is_some() {
        notes.push("the compiler has changed its parameters, so they are not shown".to_owned());
    }
    let index = key.filter(|_| function.whole).and_then(|key| {
        let parameters = kernel.types.parameters(&function.name)?;
        position(&parameters, key)
    });
    let attempt = |attachment, offset: Option<u32>| Attempt {
        attachment,
        group: String::new(),
        begin: function.name.clone(),
        end: None,
        key: offset
            .zip(key)
            .map(|(offset, key)| place(Edge::Begin, offset, key)),
        who: Who::Everyone,
        includes: includes.to_owned(),
        notes: notes.clone(),
        kind: PointKind::Durations,
    };
    let by_fentry = (function.whole && kernel.types.has_function(&function.name)).then(|| {
        attempt(
            Attachment::Fentry,
            index.map(|at| at as u32 * ARGUMENT_BYTES),
        )
    });
    let register = index.and_then(|at| REGISTERS.get(at).copied());
    by_fentry
        .into_iter()
        .chain([attempt(Attachment::Kprobe, register)])
        .collect()
}

/// A begin with its end, or a single event.
struct Tracepoints<'a> {
    group: &'a str,
    begin: &'a str,
    end: Option<&'a str>,
    /// The key, and whether it is at the begin or at the end.
    key: Option<(Edge, &'a Key)>,
    who: Who,
    includes: &'a str,
    kind: PointKind,
}

impl<'a> Tracepoints<'a> {
    fn of(means: &'a Hook) -> Option<Self> {
        Some(match means {
            Hook::Pair {
                group,
                begin,
                end,
                key,
                who,
                includes,
            } => Self {
                group,
                begin,
                end: Some(end),
                key: key.as_ref().map(|(edge, key)| (*edge, key)),
                who: *who,
                includes,
                kind: PointKind::Durations,
            },
            Hook::Event {
                group,
                name,
                key,
                includes,
            } => Self {
                group,
                begin: name,
                end: None,
                key: Some((Edge::End, key)),
                who: Who::Everyone,
                includes,
                kind: PointKind::Events,
            },
            Hook::Function { .. } | Hook::Faults { .. } => return None,
        })
    }

    /// Returns the position of the key among the arguments of its tracepoint.
    fn key_place(&self, types: &Types) -> Option<KeyPlace> {
        let (edge, key) = self.key?;
        let carrier = self.end.filter(|_| edge == Edge::End).unwrap_or(self.begin);
        let arguments = types.arguments(carrier)?;
        let index = position(&arguments, key)?;
        Some(place(edge, index as u32 * ARGUMENT_BYTES, key))
    }

    fn attempt(&self, attachment: Attachment, key: Option<KeyPlace>) -> Attempt {
        Attempt {
            attachment,
            group: self.group.to_owned(),
            begin: self.begin.to_owned(),
            end: self.end.map(str::to_owned),
            key,
            who: self.who,
            includes: self.includes.to_owned(),
            notes: Vec::new(),
            kind: self.kind,
        }
    }

    fn attempts(&self, types: &Types) -> Vec<Attempt> {
        let key = self.key_place(types);
        // The records of classic tracepoints have a different layout, so no fields of them are read.
        vec![
            self.attempt(Attachment::TpBtf, key),
            self.attempt(Attachment::RawTp, key),
            self.attempt(Attachment::Tracepoint, None),
        ]
    }
}

/// The tracepoints at the begin of a page fault on x86, in user mode and in kernel mode. On other architectures,
/// tracepoints of these names have a different position.
pub(super) const FAULT_TRACEPOINTS: [&str; 2] = ["page_fault_user", "page_fault_kernel"];

/// perf's software event for the begin of a page fault.
pub(super) const FAULT_EVENT: &str = "page-faults";

fn of_faults(includes: &str, types: &Types) -> Vec<Attempt> {
    let attempt = |begin: String| Attempt {
        attachment: Attachment::PerfEvent,
        group: String::new(),
        begin,
        end: Some("minor-faults, major-faults".to_owned()),
        key: Some(KeyPlace {
            edge: Edge::End,
            offset: 0,
            mask: u32::MAX,
            decode: Decode::Flag(["minor", "major"]),
        }),
        who: Who::Everyone,
        includes: includes.to_owned(),
        notes: Vec::new(),
        kind: PointKind::Durations,
    };
    let has_tracepoints = cfg!(target_arch = "x86_64")
        && FAULT_TRACEPOINTS
            .iter()
            .all(|name| types.has_tracepoint(name));
    let by_tracepoints = has_tracepoints.then(|| attempt(FAULT_TRACEPOINTS.join(", ")));
    by_tracepoints
        .into_iter()
        .chain([attempt(FAULT_EVENT.to_owned())])
        .collect()
}

fn position(parameters: &[String], key: &Key) -> Option<usize> {
    let wanted = |name: &String| key.parameters.contains(&name.as_str());
    parameters.iter().position(wanted)
}

/// Only the lowest byte of a `bool` is defined.
fn place(edge: Edge, offset: u32, key: &Key) -> KeyPlace {
    let mask = match key.decode {
        Decode::Flag(_) => 0xff,
        _ => u32::MAX,
    };
    KeyPlace {
        edge,
        offset,
        mask,
        decode: key.decode,
    }
}

/// The kernel's refusal of an attempt.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AttachRefusal {
    /// The attempted method.
    pub attachment: Attachment,
    /// The error number, if there was one.
    pub errno: Option<i32>,
    /// Describes the error.
    pub error: String,
}

/// Opens one attempt in the kernel.
pub trait Open {
    /// An open probe.
    type Probe;

    /// Opens the described probe, or returns the reason for the refusal.
    ///
    /// # Errors
    /// The kernel refused.
    fn open(&mut self, attempt: &Attempt) -> Result<Self::Probe, AttachRefusal>;
}

/// Tries the attempts in order, and stops at the first success.
///
/// # Errors
/// All refusals, if no attempt succeeded.
pub fn climb<O: Open>(
    attempts: &[Attempt],
    opener: &mut O,
) -> Result<(Attempt, O::Probe), Vec<AttachRefusal>> {
    let mut refusals = Vec::new();
    for attempt in attempts {
        match opener.open(attempt) {
            Ok(probe) => return Ok((attempt.clone(), probe)),
            Err(refusal) => refusals.push(refusal),
        }
    }
    Err(refusals)
}
