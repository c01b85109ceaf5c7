//! A page: one HTML file that asks for nothing else, with the record or recording inside from
//! which it was made.

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
/// How a page begins, so that it is told from a record.
const BEGIN: &str = "<!doctype html>\n<!-- hugewise-page 1 -->\n";
const SOURCE_BEGIN: &str = "<template id=\"hugewise-record\">";
const SOURCE_END: &str = "</template>";
/// Larger recordings are left out: browsers read all of a page before they show it.
pub const MOST_BYTES: usize = 64 << 20;
/// So many times the page is what it holds at most, beyond what any page may hold.
const MOST_RATIO: usize = 16;
/// What any page may hold.
const ALWAYS_BYTES: usize = 32 << 20;

/// Returns to how many bytes the record in a page of this size may unpack: a page of somebody else must not fill memory.
fn most_unpacked(page: usize) -> usize {
    page.saturating_mul(MOST_RATIO)
        .clamp(ALWAYS_BYTES, MOST_BYTES)
}

/// What a page shows.
#[derive(Clone, Copy, Debug)]
pub struct Page<'a> {
    /// Its title.
    pub title: &'a str,
    /// What it says; figures follow the first section, which has the answer.
    pub document: &'a Document,
    /// The pictures, in order.
    pub figures: &'a [Figure],
    /// Pictures of details, which are folded.
    pub further: &'a [Figure],
    /// The bytes of the record or recording, to be read back by [`source`].
    pub source: &'a [u8],
    /// The command that reports again from a file; empty where a page is drawn from files that stay
    /// where they are, and holds none of them.
    pub again: &'a str,
}

/// A command as it stands in a title; the whole of it stands below.
#[must_use]
pub fn command_in_title(words: &[String]) -> String {
    const LONGEST: usize = 100;
    short_command(words, LONGEST)
}

/// Draws a page. The same page has the same bytes.
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

/// What it was made from, with the command that reads it.
fn source_in(page: &Page<'_>) -> String {
    if page.again.is_empty() {
        return "<footer><p>The records stay in their files; they are not in this page.</p></footer>\n"
            .to_owned();
    }
    let source = match page.source.len() {
        0..=MOST_BYTES => packed(page.source),
        _ => String::new(),
    };
    // What could not be read back is left out.
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

/// The picture with its caption and its numbers.
fn drawing(figure: &Figure) -> String {
    let caption = xml_escaped(&figure.caption);
    let numbers = fold("Numbers", &table(&figure.table));
    format!(
        "<figure>\n<div class=\"scroll\" tabindex=\"0\">\n{}</div>\n\
         <figcaption>{caption}</figcaption>\n</figure>\n{numbers}",
        figure.svg
    )
}

/// Why a page cannot be reported again.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PageError {
    /// It holds no record or recording.
    #[error("this page holds no record")]
    Missing,
    /// What it holds was changed or cut short.
    #[error("the record in this page is damaged")]
    Damaged,
    /// What it holds was made to fill memory.
    #[error(
        "the record in this page takes more than {}, and more than {MOST_RATIO} times the page: it was made to \
         fill memory; give the record itself",
        bytes_text(ALWAYS_BYTES as u64)
    )]
    TooLarge,
    /// There is not enough memory.
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

/// Whether a file with this beginning is a page.
#[must_use]
pub fn is_page(beginning: &[u8]) -> bool {
    beginning.starts_with(BEGIN.as_bytes())
}

/// The commands that report a page again. What a page says itself is never recommended: it may be
/// somebody else's.
const AGAIN: [&str; 7] = [
    "hugewise report",
    "hugewise report --across",
    "hugewise stat --replay",
    "hugewise faults --replay",
    "hugewise trace --replay",
    "hugewise inspect --from",
    "hugewise attribute --from",
];

/// The command that reports a page again; `None` for bytes that are no page, a page that holds
/// nothing, and a page that names another command.
#[must_use]
pub fn again(bytes: &[u8]) -> Option<&'static str> {
    let page = std::str::from_utf8(bytes).ok().filter(|_| is_page(bytes))?;
    // Text of users is escaped and comes before it.
    let (_, end) = page.rsplit_once("<footer>")?;
    let (_, command) = end.split_once("<code>")?;
    let (command, _) = command.split_once(" FILE</code>")?;
    AGAIN.into_iter().find(|known| *known == command)
}

/// The bytes of the record or recording in a page; other bytes as they are.
///
/// # Errors
/// The page holds none, or a damaged one.
pub fn source(bytes: Vec<u8>) -> Result<Vec<u8>, PageError> {
    match is_page(&bytes) {
        true => source_of(&bytes),
        false => Ok(bytes),
    }
}

fn source_of(page: &[u8]) -> Result<Vec<u8>, PageError> {
    let text = std::str::from_utf8(page).map_err(|_| PageError::Damaged)?;
    // Text of users is escaped and comes before it.
    let (_, rest) = text.rsplit_once(SOURCE_BEGIN).ok_or(PageError::Missing)?;
    let (packed, _) = rest.split_once(SOURCE_END).ok_or(PageError::Damaged)?;
    Ok(unpacked(packed, most_unpacked(page.len()))?)
}
