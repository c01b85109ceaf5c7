//! A column of a table (RFC 4180), one request a row.

use std::borrow::Cow;

use super::requests::{Collected, Fields};
use super::{LoadReport, ReadError};

/// The separators of cells, the usual one first.
const SEPARATORS: [char; 3] = [',', ';', '\t'];

pub(super) fn parse(bytes: &[u8], fields: Fields<'_>) -> Result<LoadReport, ReadError> {
    let text = String::from_utf8_lossy(bytes);
    let column = fields.latency;
    let wanted = fields.names();
    let by_name = wanted.iter().any(|name| number(name).is_none());
    let separator = separator(&text, &wanted, by_name)?;
    let mut rows = Table::new(&text, separator).peekable();
    let heading = match by_name {
        true => rows.next().transpose()?,
        false => None,
    };
    let places = wanted
        .iter()
        .map(|name| Ok((*name, place(name, heading.as_ref())?)));
    let places: Vec<(&str, usize)> = places.collect::<Result<_, ReadError>>()?;
    let mut all = Collected::new(fields);
    while let Some(row) = rows.next() {
        let added = row.and_then(|Row { line, cells }| {
            let cell = |name: &str| {
                let place = places.iter().find(|it| it.0 == name).map(|it| it.1);
                let found = place.and_then(|at| cells.get(at));
                let found = found.ok_or_else(|| {
                    let problem = format!("the row has {} cells", cells.len());
                    ReadError::at(line, column, problem)
                })?;
                Ok(match separator {
                    ',' => Cow::Owned(found.clone()),
                    _ => Cow::Owned(with_point(found)),
                })
            };
            all.add(line, cell)
        });
        // A killed writer leaves a torn last row.
        let is_torn = added.is_err() && rows.peek().is_none() && !text.ends_with('\n');
        if !(is_torn && all.has_some()) {
            added?;
        }
    }
    all.report()
}

/// Returns the position of a column given as a number.
fn number(column: &str) -> Option<usize> {
    column.parse::<usize>().ok()?.checked_sub(1)
}

/// The position of a column in every row.
fn place(column: &str, heading: Option<&Row>) -> Result<usize, ReadError> {
    if let Some(place) = number(column) {
        return Ok(place);
    }
    let Row { line, cells } = heading.ok_or_else(|| ReadError::of(column, "the table is empty"))?;
    let found = cells.iter().position(|name| name.trim() == column);
    found.ok_or_else(|| {
        let names = cells.join(", ");
        ReadError::at(
            *line,
            column,
            format!("no column has that name; there are: {names}"),
        )
    })
}

/// Returns the separator of cells. It is valid if the heading contains the columns, or the first row has a number in
/// its column.
fn separator(text: &str, wanted: &[&str], by_name: bool) -> Result<char, ReadError> {
    let first = |separator| Table::new(text, separator).next()?.ok();
    if by_name {
        let has_all = |separator: &char| {
            let heading = first(*separator);
            wanted
                .iter()
                .all(|name| place(name, heading.as_ref()).is_ok())
        };
        return Ok(SEPARATORS.into_iter().find(has_all).unwrap_or(','));
    }
    let at = number(wanted[0]).unwrap_or(0);
    let numbers = SEPARATORS.into_iter().filter_map(|separator| {
        let cells = first(separator)?.cells;
        let cell = cells
            .get(at)
            .filter(|_| cells.len() > 1 || separator == ',')?;
        let plain = match separator {
            ',' => cell.clone(),
            _ => with_point(cell),
        };
        super::number(&plain).map(|_| (separator, cell.trim().to_owned()))
    });
    let numbers: Vec<(char, String)> = numbers.collect();
    match numbers.as_slice() {
        [(_, one), .., (_, other)] if one != other => {
            let problem = format!(
                "`{one}` or `{other}`: it is not clear what parts the cells; give the table a first \
                 line with names, or write a decimal point"
            );
            Err(ReadError::at(1, wanted[0], problem))
        }
        [(separator, _), ..] => Ok(*separator),
        [] => Ok(','),
    }
}

/// Returns a number with a decimal point. A comma that separates no cells is a decimal comma.
fn with_point(cell: &str) -> String {
    let is_number = cell
        .trim()
        .bytes()
        .all(|byte| byte.is_ascii_digit() || byte == b',');
    match is_number && cell.matches(',').count() == 1 {
        true => cell.replace(',', "."),
        false => cell.to_owned(),
    }
}

/// One row.
pub(super) struct Row {
    /// Its first line, from 1.
    pub(super) line: usize,
    pub(super) cells: Vec<String>,
}

/// The non-empty rows of a table. A quoted cell may contain separators, doubled quotes and line breaks.
pub(super) struct Table<'a> {
    rest: &'a str,
    line: usize,
    separator: char,
}

impl<'a> Table<'a> {
    pub(super) fn new(text: &'a str, separator: char) -> Self {
        Self {
            rest: text,
            line: 1,
            separator,
        }
    }

    /// The next cell, and whether it ends its row.
    fn cell(&mut self) -> Result<(String, bool), ReadError> {
        let mut cell = String::new();
        let quoted = self.rest.trim_start_matches(' ').strip_prefix('"');
        if let Some(quoted) = quoted {
            self.rest = quoted;
            self.quoted(&mut cell)?;
        }
        let end = self
            .rest
            .find(['\n', self.separator])
            .unwrap_or(self.rest.len());
        cell.push_str(self.rest[..end].trim_end_matches('\r'));
        let ends_row = !self.rest[end..].starts_with(self.separator);
        self.line += usize::from(self.rest[end..].starts_with('\n'));
        self.rest = self.rest.get(end + 1..).unwrap_or_default();
        Ok((cell, ends_row))
    }

    /// Reads the rest of a quoted cell.
    fn quoted(&mut self, cell: &mut String) -> Result<(), ReadError> {
        let began = self.line;
        loop {
            let Some((part, behind)) = self.rest.split_once('"') else {
                self.rest = "";
                return Err(ReadError::at(began, "row", "a quote is never closed"));
            };
            cell.push_str(part);
            self.line += part.matches('\n').count();
            self.rest = behind;
            let Some(behind) = self.rest.strip_prefix('"') else {
                return Ok(());
            };
            cell.push('"');
            self.rest = behind;
        }
    }
}

impl Iterator for Table<'_> {
    type Item = Result<Row, ReadError>;

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            let (text, line) = (self.rest, self.line);
            if text.is_empty() {
                return None;
            }
            let mut cells = Vec::new();
            loop {
                match self.cell() {
                    Ok((cell, ends_row)) => {
                        cells.push(cell);
                        if ends_row {
                            break;
                        }
                    }
                    Err(error) => return Some(Err(error)),
                }
            }
            let is_empty = matches!(cells.as_slice(), [only] if only.trim().is_empty());
            if !is_empty {
                return Some(Ok(Row { line, cells }));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rows(text: &str) -> Vec<(usize, Vec<String>)> {
        let rows = Table::new(text, ',').map(|row| row.expect("closed quotes"));
        rows.map(|row| (row.line, row.cells)).collect()
    }

    #[test]
    fn quoted_cells_may_hold_anything() {
        assert_eq!(rows("a,\"b,c\",\"d\"\"e\",")[0].1, ["a", "b,c", "d\"e", ""]);
        assert_eq!(
            rows("1, \"x\ny\"\r\n\n2,5\" disk\n"),
            [
                (1, vec!["1".to_owned(), "x\ny".to_owned()]),
                (4, vec!["2".to_owned(), "5\" disk".to_owned()]),
            ]
        );
        let open = Table::new("a\nb,\"c\nd\n", ',').last().expect("a row");
        let error = open.err().map(|error| error.to_string());
        assert_eq!(
            error.as_deref(),
            Some("line 2, row: a quote is never closed")
        );
    }
}
