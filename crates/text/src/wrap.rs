//! Text for a terminal, wrapped at a width in terminal columns.

use textwrap::core::Word;
use textwrap::{WordSeparator, WordSplitter, WrapAlgorithm};
use unicode_width::UnicodeWidthStr;

pub use hugewise_base::plain::{plain, plain_lines};
pub use hugewise_base::shell::{quoted, quoted_words};

/// Returns the width of a text in terminal columns.
#[must_use]
pub fn display_width(text: &str) -> usize {
    text.width()
}

/// Returns the text with its first letter in upper case.
#[must_use]
pub fn capitalised(text: &str) -> String {
    let mut letters = text.chars();
    let first = letters.next().map(|first| first.to_ascii_uppercase());
    first.into_iter().chain(letters).collect()
}

/// Pads the text with spaces at the end to `columns`.
#[must_use]
pub fn padded(text: &str, columns: usize) -> String {
    let gap = columns.saturating_sub(display_width(text));
    format!("{text}{}", " ".repeat(gap))
}

/// Shortens to at most `width` columns, with `…` for the omitted part.
#[must_use]
pub fn shortened(text: &str, width: usize) -> String {
    if display_width(text) <= width {
        return text.to_owned();
    }
    let mut short = String::new();
    for c in text.chars() {
        short.push(c);
        if display_width(&short) >= width {
            short.pop();
            break;
        }
    }
    short.push('…');
    short
}

/// Returns a command line in at most `width` columns, as one printable line. A longer one first loses the folder of its
/// program, then words in its middle. The ends stay: the program's name and its subject, such as a Java class.
#[must_use]
pub fn short_command(words: &[String], width: usize) -> String {
    let line = plain(&words.join(" "));
    if display_width(&line) <= width {
        return line;
    }
    let (program, rest) = line.split_once(' ').unwrap_or((&line, ""));
    let name = program.rsplit('/').next().unwrap_or(program);
    let line = format!("{name} {}", with_short_end(rest));
    let line = line.trim_end();
    without_middle(line, width).unwrap_or_else(|| shortened(line, width))
}

/// Removes the folders of the last word.
fn with_short_end(words: &str) -> String {
    let (before, last) = words.rsplit_once(' ').unwrap_or(("", words));
    // Device names are only clear with their folder.
    if last.starts_with("/dev/") {
        return words.to_owned();
    }
    let file = last.rsplit('/').find(|it| !it.is_empty()).unwrap_or(last);
    format!("{before} {file}").trim_start().to_owned()
}

/// Keeps as many words at the beginning and the end as fit, with at most a third of the width for the end. `None` if
/// the last word is longer than that, or if everything fits.
fn without_middle(line: &str, width: usize) -> Option<String> {
    if display_width(line) <= width {
        return None;
    }
    let fits = |text: &str, most: usize| display_width(text) <= most;
    let starts = line.match_indices(' ').map(|(at, _)| at + 1);
    let end = starts
        .map(|at| &line[at..])
        .find(|it| fits(it, width / 3))?;
    let room = width.checked_sub(display_width(end) + 3)?;
    let mut ends = line.match_indices(' ').map(|(at, _)| &line[..at]).rev();
    let begin = ends.find(|it| fits(it, room))?;
    Some(format!("{begin} … {end}"))
}

/// Breaks text at spaces into lines of at most `width` columns, all but the first indented by `indent`. Longer words
/// are broken. A number stays with its unit, as in `19.8 %` and `4.21 s`.
#[must_use]
pub fn wrapped(text: &str, width: usize, indent: usize) -> Vec<String> {
    let lead = " ".repeat(indent);
    let options = textwrap::Options::new(width.max(indent + 8)).subsequent_indent(&lead);
    parted(text, options)
}

/// Wraps without an indent, and keeps longer words whole: a broken flag or path cannot be pasted.
#[must_use]
pub fn wrapped_at_spaces(text: &str, width: usize) -> Vec<String> {
    parted(text, textwrap::Options::new(width).break_words(false))
}

fn parted(text: &str, options: textwrap::Options<'_>) -> Vec<String> {
    let options = options
        .word_separator(WordSeparator::Custom(words))
        .word_splitter(WordSplitter::NoHyphenation)
        .wrap_algorithm(WrapAlgorithm::FirstFit);
    let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
    let lines = textwrap::wrap(&text, options).into_iter();
    lines.map(|line| line.into_owned()).collect()
}

/// Splits a text into pieces between which a line can break.
fn words(text: &str) -> Box<dyn Iterator<Item = Word<'_>> + '_> {
    let mut rest = text;
    Box::new(std::iter::from_fn(move || {
        if rest.is_empty() {
            return None;
        }
        let end = rest
            .match_indices(' ')
            .map(|(index, _)| index)
            .find(|&index| !joins(&rest[..index], &rest[index + 1..]))
            .map_or(rest.len(), |index| index + 1);
        let (word, after) = rest.split_at(end);
        rest = after;
        Some(Word::from(word))
    }))
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

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn numbers_stay_with_their_units() {
        let text = "it is about 19.8 % faster";
        assert_eq!(wrapped(text, 17, 0), ["it is about", "19.8 % faster"]);
    }

    #[test]
    fn wide_letters_take_two_columns() {
        assert_eq!(display_width("日本"), 4);
        assert_eq!(shortened("日本語", 4), "日…");
        assert_eq!(padded("日", 4), "日  ");
    }

    #[test]
    fn a_command_keeps_its_program_and_what_it_works_on() {
        let short = |line: &str| {
            let words: Vec<String> = line.split(' ').map(str::to_owned).collect();
            short_command(&words, 30)
        };
        assert_eq!(
            short("/usr/bin/sort -n words.txt"),
            "/usr/bin/sort -n words.txt"
        );
        assert_eq!(
            short("/usr/lib/jvm/17/bin/java -Xmx1g Big"),
            "java -Xmx1g Big"
        );
        assert_eq!(
            short("java -Xmx1g -XX:+UseG1GC -XX:+AlwaysPreTouch Big"),
            "java -Xmx1g -XX:+UseG1GC … Big"
        );
        assert_eq!(
            short("cat a-file-whose-name-is-longer-than-the-line"),
            "cat a-file-whose-name-is-long…"
        );
    }

    proptest! {
        #[test]
        fn a_short_command_fits(line in "[a-z/ é]{0,90}", width in 1_usize..60) {
            prop_assert!(display_width(&short_command(&[line], width)) <= width);
        }

        #[test]
        fn no_line_is_wider_and_no_word_is_lost(text in "[a-z%0-9 …é]{0,200}", width in 20_usize..90) {
            let lines = wrapped(&text, width, 4);
            for line in &lines {
                prop_assert!(display_width(line) <= width, "{line:?}");
            }
            let squeeze = |text: &str| text.split_whitespace().collect::<String>();
            prop_assert_eq!(squeeze(&lines.join(" ")), squeeze(&text));
        }

        #[test]
        fn shortened_text_fits(text in ".{0,60}", width in 1_usize..40) {
            prop_assert!(display_width(&shortened(&text, width)) <= width);
        }
    }
}
