//! A field of one JSON object in each line, one request a line.

use std::borrow::Cow;

use serde_json::Value;

use super::requests::{Collected, Fields};
use super::{LoadReport, ReadError, lines};

pub(super) fn parse(bytes: &[u8], fields: Fields<'_>) -> Result<LoadReport, ReadError> {
    let whole_lines = bytes.iter().filter(|byte| **byte == b'\n').count();
    let mut all = Collected::new(fields);
    for (line, text) in lines(bytes).filter(|(_, line)| !line.trim().is_empty()) {
        match add(&mut all, line, &text) {
            // A killed writer leaves a torn last line.
            Err(_) if line > whole_lines && all.has_some() => break,
            added => added?,
        }
    }
    all.report()
}

fn add(all: &mut Collected<'_>, line: usize, text: &str) -> Result<(), ReadError> {
    let object: Value = serde_json::from_str(text)
        .map_err(|error| ReadError::at(line, "JSON", error.to_string()))?;
    all.add(line, |field| named(&object, line, field))
}

/// A field, as written.
fn named<'t>(object: &Value, line: usize, field: &str) -> Result<Cow<'t, str>, ReadError> {
    let found = field
        .split('.')
        .try_fold(object, |value, part| value.get(part));
    match found {
        Some(Value::Number(number)) => Ok(number.to_string().into()),
        Some(Value::String(text)) => Ok(text.clone().into()),
        Some(Value::Bool(is_so)) => Ok(is_so.to_string().into()),
        Some(Value::Null) => Ok(Cow::default()),
        _ => Err(ReadError::at(line, field, "the object has no such number")),
    }
}
