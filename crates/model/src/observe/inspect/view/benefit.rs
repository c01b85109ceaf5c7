//! Whether huge pages help a process: its memory does not tell, so an inspection names who does.

use crate::text::document::Field;

/// A longer command does not fit a line of a terminal, and cannot be read before it is pasted.
const WIDEST: usize = 80;

/// What is known beside an inspection of the question whether huge pages help the process.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Benefit {
    /// What was measured of it on this machine.
    pub tried: Option<String>,
    /// Who says that huge pages hurt the program, and what: a rule of `advise`.
    pub against: Option<String>,
    /// What measures it.
    pub measure: Measure,
}

/// What measures whether huge pages help a process.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Measure {
    /// How it was started is not known, or cannot be repeated.
    #[default]
    Unknown,
    /// A command to paste.
    Command(String),
    /// It waits for connections, so it is measured under a load.
    Service,
}

impl Benefit {
    /// A line each of what is known, and one of how to measure.
    pub(super) fn fields(&self) -> Vec<Field> {
        let said = |label, text: &Option<String>| text.clone().map(|text| Field::new(label, text));
        let fields = [
            said("tried here", &self.tried),
            said("against it", &self.against),
            Some(self.measure.field()),
        ];
        fields.into_iter().flatten().collect()
    }
}

impl Measure {
    fn field(&self) -> Field {
        const LABEL: &str = "does it help?";
        match self {
            Self::Command(line) if line.chars().count() <= WIDEST => Field::whole(LABEL, line),
            Self::Service => Field::new(
                LABEL,
                "hugewise run --service, under a load: docs/guide/servers.md",
            ),
            Self::Unknown | Self::Command(_) => Field::new(
                LABEL,
                "hugewise run -- COMMAND; a server: hugewise run --service",
            ),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::text::Flow;

    fn last(measure: Measure) -> Field {
        let benefit = Benefit {
            measure,
            ..Benefit::default()
        };
        benefit.fields().pop().expect("how to measure")
    }

    #[test]
    fn a_command_is_given_whole_if_it_fits_the_line() {
        let short = "hugewise run -- ./prog".to_owned();
        let field = last(Measure::Command(short.clone()));
        assert_eq!((field.text, field.flow), (short.clone(), Flow::Whole));
        let long = format!("{short} {}", "x".repeat(WIDEST));
        assert!(last(Measure::Command(long)).text.contains("-- COMMAND"));
    }

    #[test]
    fn who_speaks_against_it_is_named_before_how_to_measure() {
        let benefit = Benefit {
            against: Some("Redis: no".to_owned()),
            tried: None,
            measure: Measure::Service,
        };
        let labels = benefit.fields().into_iter().map(|it| it.label);
        let labels: Vec<String> = labels.collect();
        assert_eq!(labels, ["against it", "does it help?"]);
        assert!(benefit.fields()[1].text.contains("--service"));
    }
}
