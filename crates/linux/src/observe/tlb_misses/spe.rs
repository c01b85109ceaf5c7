//! Parser for the packets of Arm's statistical profiling extension, which describe an operation.
//!
//! The format is from the Arm Architecture Reference Manual, part D, "The Statistical Profiling Extension sample record
//! protocol" (DDI 0487). A packet has a header of one byte, or of two if the first is an extension byte, and a payload
//! of 1, 2, 4 or 8 bytes, little-endian. A record ends with an end packet or with its timestamp. The numbers are from
//! the kernel's decoder (tools/perf/util/arm-spe-decoder).

/// The parts of a record that are used here.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Operation {
    /// Its instruction address.
    pub(super) code: Option<u64>,
    /// The virtual address that it accessed.
    pub(super) address: Option<u64>,
    /// It wrote memory.
    pub(super) store: bool,
    /// It accessed memory.
    pub(super) memory: bool,
    /// Its translation needed a walk.
    pub(super) walked: bool,
    /// The duration of the translation, in cycles.
    pub(super) translation_cycles: Option<u64>,
}

/// The bit for a walk in the events packet and in the filter PMSEVFR_EL1.
pub(super) const WALK: u32 = 5;
/// The bit for a retired operation.
pub(super) const RETIRED: u32 = 1;

/// A packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Packet {
    kind: Kind,
    payload: u64,
    /// Header and payload, in bytes.
    bytes: usize,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Padding,
    End,
    Timestamp,
    Events,
    /// By class: 1 is loads, stores and atomics.
    Operation(u8),
    /// By index: 0 is the instruction, 2 the virtual address of the data.
    Address(u8),
    /// By index: 2 is the translation.
    Counter(u8),
    /// Context, or source of the data.
    Other,
}

/// Parses a piece of trace that begins with a record, and passes each whole record to `each`.
///
/// # Errors
/// A byte is not a header, or the last packet is truncated; a sentence with the position. Complete records before that
/// were passed on.
pub(super) fn parse_trace(trace: &[u8], mut each: impl FnMut(Operation)) -> Result<(), String> {
    let mut at = 0;
    let mut record = Operation::default();
    while let Some(rest) = trace.get(at..).filter(|rest| !rest.is_empty()) {
        let packet = parse_packet(rest, at)?;
        at += packet.bytes;
        match packet.kind {
            Kind::End | Kind::Timestamp => each(std::mem::take(&mut record)),
            Kind::Padding | Kind::Other => {}
            kind => record.take(kind, packet.payload),
        }
    }
    Ok(())
}

impl Operation {
    fn take(&mut self, kind: Kind, payload: u64) {
        match kind {
            Kind::Events => self.walked = payload >> WALK & 1 == 1,
            Kind::Operation(1) => {
                self.memory = true;
                self.store = payload & 1 == 1;
            }
            Kind::Address(0) => self.code = Some(canonical(payload)),
            Kind::Address(2) => self.address = Some(canonical(payload)),
            Kind::Counter(2) => self.translation_cycles = Some(payload & 0xffff),
            _ => {}
        }
    }
}

/// The top byte of an address holds a tag, or the exception level: bit 55 selects the half of the address space.
fn canonical(payload: u64) -> u64 {
    const TOP_BYTE: u32 = 8;
    (((payload << TOP_BYTE).cast_signed()) >> TOP_BYTE).cast_unsigned()
}

fn parse_packet(bytes: &[u8], at: usize) -> Result<Packet, String> {
    let first = bytes.first().copied().unwrap_or(0);
    let none = |kind| Packet {
        kind,
        payload: 0,
        bytes: 1,
    };
    match first {
        0x00 => return Ok(none(Kind::Padding)),
        0x01 => return Ok(none(Kind::End)),
        _ => {}
    }
    // The second byte of an extended header has the format of a short one.
    let extended = first & 0xfc == 0x20;
    let header = if extended {
        *bytes.get(1).ok_or_else(|| cut(at))?
    } else {
        first
    };
    if extended && header == 0 {
        return alignment(first, bytes, at);
    }
    let kind = kind(first, header, extended)
        .ok_or_else(|| format!("byte {at} of an SPE trace, 0x{first:02x}, starts no packet"))?;
    let start = 1 + usize::from(extended);
    let length = 1_usize << (header >> 4 & 3);
    let payload = bytes.get(start..start + length).ok_or_else(|| cut(at))?;
    let mut word = [0; 8];
    word[..length].copy_from_slice(payload);
    Ok(Packet {
        kind,
        payload: u64::from_le_bytes(word),
        bytes: start + length,
    })
}

fn kind(first: u8, header: u8, extended: bool) -> Option<Kind> {
    let index = if extended {
        (first & 3) << 3 | header & 7
    } else {
        header & 7
    };
    match header {
        0x71 if !extended => Some(Kind::Timestamp),
        _ if header & 0xcf == 0x42 && !extended => Some(Kind::Events),
        _ if header & 0xcf == 0x43 && !extended => Some(Kind::Other),
        _ if header & 0xfc == 0x64 && !extended => Some(Kind::Other),
        _ if header & 0xfc == 0x48 && !extended => Some(Kind::Operation(header & 3)),
        _ if header & 0xf8 == 0xb0 => Some(Kind::Address(index)),
        _ if header & 0xf8 == 0x98 => Some(Kind::Counter(index)),
        _ => None,
    }
}

/// Parses padding to a multiple of a power of two, counted from the start of the trace, which is page-aligned.
fn alignment(first: u8, bytes: &[u8], at: usize) -> Result<Packet, String> {
    let unit = 1_usize << ((first & 0xf) + 1);
    let length = unit - at % unit;
    if length > bytes.len() {
        return Err(cut(at));
    }
    Ok(Packet {
        kind: Kind::Padding,
        payload: 0,
        bytes: length.max(2),
    })
}

fn cut(at: usize) -> String {
    format!("the packet at byte {at} of an SPE trace is cut off")
}

#[cfg(test)]
pub(super) mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Builds a record of a load with a walk, from the manual's tables: the instruction (0xb0, 8 bytes; the top byte is
    /// EL0, non-secure), the operation (0x49), the translation latency (0x9a, 2 bytes), the virtual address (0xb2), the
    /// events (0x52, 2 bytes: retired, TLB access, walk), the end.
    pub(in crate::observe::tlb_misses) fn walked_load(code: u64, address: u64) -> Vec<u8> {
        let mut bytes = vec![0xb0];
        bytes.extend((code | 1 << 63).to_le_bytes());
        bytes.extend([0x49, 0x00]);
        bytes.extend([0x9a, 0x2c, 0x01]);
        bytes.push(0xb2);
        bytes.extend(address.to_le_bytes());
        bytes.extend([0x52, 0x32, 0x00]);
        bytes.push(0x01);
        bytes
    }

    fn parsed(trace: &[u8]) -> (Vec<Operation>, Result<(), String>) {
        let mut all = Vec::new();
        let end = parse_trace(trace, |one| all.push(one));
        (all, end)
    }

    #[test]
    fn a_load_that_walked() {
        let mut trace = vec![0, 0, 0];
        trace.extend(walked_load(0x40_1234, 0x7000_1000));
        trace.extend([0, 0]);
        let expected = Operation {
            code: Some(0x40_1234),
            address: Some(0x7000_1000),
            store: false,
            memory: true,
            walked: true,
            translation_cycles: Some(300),
        };
        assert_eq!(parsed(&trace), (vec![expected], Ok(())));
    }

    #[test]
    fn a_timestamp_ends_a_record_and_others_are_skipped() {
        // Context (0x64, 4 bytes), source (0x43, 1 byte), a store, no walk, a timestamp.
        let mut trace = vec![0x64, 1, 2, 3, 4, 0x43, 9, 0x49, 0x01, 0x42, 0x12, 0x71];
        trace.extend(77_u64.to_le_bytes());
        let (all, end) = parsed(&trace);
        assert_eq!(end, Ok(()));
        assert_eq!(all.len(), 1);
        assert!(all[0].store && all[0].memory && !all[0].walked);
    }

    #[test]
    fn headers_of_two_bytes() {
        // A counter with the unused index 8 (0x21, 0x98); alignment (0x23, 0x00) to 16.
        let mut trace = vec![0x21, 0x98, 5, 0, 0x23, 0x00];
        trace.resize(16, 0xee);
        trace.extend(walked_load(1, 2));
        let (all, end) = parsed(&trace);
        assert_eq!((all.len(), end), (1, Ok(())));
        assert_eq!(all[0].translation_cycles, Some(300));
    }

    #[test]
    fn the_kernels_addresses_are_in_the_upper_half() {
        let tagged = 0x12ff_8000_1000_0000;
        let (all, _) = parsed(&walked_load(0, tagged));
        assert_eq!(all[0].address, Some(0xffff_8000_1000_0000));
        let (all, _) = parsed(&walked_load(0, 0x1200_7000_0000_0000));
        assert_eq!(all[0].address, Some(0x0000_7000_0000_0000));
    }

    #[test]
    fn what_is_wrong_has_its_place() {
        let mut trace = walked_load(1, 2);
        let whole = trace.len();
        trace.push(0xff);
        let (all, end) = parsed(&trace);
        assert_eq!(all.len(), 1);
        let wrong = format!("byte {whole} of an SPE trace, 0xff, starts no packet");
        assert_eq!(end, Err(wrong));
        let (all, end) = parsed(&walked_load(1, 2)[..5]);
        assert_eq!(all, []);
        assert_eq!(
            end,
            Err("the packet at byte 0 of an SPE trace is cut off".to_owned())
        );
    }

    proptest! {
        #[test]
        fn no_bytes_panic(bytes: Vec<u8>) {
            let _ = parse_trace(&bytes, |_| {});
        }
    }
}
