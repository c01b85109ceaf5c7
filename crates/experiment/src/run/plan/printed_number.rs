//! A number in the output of a program, with its adjacent letters.

use std::ops::Range;

/// The marks between two digits of one number: decimal marks, thousands separators, and the colon of minutes.
const WITHIN: [char; 9] = [
    '.', ',', '\'', '’', '\u{a0}', '\u{202f}', '\u{2009}', ':', '٫',
];

/// Returns the number matched by the group of a pattern, with its exponent.
pub(super) fn read(text: &str, group: Range<usize>, pattern: &str) -> Result<f64, String> {
    let range = group.start..end_of_exponent(text, group);
    let matched = &text[range.clone()];
    let whole = start(text, range.start, pattern)..end(text, range.end, pattern);
    if whole != range && matched.contains(is_digit) {
        return Err(format!(
            "`{matched}` is a piece of `{}`; let the group match the whole number, which has a \
             decimal point and no other mark",
            &text[whole]
        ));
    }
    match matched.parse::<f64>() {
        Ok(value) if value.is_finite() => Ok(value),
        _ => Err(format!("`{matched}` is not a number")),
    }
}

/// Returns the end of `e+05` after a mantissa, otherwise the end of the group.
pub(super) fn end_of_exponent(text: &str, group: Range<usize>) -> usize {
    let exponent = || {
        text[group.clone()].parse::<f64>().ok()?;
        let signed = text[group.end..].strip_prefix(['e', 'E'])?;
        let digits = signed.strip_prefix(['+', '-']).unwrap_or(signed);
        let rest = digits.trim_start_matches(is_digit);
        let is_whole = rest.len() < digits.len() && !rest.starts_with(char::is_alphanumeric);
        is_whole.then(|| text.len() - rest.len())
    };
    exponent().unwrap_or(group.end)
}

/// Returns the end of a number that continues after a group.
fn end(text: &str, from: usize, pattern: &str) -> usize {
    let mut end = from;
    // A group that ends with a letter does not end in a number.
    if !text[..from].ends_with(is_digit) {
        return end;
    }
    if let Some(hexadecimal) = text[end..].strip_prefix(['x', 'X'])
        && text[..end].ends_with('0')
        && hexadecimal.starts_with(|it: char| it.is_ascii_hexdigit())
    {
        let rest = hexadecimal.trim_start_matches(|it: char| it.is_ascii_hexdigit());
        return text.len() - rest.len();
    }
    loop {
        let mut letters = text[end..].chars();
        end += match (letters.next(), letters.next()) {
            (Some(digit), _) if is_digit(digit) => digit.len_utf8(),
            (Some(mark), Some(digit))
                if WITHIN.contains(&mark)
                    && is_digit(digit)
                    && !(end == from && stands_behind(pattern, mark)) =>
            {
                mark.len_utf8()
            }
            _ => return end,
        };
    }
}

/// Returns the start of a number that began before a group.
fn start(text: &str, from: usize, pattern: &str) -> usize {
    let mut start = from;
    if !text[from..].starts_with(is_digit) {
        return start;
    }
    loop {
        let mut letters = text[..start].chars().rev();
        start -= match (letters.next(), letters.next(), letters.next()) {
            (Some(digit), ..) if is_digit(digit) => digit.len_utf8(),
            (Some(mark), Some(digit), _)
                if WITHIN.contains(&mark)
                    && is_digit(digit)
                    && !(start == from && stands_before(pattern, mark)) =>
            {
                mark.len_utf8()
            }
            (Some('+' | '-'), Some('e' | 'E'), Some(digit)) if is_digit(digit) => 2,
            (Some(sign @ ('-' | '−')), before, _) if is_sign(sign, before) => {
                let is_separator = start == from && stands_before(pattern, sign);
                return start - if is_separator { 0 } else { sign.len_utf8() };
            }
            _ => return start,
        };
    }
}

/// Returns true if a pattern itself contains the mark after its group, so that it separates two numbers.
fn stands_behind(pattern: &str, mark: char) -> bool {
    pattern.contains(&format!(")\\{mark}")) || mark != '.' && pattern.contains(&format!("){mark}"))
}

/// Returns true if a pattern itself contains the mark before its group.
fn stands_before(pattern: &str, mark: char) -> bool {
    pattern.contains(&format!("\\{mark}(")) || mark != '.' && pattern.contains(&format!("{mark}("))
}

/// Returns true if a dash is a sign, not a hyphen in a word or ruler.
fn is_sign(dash: char, before: Option<char>) -> bool {
    before.is_none_or(|it| !it.is_alphanumeric() && it != dash)
}

fn is_digit(letter: char) -> bool {
    letter.is_ascii_digit()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The number of the first match.
    fn first(pattern: &str, text: &str) -> Result<f64, String> {
        let found = regex::Regex::new(pattern).expect("a pattern");
        let captures = found.captures(text).expect("a match");
        read(text, captures.get(1).expect("a group").range(), pattern)
    }

    #[test]
    fn a_piece_of_a_number_is_no_number() {
        let german = include_str!(concat!(
            env!("CARGO_MANIFEST_DIR"),
            "/../../fixtures/loadgen/dd-de.txt"
        ));
        let cases = [
            ("([0-9.]+) GB/s", german, "2,1"),
            ("rate ([0-9.]+)", "rate 1,205 1/s", "1,205"),
            ("rate ([0-9]+)", "rate 12.5 1/s", "12.5"),
            ("([0-9]+) ms", "12.5 ms", "12.5"),
            ("([0-9]+) ms", "1'234'567 ms", "1'234'567"),
            ("([0-9.]+) ms", "took -5.5 ms", "-5.5"),
            ("([0-9.]+)$", "0x1f\nx 1.5e+07", "1.5e+07"),
            ("is ([0-9]+)", "is 0x1f", "0x1f"),
            ("Elapsed ([0-9.]+)", "Elapsed 1:23.45", "1:23.45"),
            (".*([0-9.]+) GB/s", german, "2,1"),
        ];
        for (pattern, text, whole) in cases {
            let error = first(pattern, text).expect_err(text);
            assert!(error.contains(&format!("a piece of `{whole}`")), "{error}");
        }
    }

    #[test]
    fn a_whole_number_is_read() {
        let cases = [
            ("rate ([0-9.]+)", "rate 1.1628e+05 1/s", 116_280.0),
            ("rate ([0-9.]+)", "rate 2E-3,", 0.002),
            ("took ([0-9.]+)", "it took 5, then 6", 5.0),
            ("took ([0-9.]+)", "it took 5.", 5.0),
            ("([0-9.]+)ms", "run-5ms", 5.0),
            ("^([0-9.]+),", "1.5,7,9", 1.5),
            (r"^[0-9.]+,([0-9.]+),", "1.5,7,9", 7.0),
            (r"v1\.([0-9]+)\.", "v1.23.4", 23.0),
            ("p99_([0-9.]+)ms", "p99_5.5ms", 5.5),
            ("x=(-?[0-9.]+)", "x=-5.5", -5.5),
            ("([0-9]+)ex", "5examples", 5.0),
        ];
        for (pattern, text, value) in cases {
            assert_eq!(first(pattern, text), Ok(value), "{text}");
        }
        assert_eq!(
            first("n=(.*)$", "n=abc"),
            Err("`abc` is not a number".to_owned())
        );
    }
}
