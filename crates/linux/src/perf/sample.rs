use std::borrow::Cow;

/// `enum perf_event_type` (linux/perf_event.h).
const RECORD_LOST: u32 = 2;
const RECORD_COMM: u32 = 3;
const RECORD_EXIT: u32 = 4;
const RECORD_FORK: u32 = 7;
const RECORD_SAMPLE: u32 = 9;
const RECORD_MMAP2: u32 = 10;
const RECORD_AUX: u32 = 11;
const RECORD_LOST_SAMPLES: u32 = 13;

/// The fields of an event's samples beyond identity, thread, time and address.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Layout {
    /// `PERF_SAMPLE_IP`.
    pub code: bool,
    /// `PERF_SAMPLE_CALLCHAIN`.
    pub stack: bool,
    /// `PERF_SAMPLE_RAW`.
    pub raw: bool,
    /// `PERF_SAMPLE_PHYS_ADDR`.
    pub physical: bool,
    /// `PERF_SAMPLE_DATA_PAGE_SIZE`.
    pub page_size: bool,
}

/// A record of the ring.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Record<'a> {
    /// `PERF_RECORD_SAMPLE`.
    Sample(Sample),
    /// `PERF_RECORD_MMAP2`.
    Map(MapRecord<'a>),
    /// `PERF_RECORD_COMM` at an exec; other changes of the name are [`Record::Other`].
    Exec {
        /// Process.
        pid: u32,
        /// Its time.
        time_ns: u64,
        /// The new name.
        name: Cow<'a, str>,
    },
    /// `PERF_RECORD_FORK`.
    Fork(Birth),
    /// `PERF_RECORD_EXIT`.
    Exit(Birth),
    /// `PERF_RECORD_LOST`, or `PERF_RECORD_LOST_SAMPLES`.
    Lost {
        /// The number of records lost because the ring was full.
        count: u64,
    },
    /// `PERF_RECORD_AUX`: a piece of the AUX area is ready.
    Aux(Piece),
    /// A record not requested.
    Other,
}

/// A sample.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Sample {
    /// ID of the event, `PERF_SAMPLE_IDENTIFIER`.
    pub id: u64,
    /// The instruction address.
    pub code: Option<u64>,
    /// Process.
    pub pid: u32,
    /// Thread.
    pub tid: u32,
    /// Its time.
    pub time_ns: u64,
    /// The data address.
    pub address: u64,
    /// User mode part of the call chain, innermost first; `None` if none was requested.
    pub stack: Option<Vec<u64>>,
    /// The raw data of the hardware.
    pub raw: Vec<u8>,
    /// Physical address; 0 if the kernel found no ordinary page.
    pub physical: Option<u64>,
    /// Size of the page that maps the address.
    pub page_bytes: Option<u64>,
}

/// A piece of the AUX area.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Piece {
    /// Its start, in bytes since the event was opened.
    pub offset: u64,
    /// Its length in bytes.
    pub bytes: u64,
    /// `PERF_AUX_FLAG_TRUNCATED` and its like.
    pub flags: u64,
    /// The process running when it was handed over.
    pub pid: u32,
    /// Its thread.
    pub tid: u32,
    /// Its time.
    pub time_ns: u64,
}

/// A mapping, as reported by the kernel.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MapRecord<'a> {
    /// Process.
    pub pid: u32,
    /// Its time.
    pub time_ns: u64,
    /// First address.
    pub start: u64,
    /// Length in bytes.
    pub bytes: u64,
    /// Offset in the file, in bytes.
    pub offset: u64,
    /// `PROT_READ` and similar flags.
    pub protection: u32,
    /// `MAP_SHARED`, `MAP_HUGETLB` and similar flags.
    pub flags: u32,
    /// Path or `//anon`.
    pub name: Cow<'a, str>,
}

/// The start or end of a thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Birth {
    /// Process.
    pub pid: u32,
    /// Process of the parent.
    pub parent: u32,
    /// Thread.
    pub tid: u32,
    /// Its time.
    pub time_ns: u64,
}

/// Context markers in call chains are the last 4095 addresses (`PERF_CONTEXT_MAX`).
const CONTEXT_MARKERS: u64 = (-4095_i64).cast_unsigned();
/// `PERF_CONTEXT_USER`: the following addresses are in user mode.
const CONTEXT_USER: u64 = (-512_i64).cast_unsigned();
/// `PERF_RECORD_MISC_COMM_EXEC`.
const COMM_EXEC: u16 = 1 << 13;
/// Length in bytes of the trailer added by `sample_id_all`: thread, time, ID.
const TRAILER_BYTES: usize = 24;

/// Parses one record, with its header. `layout` returns the fields in the samples of an event, given its ID; `None` for
/// an event not opened by this process.
///
/// # Errors
/// The record is too short for its type, or its event is unknown; a sentence.
pub fn parse_record(
    bytes: &[u8],
    layout: impl Fn(u64) -> Option<Layout>,
) -> Result<Record<'_>, String> {
    let mut fields = Fields { left: bytes };
    let kind = fields.half("type")?;
    let [low, high] = fields.take::<2>("misc")?;
    let misc = u16::from_ne_bytes([low, high]);
    fields.take::<2>("size")?;
    match kind {
        RECORD_LOST => {
            fields.word("id")?;
            let count = fields.word("lost")?;
            Ok(Record::Lost { count })
        }
        RECORD_LOST_SAMPLES => Ok(Record::Lost {
            count: fields.word("lost")?,
        }),
        RECORD_COMM if misc & COMM_EXEC != 0 => parse_exec(fields),
        RECORD_FORK => Ok(Record::Fork(parse_birth(fields)?)),
        RECORD_EXIT => Ok(Record::Exit(parse_birth(fields)?)),
        RECORD_SAMPLE => Ok(Record::Sample(parse_sample(fields, layout)?)),
        RECORD_MMAP2 => Ok(Record::Map(parse_map(fields)?)),
        RECORD_AUX => Ok(Record::Aux(parse_piece(fields)?)),
        _ => Ok(Record::Other),
    }
}

fn parse_sample(
    mut fields: Fields<'_>,
    layout: impl Fn(u64) -> Option<Layout>,
) -> Result<Sample, String> {
    let id = fields.word("id")?;
    let layout = layout(id).ok_or_else(|| format!("a sample of unknown event {id}"))?;
    Ok(Sample {
        id,
        code: optional(layout.code, || fields.word("instruction"))?,
        pid: fields.half("pid")?,
        tid: fields.half("tid")?,
        time_ns: fields.word("time")?,
        address: fields.word("address")?,
        stack: optional(layout.stack, || parse_stack(&mut fields))?,
        raw: if layout.raw {
            fields.raw()?
        } else {
            Vec::new()
        },
        physical: optional(layout.physical, || fields.word("physical address"))?,
        page_bytes: optional(layout.page_size, || fields.word("page size"))?,
    })
}

fn optional<T>(there: bool, read: impl FnOnce() -> Result<T, String>) -> Result<Option<T>, String> {
    there.then(read).transpose()
}

/// Parses the user mode part of a call chain. Markers give the mode of the addresses that follow.
fn parse_stack(fields: &mut Fields<'_>) -> Result<Vec<u64>, String> {
    let count = fields.word("length of the call chain")?;
    let mut stack = Vec::new();
    let mut in_user = false;
    for _ in 0..count {
        let address = fields.word("call chain")?;
        if address >= CONTEXT_MARKERS {
            in_user = address == CONTEXT_USER;
        } else if in_user {
            stack.push(address);
        }
    }
    Ok(stack)
}

fn parse_exec(mut fields: Fields<'_>) -> Result<Record<'_>, String> {
    let pid = fields.half("pid")?;
    fields.half("tid")?;
    let time_ns = fields.trailing_time()?;
    let name = fields.text();
    Ok(Record::Exec { pid, time_ns, name })
}

fn parse_birth(mut fields: Fields<'_>) -> Result<Birth, String> {
    let (pid, parent) = (fields.half("pid")?, fields.half("ppid")?);
    let tid = fields.half("tid")?;
    fields.half("ptid")?;
    let time_ns = fields.word("time")?;
    Ok(Birth {
        pid,
        parent,
        tid,
        time_ns,
    })
}

fn parse_piece(mut fields: Fields<'_>) -> Result<Piece, String> {
    let offset = fields.word("aux_offset")?;
    let bytes = fields.word("aux_size")?;
    let flags = fields.word("flags")?;
    Ok(Piece {
        offset,
        bytes,
        flags,
        pid: fields.half("pid")?,
        tid: fields.half("tid")?,
        time_ns: fields.word("time")?,
    })
}

fn parse_map(mut fields: Fields<'_>) -> Result<MapRecord<'_>, String> {
    let pid = fields.half("pid")?;
    fields.half("tid")?;
    let start = fields.word("addr")?;
    let bytes = fields.word("len")?;
    let offset = fields.word("pgoff")?;
    // Device, inode and generation, or a build ID: both have the same size.
    fields.take::<24>("inode")?;
    let protection = fields.half("prot")?;
    let flags = fields.half("flags")?;
    let time_ns = fields.trailing_time()?;
    Ok(MapRecord {
        pid,
        time_ns,
        start,
        bytes,
        offset,
        protection,
        flags,
        name: fields.text(),
    })
}

/// The remaining part of a record.
struct Fields<'a> {
    left: &'a [u8],
}

impl<'a> Fields<'a> {
    fn take<const N: usize>(&mut self, field: &str) -> Result<[u8; N], String> {
        let (first, rest) = self
            .left
            .split_first_chunk::<N>()
            .ok_or_else(|| format!("a record ends before its {field}"))?;
        self.left = rest;
        Ok(*first)
    }

    fn half(&mut self, field: &str) -> Result<u32, String> {
        self.take(field).map(u32::from_ne_bytes)
    }

    fn word(&mut self, field: &str) -> Result<u64, String> {
        self.take(field).map(u64::from_ne_bytes)
    }

    /// Reads a length and that many bytes; together they are padded to a whole word.
    fn raw(&mut self) -> Result<Vec<u8>, String> {
        let length = usize::try_from(self.half("raw size")?).unwrap_or(usize::MAX);
        let split = self.left.split_at_checked(length);
        let (raw, rest) = split.ok_or("a record ends before its raw data")?;
        self.left = rest;
        Ok(raw.to_vec())
    }

    /// Removes the trailer from the end; returns its time.
    fn trailing_time(&mut self) -> Result<u64, String> {
        let at = self.left.len().checked_sub(TRAILER_BYTES);
        let (body, trailer) = self
            .left
            .split_at(at.ok_or("a record ends before its trailer")?);
        self.left = body;
        let mut trailer = Fields { left: trailer };
        trailer.word("thread")?;
        trailer.word("time")
    }

    /// Returns the rest up to a NUL.
    fn text(self) -> Cow<'a, str> {
        let end = self.left.iter().position(|&byte| byte == 0);
        String::from_utf8_lossy(&self.left[..end.unwrap_or(self.left.len())])
    }
}

#[cfg(test)]
mod tests;
