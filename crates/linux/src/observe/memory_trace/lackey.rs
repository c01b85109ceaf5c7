//! Parser for the output of valgrind's lackey with `--trace-mem=yes` (lackey/lk_main.c): a letter, the address in
//! hexadecimal, the size in bytes in decimal.

use hugewise_tlb::simulation::{Kind, MemoryAccess};

/// One line of the trace.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Line {
    /// One access.
    One(MemoryAccess),
    /// One instruction read data and wrote it back.
    Both {
        /// The read access.
        load: MemoryAccess,
        /// The write access.
        store: MemoryAccess,
    },
    /// A message from valgrind.
    Remark,
}

/// Parses one line, without its end.
///
/// # Errors
/// The name of the malformed field.
pub fn parse_line(line: &[u8]) -> Result<Line, &'static str> {
    let Some((head, rest)) = line.split_at_checked(3) else {
        return if line.is_empty() {
            Ok(Line::Remark)
        } else {
            Err("no access type")
        };
    };
    let kind = match head {
        b"I  " => Kind::Fetch,
        b" L " => Kind::Load,
        b" S " => Kind::Store,
        b" M " => {
            let load = access(Kind::Load, rest)?;
            let store = MemoryAccess {
                kind: Kind::Store,
                ..load
            };
            return Ok(Line::Both { load, store });
        }
        _ if matches!(head, [b'=', b'=', _] | [b'-', b'-', _] | [b'*', b'*', _]) => {
            return Ok(Line::Remark);
        }
        _ => return Err("no access type"),
    };
    access(kind, rest).map(Line::One)
}

fn access(kind: Kind, rest: &[u8]) -> Result<MemoryAccess, &'static str> {
    let comma = rest.iter().position(|&byte| byte == b',');
    let (address, bytes) = comma
        .and_then(|at| rest.split_at_checked(at))
        .ok_or("no comma after the address")?;
    Ok(MemoryAccess {
        kind,
        address: number(address, 16).ok_or("no address")?,
        bytes: number(bytes.get(1..).unwrap_or_default(), 10).ok_or("no byte count")?,
    })
}

/// Parses a number without sign. Written by hand for speed, because a trace has tens of millions of them.
fn number(digits: &[u8], radix: u32) -> Option<u64> {
    if digits.is_empty() {
        return None;
    }
    digits.iter().try_fold(0_u64, |number, &byte| {
        let digit = char::from(byte).to_digit(radix)?;
        number
            .checked_mul(u64::from(radix))?
            .checked_add(u64::from(digit))
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn of(kind: Kind, address: u64, bytes: u64) -> MemoryAccess {
        MemoryAccess {
            kind,
            address,
            bytes,
        }
    }

    /// In the format of valgrind 3.19.
    #[test]
    fn lines_of_a_real_trace() {
        let one = |kind, address, bytes| Ok(Line::One(of(kind, address, bytes)));
        assert_eq!(
            parse_line(b"I  0401ab70,3"),
            one(Kind::Fetch, 0x0401_ab70, 3)
        );
        assert_eq!(
            parse_line(b" S 1fff000748,8"),
            one(Kind::Store, 0x1f_ff00_0748, 8)
        );
        assert_eq!(
            parse_line(b" L 04a27a48,4"),
            one(Kind::Load, 0x04a2_7a48, 4)
        );
        let both = Line::Both {
            load: of(Kind::Load, 0x1000, 4),
            store: of(Kind::Store, 0x1000, 4),
        };
        assert_eq!(parse_line(b" M 00001000,4"), Ok(both));
        for remark in ["==8409== Counted 0 calls to main()", "--8409-- x", ""] {
            assert_eq!(parse_line(remark.as_bytes()), Ok(Line::Remark));
        }
    }

    #[test]
    fn what_is_wrong_is_named() {
        let fault = |text: &str| parse_line(text.as_bytes()).expect_err(text);
        assert_eq!(fault("hello"), "no access type");
        assert_eq!(fault(" L 0401ab70"), "no comma after the address");
        assert_eq!(fault(" L ,4"), "no address");
        assert_eq!(fault(" L +401,4"), "no address");
        assert_eq!(fault(" L 10000000000000000,4"), "no address");
        assert_eq!(fault(" S 0401ab70,"), "no byte count");
    }

    proptest! {
        #[test]
        fn what_is_written_is_read(address: u64, bytes: u64) {
            let text = format!(" L {address:08x},{bytes}");
            prop_assert_eq!(
                parse_line(text.as_bytes()),
                Ok(Line::One(of(Kind::Load, address, bytes)))
            );
        }
    }
}
