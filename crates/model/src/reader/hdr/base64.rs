/// The bytes of standard base64 (RFC 4648, with its padding); `None` for anything else.
pub(super) fn decode(text: &str) -> Option<Vec<u8>> {
    if !text.len().is_multiple_of(4) {
        return None;
    }
    let body = text
        .strip_suffix("==")
        .or(text.strip_suffix('='))
        .unwrap_or(text);
    let mut bytes = Vec::with_capacity(text.len() / 4 * 3);
    for group in body.as_bytes().chunks(4) {
        let mut bits = 0_u32;
        for &letter in group {
            bits = bits << 6 | sextet(letter)?;
        }
        bits <<= 6 * (4 - group.len());
        bytes.extend(&bits.to_be_bytes()[1..group.len()]);
    }
    Some(bytes)
}

fn sextet(letter: u8) -> Option<u32> {
    let value = match letter {
        b'A'..=b'Z' => letter - b'A',
        b'a'..=b'z' => letter - b'a' + 26,
        b'0'..=b'9' => letter - b'0' + 52,
        b'+' => 62,
        b'/' => 63,
        _ => return None,
    };
    Some(u32::from(value))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_vectors_of_the_rfc() {
        let cases = [
            ("", ""),
            ("Zg==", "f"),
            ("Zm8=", "fo"),
            ("Zm9v", "foo"),
            ("Zm9vYg==", "foob"),
            ("Zm9vYmE=", "fooba"),
            ("Zm9vYmFy", "foobar"),
        ];
        for (text, plain) in cases {
            assert_eq!(decode(text).as_deref(), Some(plain.as_bytes()), "{text}");
        }
        for bad in ["Z", "Zg=", "Z===", "Zm9v!mFy", "Zm9=Yg=="] {
            assert_eq!(decode(bad), None, "{bad}");
        }
    }
}
