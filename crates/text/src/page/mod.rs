//! A page: one self-contained HTML file that embeds the record or recording from which it was made.

use super::document::Document;
use super::figure::Figure;
use super::html::{fold, table, to_html};
use super::svg::STYLE as FIGURES;
use super::wrap::short_command;
use super::xml_escaped;
use hugewise_base::units::bytes_text;

mod packing;
#[cfg(test)]
mod tests;

use packing::{Trouble, packed, unpacked};

const STYLE: &str = include_str!("style.css");
/// The beginning of a page, which distinguishes it from a record.
const BEGIN: &str = "<!doctype html>\n<!-- hugewise-page 1 -->\n";
const SOURCE_BEGIN: &str = "<template id=\"hugewise-record\">";
const SOURCE_END: &str = "</template>";
/// Larger recordings are left out: browsers read the whole page before they show it.
pub const MOST_BYTES: usize = 64 << 20;
/// The largest ratio of unpacked content to page size, for content above [`ALWAYS_BYTES`].
const MOST_RATIO: usize = 16;
/// Content of up to this size is always allowed.
const ALWAYS_BYTES: usize = 32 << 20;

/// Returns the largest unpacked size of a record in a page of this size: a foreign page must not fill memory.
fn most_unpacked(page: usize) -> usize {
    page.saturating_mul(MOST_RATIO)
        .clamp(ALWAYS_BYTES, MOST_BYTES)
}

/// The contents of a page.
#[derive(Clone, Copy, Debug)]
pub struct Page<'a> {
    /// Its title.
    pub title: &'a str,
    /// The text. The figures follow its first section, which has the answer.
    pub document: &'a Document,
    /// The pictures, in order.
    pub figures: &'a [Figure],
    /// Figures for the details, which are folded.
    pub further: &'a [Figure],
    /// The bytes of the record or recording, which [`source`] reads back.
    pub source: &'a [u8],
    /// The command that reports from a file again. Empty if the page is drawn from files that remain in place and are
    /// not embedded.
    pub again: &'a str,
}

/// Returns a command for a title; the full command is shown below it.
#[must_use]
pub fn command_in_title(words: &[String]) -> String {
    const LONGEST: usize = 100;
    short_command(words, LONGEST)
}

/// Draws a page. The same input gives the same bytes.
#[must_use]
pub fn to_page(page: &Page<'_>) -> String {
    let (answer, rest) = page
        .document
        .sections
        .split_at(page.document.sections.len().min(1));
    let [answer, rest] = [answer, rest].map(|part| to_html(&Document::new(part.to_vec())));
    let figures = page.figures.iter().map(figure);
    let figures: String = figures.chain(page.further.iter().map(folded)).collect();
    let title = xml_escaped(page.title);
    let source = source_in(page);
    format!(
        "{BEGIN}<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'; img-src data:\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <meta name=\"color-scheme\" content=\"light dark\">\n<link rel=\"icon\" href=\"data:,\">\n\
         <title>{title}</title>\n<style>\n{STYLE}{FIGURES}</style>\n</head>\n<body>\n\
         <a class=\"skip\" href=\"#answer\">Skip to the answer</a>\n\
         <header><h1>{title}</h1></header>\n<main id=\"answer\" tabindex=\"-1\">\n\
         {answer}{figures}{rest}</main>\n\
         {source}</body>\n</html>\n"
    )
}

/// Returns the embedded source, with the command that reads it.
fn source_in(page: &Page<'_>) -> String {
    if page.again.is_empty() {
        return "<footer><p>The records stay in their files; they are not in this page.</p></footer>\n"
            .to_owned();
    }
    let source = match page.source.len() {
        0..=MOST_BYTES => packed(page.source),
        _ => String::new(),
    };
    // A source too large to be read back is left out.
    let most = most_unpacked(source.len());
    if page.source.len() > most {
        let most = bytes_text(most as u64);
        return format!(
            "<footer><p>The recording is not in this page: it is larger than {most}.</p></footer>\n"
        );
    }
    let again = xml_escaped(page.again);
    format!(
        "<footer><p>This page holds what was measured. To report it again: \
         <code>{again} FILE</code>, with this file.</p></footer>\n\
         {SOURCE_BEGIN}{source}{SOURCE_END}\n"
    )
}

fn figure(figure: &Figure) -> String {
    let [id, title] = [&figure.id, &figure.title].map(|it| xml_escaped(it));
    let inside = drawing(figure);
    format!("<section id=\"{id}\">\n<h2>{title}</h2>\n{inside}</section>\n")
}

fn folded(figure: &Figure) -> String {
    let id = xml_escaped(&figure.id);
    let inside = fold(&figure.title, &drawing(figure));
    format!("<section id=\"{id}\">\n{inside}</section>\n")
}

/// Returns the picture with its caption and its numbers.
fn drawing(figure: &Figure) -> String {
    let caption = xml_escaped(&figure.caption);
    let numbers = fold("Numbers", &table(&figure.table));
    format!(
        "<figure>\n<div class=\"scroll\" tabindex=\"0\">\n{}</div>\n\
         <figcaption>{caption}</figcaption>\n</figure>\n{numbers}",
        figure.svg
    )
}

/// The reasons why a page cannot be reported again.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PageError {
    /// The page holds no record or recording.
    #[error("this page holds no record")]
    Missing,
    /// The embedded record was changed or truncated.
    #[error("the record in this page is damaged")]
    Damaged,
    /// The embedded record was made to fill memory.
    #[error(
        "the record in this page takes more than {}, and more than {MOST_RATIO} times the page: it was made to \
         fill memory; give the record itself",
        bytes_text(ALWAYS_BYTES as u64)
    )]
    TooLarge,
    /// The machine does not have enough memory.
    #[error("there is not enough memory for the record in this page; give the record itself")]
    NoMemory,
}

impl From<Trouble> for PageError {
    fn from(trouble: Trouble) -> Self {
        match trouble {
            Trouble::Damaged => Self::Damaged,
            Trouble::TooLarge => Self::TooLarge,
            Trouble::NoMemory => Self::NoMemory,
        }
    }
}

/// Returns true if a file with this beginning is a page.
#[must_use]
pub fn is_page(beginning: &[u8]) -> bool {
    beginning.starts_with(BEGIN.as_bytes())
}

/// The commands that report a page again. A command from the page itself is never recommended: the page could be
/// hostile.
const AGAIN: [&str; 7] = [
    "hugewise report",
    "hugewise report --across",
    "hugewise stat --replay",
    "hugewise faults --replay",
    "hugewise trace --replay",
    "hugewise inspect --from",
    "hugewise attribute --from",
];

/// Returns the command that reports a page again. `None` if the bytes are not a page, embed nothing, or name another
/// command.
#[must_use]
pub fn again(bytes: &[u8]) -> Option<&'static str> {
    let page = std::str::from_utf8(bytes).ok().filter(|_| is_page(bytes))?;
    // Text from users is escaped and comes before it.
    let (_, end) = page.rsplit_once("<footer>")?;
    let (_, command) = end.split_once("<code>")?;
    let (command, _) = command.split_once(" FILE</code>")?;
    AGAIN.into_iter().find(|known| *known == command)
}

/// Returns the record or recording embedded in a page; other bytes are returned unchanged.
///
/// # Errors
/// The page embeds nothing, or something damaged.
pub fn source(bytes: Vec<u8>) -> Result<Vec<u8>, PageError> {
    match is_page(&bytes) {
        true => source_of(&bytes),
        false => Ok(bytes),
    }
}

fn source_of(page: &[u8]) -> Result<Vec<u8>, PageError> {
    let text = std::str::from_utf8(page).map_err(|_| PageError::Damaged)?;
    // Text from users is escaped and comes before it.
    let (_, rest) = text.rsplit_once(SOURCE_BEGIN).ok_or(PageError::Missing)?;
    let (packed, _) = rest.split_once(SOURCE_END).ok_or(PageError::Damaged)?;
    Ok(unpacked(packed, most_unpacked(page.len()))?)
}
