//! A page: one HTML file that asks for nothing else, with the record inside from which it was
//! made.

use data_encoding::BASE64;
use miniz_oxide::deflate::compress_to_vec_zlib;
use miniz_oxide::inflate::decompress_to_vec_zlib_with_limit;

use super::document::Document;
use super::figure::Figure;
use super::html::{fold, table, to_html};
use super::svg::STYLE as FIGURES;
use super::xml_escaped;

#[cfg(test)]
mod tests;

const STYLE: &str = include_str!("style.css");
/// How a page begins, so that it is told from a record.
const BEGIN: &str = "<!doctype html>\n<!-- hugewise-page 1 -->\n";
const RECORD_BEGIN: &str = "<template id=\"hugewise-record\">";
const RECORD_END: &str = "</template>";
/// Records are smaller; a page that unpacks to more was made to fill memory.
const MOST_BYTES: usize = 1 << 30;
/// Slow and small: a page is written once.
const LEVEL: u8 = 9;

/// What a page shows.
#[derive(Clone, Copy, Debug)]
pub struct Page<'a> {
    /// Its title.
    pub title: &'a str,
    /// What it says; figures follow the first section, which has the answer.
    pub document: &'a Document,
    /// The pictures, in order.
    pub figures: &'a [Figure],
    /// The bytes of the record, to be read back by [`record`].
    pub record: &'a [u8],
}

/// Draws a page. The same page has the same bytes.
#[must_use]
pub fn to_page(page: &Page<'_>) -> String {
    let (answer, rest) = page
        .document
        .sections
        .split_at(page.document.sections.len().min(1));
    let [answer, rest] = [answer, rest].map(|part| to_html(&Document::new(part.to_vec())));
    let figures: String = page.figures.iter().map(figure).collect();
    let title = xml_escaped(page.title);
    let record = BASE64.encode(&compress_to_vec_zlib(page.record, LEVEL));
    format!(
        "{BEGIN}<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'; img-src data:\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <meta name=\"color-scheme\" content=\"light dark\">\n<link rel=\"icon\" href=\"data:,\">\n\
         <title>{title}</title>\n<style>\n{STYLE}{FIGURES}</style>\n</head>\n<body>\n\
         <a class=\"skip\" href=\"#answer\">Skip to the answer</a>\n\
         <header><h1>{title}</h1></header>\n<main id=\"answer\" tabindex=\"-1\">\n\
         {answer}{figures}{rest}</main>\n\
         {RECORD_BEGIN}{record}{RECORD_END}\n</body>\n</html>\n"
    )
}

fn figure(figure: &Figure) -> String {
    let [id, title, caption] =
        [&figure.id, &figure.title, &figure.caption].map(|it| xml_escaped(it));
    let numbers = fold("Numbers", &table(&figure.table));
    format!(
        "<section id=\"{id}\">\n<h2>{title}</h2>\n<figure>\n{}\n<figcaption>{caption}</figcaption>\n\
         </figure>\n{numbers}</section>\n",
        figure.svg
    )
}

/// Why the record in a page cannot be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PageError {
    /// There is none.
    #[error("this page holds no record")]
    Missing,
    /// It was changed or cut short.
    #[error("the record in this page is damaged")]
    Damaged,
}

/// The bytes of the record in a page; `None` where the bytes are no page.
pub fn record(bytes: &[u8]) -> Option<Result<Vec<u8>, PageError>> {
    bytes.starts_with(BEGIN.as_bytes()).then(|| unpacked(bytes))
}

fn unpacked(page: &[u8]) -> Result<Vec<u8>, PageError> {
    let text = std::str::from_utf8(page).map_err(|_| PageError::Damaged)?;
    // Text of users is escaped and comes before it.
    let (_, rest) = text.rsplit_once(RECORD_BEGIN).ok_or(PageError::Missing)?;
    let (packed, _) = rest.split_once(RECORD_END).ok_or(PageError::Damaged)?;
    let packed = BASE64
        .decode(packed.as_bytes())
        .map_err(|_| PageError::Damaged)?;
    decompress_to_vec_zlib_with_limit(&packed, MOST_BYTES).map_err(|_| PageError::Damaged)
}
