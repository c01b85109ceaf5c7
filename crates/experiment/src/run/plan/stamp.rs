//! The time of a request: `,began=FIELD[@UNIT]` or `,ended=FIELD[@UNIT]` after the field of its latency. Times count
//! from 1970 (UTC).

use std::fmt;

use super::TimeUnit;

/// The field of the time of each request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stamp {
    /// The moment in the request.
    pub edge: Edge,
    /// A column or a field, in the syntax of the latency field.
    pub field: String,
    /// The requested unit.
    pub unit: Option<TimeUnit>,
}

/// A moment of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Edge {
    /// When it was sent, or due.
    Began,
    /// When it was answered.
    Ended,
}

pub(super) const EDGES: [(&str, Edge); 2] = [(",began=", Edge::Began), (",ended=", Edge::Ended)];

impl Stamp {
    /// The field after the word for an edge, in the source `text`.
    pub(super) fn of(edge: Edge, named: &str, text: &str) -> Result<Self, String> {
        let (field, unit) = match named.split_once('@') {
            Some((field, unit)) => (field, Some(unit.parse()?)),
            None => (named, None),
        };
        if field.is_empty() {
            return Err(format!(
                "`{text}` names no field for the time of a request; write ended=COLUMN@s"
            ));
        }
        if unit.is_none() && TimeUnit::of_name(field).is_none() {
            return Err(format!(
                "`{text}`: the unit of `{field}` is not known; write {}={field}@s (or ns, us, ms)",
                word(edge).trim_matches([',', '='])
            ));
        }
        let field = field.to_owned();
        Ok(Self { edge, field, unit })
    }
}

fn word(edge: Edge) -> &'static str {
    let found = EDGES.iter().find(|(_, known)| *known == edge);
    found.map_or("", |(word, _)| word)
}

impl fmt::Display for Stamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}{}", word(self.edge), self.field)?;
        match self.unit {
            Some(unit) => write!(f, "@{}", unit.word()),
            None => Ok(()),
        }
    }
}
