//! Writes one line per event.

use super::Line;
use crate::base::jsonl;
use crate::base::missing::Missing;
use crate::run::trial::{Reading, Trial};

/// One line of the record, with its newline.
///
/// JSON has no infinity and no NaN. A reading that is neither finite nor missing could not be read back, so it is
/// written as unreadable.
#[must_use]
pub fn to_line(line: &Line) -> String {
    match line {
        Line::Trial(trial) if !is_finite(trial) => {
            jsonl::to_line(&Line::Trial(made_finite(trial.clone())))
        }
        Line::Period(trial) if !is_finite(trial) => {
            jsonl::to_line(&Line::Period(made_finite(trial.clone())))
        }
        _ => jsonl::to_line(line),
    }
}

fn is_finite(trial: &Trial) -> bool {
    trial.readings.values().all(reading_is_finite)
}

fn reading_is_finite(reading: &Reading) -> bool {
    match reading {
        Reading::Value { value } => value.is_finite(),
        Reading::Values { values } => values.iter().all(|value| value.is_finite()),
        Reading::Histogram { .. } | Reading::Missing { .. } => true,
    }
}

fn made_finite(mut trial: Trial) -> Trial {
    for (_, reading) in &mut trial.readings {
        if !reading_is_finite(reading) {
            *reading = Reading::missing(Missing::unreadable("not a finite number"));
        }
    }
    trial
}
