//! What must be reported for a plant: its code, and no other. Where less is enough, it stands
//! here with the reason.

use hugewise_model::reason::Code;

use crate::ground::Role;
use crate::rows::{Outcome, Row};

/// Plants that cannot be told from others by reading: plant, as whom, and why. Their code must
/// be among those given.
const UNDECIDED: &[(&str, Role, &str)] = &[];

/// Why less than the one code is enough for a row.
pub fn undecided(row: &Row) -> Option<&'static str> {
    let matching = |entry: &&(&str, Role, &'static str)| {
        entry.0 == row.planted && entry.1.is_at_least(row.role)
    };
    UNDECIDED.iter().find(matching).map(|entry| entry.2)
}

/// What is wrong with a row, if anything is.
pub fn fault(row: &Row) -> Option<String> {
    let code = row.planted.split('/').next().and_then(Code::named);
    let code = code.expect("plants are named after codes");
    let right = match &row.outcome {
        Outcome::NotHere(_) => true,
        Outcome::Spoilt(_) => false,
        Outcome::Reported(answer) => {
            let said = row.answers(answer);
            let one = said.len() == 1;
            let proved = one
                && said
                    .iter()
                    .all(|each| each.code == code && each.is_proved());
            let allowed = !said.is_empty() && said.iter().all(|each| each.allows(code));
            proved || (allowed && undecided(row).is_some())
        }
    };
    (!right).then(|| {
        let role = row.role.name();
        format!("{} as {role}: {}", row.planted, row.reported())
    })
}
