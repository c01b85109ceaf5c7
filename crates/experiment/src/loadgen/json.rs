//! Functions shared by all readers of JSON.

use serde_json::Value;

use super::{Latency, Load, ReadError};

/// The whole of a document. Non-numbers as printed by C (`-nan`, `inf`) become null.
pub(super) fn document(bytes: &[u8]) -> Result<Value, ReadError> {
    let read = serde_json::from_slice(bytes);
    let read = read.or_else(|error| serde_json::from_slice(&without_nan(bytes)).map_err(|_| error));
    read.map_err(|error| ReadError::at(error.line(), "JSON", error.to_string()))
}

/// Replaces words outside of strings that represent no number by `null`.
fn without_nan(bytes: &[u8]) -> Vec<u8> {
    const WORDS: [&[u8]; 5] = [b"infinity", b"-nan(ind)", b"-nan", b"nan", b"inf"];
    let (mut plain, mut rest, mut within) = (Vec::new(), bytes, false);
    while let Some((&byte, behind)) = rest.split_first() {
        let unsigned = rest.strip_prefix(b"-").unwrap_or(rest);
        let word = WORDS.iter().find_map(|word| {
            let is_it = |text: &[u8]| {
                let found = text.get(..word.len());
                found.is_some_and(|found| found.eq_ignore_ascii_case(word))
            };
            let from = [rest, unsigned].into_iter().find(|text| is_it(text))?;
            Some(&from[word.len()..])
        });
        match (within, byte, word) {
            (false, _, Some(behind)) => {
                plain.extend(b"null");
                rest = behind;
                continue;
            }
            (true, b'\\', _) => {
                plain.push(byte);
                plain.extend(behind.first());
                rest = behind.get(1..).unwrap_or_default();
                continue;
            }
            (_, b'"', _) => within = !within,
            _ => {}
        }
        plain.push(byte);
        rest = behind;
    }
    plain
}

/// A list within an object.
pub(super) fn list<'a>(value: &'a Value, field: &str) -> Result<&'a Vec<Value>, ReadError> {
    let list = value.get(field).and_then(Value::as_array);
    list.ok_or_else(|| ReadError::of(field, "there is no such list"))
}

/// A text within an object.
pub(super) fn text<'a>(value: &'a Value, field: &str) -> Result<&'a str, ReadError> {
    let text = value.get(field).and_then(Value::as_str);
    text.ok_or_else(|| ReadError::of(field, "there is no such text"))
}

/// A finite, non-negative number within an object.
pub(super) fn number(value: &Value, field: &str) -> Result<f64, ReadError> {
    value
        .get(field)
        .and_then(Value::as_f64)
        .filter(|number| number.is_finite() && *number >= 0.0)
        .ok_or_else(|| ReadError::of(field, "there is no such number"))
}

/// The texts and numbers of an object, as written.
pub(super) fn cells(object: &Value) -> impl Iterator<Item = (&String, String)> {
    let fields = object.as_object().into_iter().flatten();
    fields.filter_map(|(name, value)| match value {
        Value::Number(number) => Some((name, number.to_string())),
        Value::String(text) => Some((name, text.clone())),
        _ => None,
    })
}

/// The load with a name, created if missing.
pub(super) fn named<'a>(loads: &'a mut Vec<Load>, name: &str) -> &'a mut Load {
    let at = loads
        .iter()
        .position(|load| load.name.as_deref() == Some(name));
    let at = at.unwrap_or_else(|| {
        loads.push(Load {
            name: Some(name.to_owned()),
            ..Load::default()
        });
        loads.len() - 1
    });
    &mut loads[at]
}

impl Load {
    /// Adds a single value in seconds.
    pub(super) fn add_value(&mut self, seconds: f64) {
        match &mut self.latency {
            Some(Latency::Values(values)) => values.push(seconds),
            _ => self.latency = Some(Latency::Values(vec![seconds])),
        }
    }
}
