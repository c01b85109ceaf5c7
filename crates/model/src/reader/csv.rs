//! A column of a table (RFC 4180), one request a row.

use super::jsonl::Collected;
use super::{ReadError, TimeUnit, Told, lines};

pub(super) fn parse(bytes: &[u8], column: &str, unit: TimeUnit) -> Result<Told, ReadError> {
    let mut rows = lines(bytes).filter(|(_, line)| !line.trim().is_empty());
    let mut all = Collected::new(unit);
    let at = if let Some(number) = column.parse::<usize>().ok().filter(|number| *number > 0) {
        number - 1
    } else {
        let (line, heading) = rows
            .next()
            .ok_or_else(|| ReadError::of(column, "the table is empty"))?;
        let names = cells(&heading);
        let found = names.iter().position(|name| name.trim() == column);
        found.ok_or_else(|| {
            let names = names.join(", ");
            ReadError::at(
                line,
                column,
                format!("no column has that name; there are: {names}"),
            )
        })?
    };
    for (line, row) in rows {
        let cells = cells(&row);
        let Some(cell) = cells.get(at) else {
            return Err(ReadError::at(
                line,
                column,
                format!("the row has {} cells", cells.len()),
            ));
        };
        all.add(line, column, cell)?;
    }
    all.told(column)
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
