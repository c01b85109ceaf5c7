//! A column of a table (RFC 4180), one request a row.

use super::moment::timed;
use std::borrow::Cow;

use super::jsonl::Collected;
use super::{LoadReport, ReadError, lines};
use crate::run::plan::{Stamp, TimeUnit};

pub(super) fn parse(
    bytes: &[u8],
    column: &str,
    unit: TimeUnit,
    stamp: Option<&Stamp>,
) -> Result<LoadReport, ReadError> {
    let mut rows = lines(bytes)
        .filter(|(_, line)| !line.trim().is_empty())
        .peekable();
    let mut all = Collected::new(unit);
    let wanted = std::iter::once(column).chain(stamp.map(|stamp| &*stamp.field));
    let by_name = wanted.clone().any(|name| number(name).is_none());
    let heading = rows.next_if(|_| by_name);
    let places: Vec<usize> = wanted
        .map(|name| place(name, heading.as_ref()))
        .collect::<Result<_, _>>()?;
    for (line, row) in rows {
        let cells = cells(&row);
        let cell = |index: usize| {
            let found = places.get(index).and_then(|at| cells.get(*at));
            found.ok_or_else(|| {
                let problem = format!("the row has {} cells", cells.len());
                ReadError::at(line, column, problem)
            })
        };
        let took = all.add(line, column, cell(0)?)?;
        if let Some(stamp) = stamp {
            all.timed.push(timed(stamp, line, cell(1)?, took)?);
        }
    }
    all.report(column)
}

/// The place of a column that is named by its number.
fn number(column: &str) -> Option<usize> {
    column.parse::<usize>().ok()?.checked_sub(1)
}

/// The place of a column in every row.
fn place(column: &str, heading: Option<&(usize, Cow<'_, str>)>) -> Result<usize, ReadError> {
    if let Some(place) = number(column) {
        return Ok(place);
    }
    let (line, heading) = heading.ok_or_else(|| ReadError::of(column, "the table is empty"))?;
    let names = cells(heading);
    let found = names.iter().position(|name| name.trim() == column);
    found.ok_or_else(|| {
        let names = names.join(", ");
        ReadError::at(
            *line,
            column,
            format!("no column has that name; there are: {names}"),
        )
    })
}

/// The cells of one row. A quoted cell may hold commas and doubled quotes, but no line break:
/// a row is one request.
fn cells(row: &str) -> Vec<String> {
    let mut cells = vec![String::new()];
    let mut quoted = false;
    let mut letters = row.chars().peekable();
    while let Some(letter) = letters.next() {
        let cell = cells.len() - 1;
        match letter {
            '"' if quoted && letters.peek() == Some(&'"') => {
                letters.next();
                cells[cell].push('"');
            }
            '"' => quoted = !quoted,
            ',' if !quoted => cells.push(String::new()),
            other => cells[cell].push(other),
        }
    }
    cells
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quotes_hide_commas() {
        assert_eq!(cells(r#"a,"b,""c""",,d"#), ["a", "b,\"c\"", "", "d"]);
        assert_eq!(cells(""), [""]);
    }
}
