//! The number of a function in the kernel's own types: no more of BTF than that.
//!
//! The format is that of Documentation/bpf/btf.rst: a header, then one record a type, each with
//! as many bytes behind it as its kind asks for; the first has the number 1.

const MAGIC: u16 = 0xeb9f;
const KIND_FUNC: u32 = 12;

/// The number by which BPF programs name a kernel function; nothing where there is no such
/// function, or the bytes are no BTF.
pub(super) fn function_id(btf: &[u8], name: &str) -> Option<u32> {
    if u16::from_ne_bytes(btf.get(..2)?.try_into().ok()?) != MAGIC {
        return None;
    }
    let header = word(btf, 4)?;
    let section = |offset, length| -> Option<&[u8]> {
        let start = header.checked_add(word(btf, offset)?)? as usize;
        btf.get(start..start.checked_add(word(btf, length)? as usize)?)
    };
    let (types, strings) = (section(8, 12)?, section(16, 20)?);
    let mut at = 0;
    for id in 1.. {
        let info = word(types, at + 4)?;
        let (kind, count) = ((info >> 24) & 0x1f, (info & 0xffff) as usize);
        if kind == KIND_FUNC && is_named(strings, word(types, at)? as usize, name) {
            return Some(id);
        }
        at += 12 + bytes_behind(kind, count)?;
    }
    None
}

/// Bytes that follow the record of a kind; nothing for kinds that are not known, after which
/// nothing can be found any more.
fn bytes_behind(kind: u32, count: usize) -> Option<usize> {
    Some(match kind {
        // Pointers, forwards, names, qualifiers, functions, floats, type tags: nothing.
        2 | 7..=12 | 16 | 18 => 0,
        // Integers, variables, declaration tags.
        1 | 14 | 17 => 4,
        // Arrays.
        3 => 12,
        // Enumerations and the parameters of prototypes.
        6 | 13 => 8 * count,
        // Members of structures and unions, variables of a section, wide enumerations.
        4 | 5 | 15 | 19 => 12 * count,
        _ => return None,
    })
}

fn is_named(strings: &[u8], at: usize, name: &str) -> bool {
    let Some(rest) = strings.get(at..) else {
        return false;
    };
    rest.strip_prefix(name.as_bytes())
        .is_some_and(|rest| rest.first() == Some(&0))
}

fn word(bytes: &[u8], at: usize) -> Option<u32> {
    let bytes = bytes.get(at..at.checked_add(4)?)?;
    Some(u32::from_ne_bytes(bytes.try_into().ok()?))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// An integer, a prototype with two parameters, and two functions.
    fn sample() -> Vec<u8> {
        let strings = b"\0int\0first\0second\0";
        let kind = |kind: u32, count: u32| (kind << 24) | count;
        let types: Vec<u32> = [
            vec![1, kind(1, 0), 4, 0],
            vec![0, kind(13, 2), 1, 0, 1, 0, 1],
            vec![5, kind(12, 0), 2],
            vec![11, kind(12, 0), 2],
        ]
        .concat();
        let types: Vec<u8> = types.into_iter().flat_map(u32::to_ne_bytes).collect();
        let length = |bytes: usize| u32::try_from(bytes).unwrap().to_ne_bytes();
        let mut btf = MAGIC.to_ne_bytes().to_vec();
        btf.extend([1, 0]);
        for field in [24, 0, types.len(), types.len(), strings.len()] {
            btf.extend(length(field));
        }
        btf.extend(types);
        btf.extend(strings);
        btf
    }

    #[test]
    fn functions_are_numbered_from_1_over_all_types() {
        assert_eq!(function_id(&sample(), "first"), Some(3));
        assert_eq!(function_id(&sample(), "second"), Some(4));
        assert_eq!(function_id(&sample(), "secon"), None);
        assert_eq!(function_id(&sample(), "int"), None);
        assert_eq!(function_id(b"", "first"), None);
    }

    #[test]
    fn the_kernel_under_our_hands_has_a_fault_handler() {
        let Ok(btf) = std::fs::read("/sys/kernel/btf/vmlinux") else {
            return;
        };
        assert!(function_id(&btf, "handle_mm_fault").is_some());
    }

    proptest! {
        #[test]
        fn cut_or_changed_bytes_do_no_harm(cut in 0_usize..200, at in 0_usize..200, byte: u8) {
            let mut btf = sample();
            let last = btf.len() - 1;
            btf[at.min(last)] = byte;
            btf.truncate(cut);
            let _ = function_id(&btf, "second");
        }
    }
}
