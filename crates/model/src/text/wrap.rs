//! Text for a terminal: no control characters, wrapped at a width.

/// Text from outside (a command, a name, what a program wrote), made fit for one line of a
/// terminal: control characters are shown as escapes, not obeyed.
#[must_use]
pub fn plain(text: &str) -> String {
    let mut plain = String::with_capacity(text.len());
    for c in text.chars() {
        if c.is_control() || is_direction_mark(c) {
            plain.extend(c.escape_default());
        } else {
            plain.push(c);
        }
    }
    plain
}

/// Marks that reorder what follows can make a report say something else than it does.
fn is_direction_mark(c: char) -> bool {
    matches!(c, '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

/// At most `width` characters, with `…` where something was left out.
#[must_use]
pub fn shortened(text: &str, width: usize) -> String {
    if text.chars().count() <= width {
        return text.to_owned();
    }
    let mut short: String = text.chars().take(width.saturating_sub(1)).collect();
    short.push('…');
    short
}

/// Breaks text at spaces into lines of at most `width` characters, all but the first after
/// `indent` spaces. A word that is longer than a line is broken.
#[must_use]
pub fn wrapped(text: &str, width: usize, indent: usize) -> Vec<String> {
    let width = width.max(indent + 8);
    let mut lines = Vec::new();
    let mut line = String::new();
    let mut used = 0;
    for word in words(text) {
        for piece in pieces(word, width - indent) {
            let size = piece.chars().count();
            let gap = usize::from(used > 0 && !line.trim().is_empty());
            if used + gap + size > width && !line.trim().is_empty() {
                lines.push(std::mem::take(&mut line));
                line.push_str(&" ".repeat(indent));
                used = indent;
            } else if gap == 1 {
                line.push(' ');
                used += 1;
            }
            line.push_str(&piece);
            used += size;
        }
    }
    lines.push(line);
    lines
}

/// Words that may be parted: a number stays with its unit, as in `19.8 %` and `4.21 s`.
fn words(text: &str) -> impl Iterator<Item = &str> {
    let mut rest = text.trim();
    std::iter::from_fn(move || {
        if rest.is_empty() {
            return None;
        }
        let end = rest
            .match_indices(' ')
            .map(|(index, _)| index)
            .find(|&index| !joins(&rest[..index], &rest[index + 1..]))
            .unwrap_or(rest.len());
        let (word, after) = rest.split_at(end);
        rest = after.trim_start();
        Some(word)
    })
}

fn joins(before: &str, after: &str) -> bool {
    let number = before
        .rsplit(' ')
        .next()
        .is_some_and(|word| word.ends_with(|c: char| c.is_ascii_digit()));
    let unit = after
        .split([' ', '.', ',', ';', ':', ')', ']'])
        .next()
        .unwrap_or("");
    number
        && matches!(
            unit,
            "%" | "s" | "ms" | "µs" | "ns" | "B" | "KiB" | "MiB" | "GiB" | "k" | "M"
        )
}

fn pieces(word: &str, width: usize) -> Vec<String> {
    let chars: Vec<char> = word.chars().collect();
    chars
        .chunks(width.max(1))
        .map(|piece| piece.iter().collect())
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn escapes_are_shown_not_obeyed() {
        assert_eq!(plain("a\u{1b}[2Jb\u{202e}c\n"), "a\\u{1b}[2Jb\\u{202e}c\\n");
    }

    #[test]
    fn numbers_stay_with_their_units() {
        let text = "it is about 19.8 % faster";
        assert_eq!(wrapped(text, 17, 0), ["it is about", "19.8 % faster"]);
    }

    proptest! {
        #[test]
        fn no_line_is_wider_and_no_word_is_lost(text in "[a-z%0-9 …é]{0,200}", width in 20_usize..90) {
            let lines = wrapped(&text, width, 4);
            for line in &lines {
                prop_assert!(line.chars().count() <= width, "{line:?}");
            }
            let squeeze = |text: &str| text.split_whitespace().collect::<String>();
            prop_assert_eq!(squeeze(&lines.join(" ")), squeeze(&text));
        }

        #[test]
        fn shortened_text_fits(text in ".{0,60}", width in 1_usize..40) {
            prop_assert!(shortened(&text, width).chars().count() <= width);
        }
    }
}
