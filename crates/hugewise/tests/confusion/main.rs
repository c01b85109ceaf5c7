//! Judges memory in a known state: for every reason that can be planted on this machine, `hugewise inspect` must report
//! that reason and no other.
//!
//! The laboratory makes the plants and checks their premises by other interfaces than the tested ones. This test
//! prepares the machine for each plant and restores it; it runs `inspect` as root and as an ordinary user, and compares
//! its report with the plant. The whole table is in docs/CONFUSION.md, made by `cargo xtask confusion`.

mod answer;
mod decoy;
mod expected;
mod ground;
mod raised;
mod rows;
#[path = "../skipping/mod.rs"]
mod skipping;

use std::time::{Duration, Instant};

use hugewise_lab::plant::{PLANTS, Plant};

use answer::Answer;
use ground::{Ground, Role};
use raised::{Raised, Refused};
use rows::{Outcome, Row};
use skipping::skip;

/// How often a plant is repeated after another program spoilt it.
const ATTEMPTS: usize = 5;

/// The time limit for establishing a plant.
const PATIENCE: Duration = Duration::from_secs(30);

#[test]
fn what_was_planted_is_what_is_reported() {
    let mut ground = Ground::prepare();
    let mut rows = Vec::new();
    // Only this plant, for debugging.
    let only = std::env::var("HUGEWISE_PLANT").ok();
    let wanted = |plant: &&Plant| only.as_deref().is_none_or(|name| name == plant.name);
    for role in Role::of_this_machine() {
        for plant in PLANTS.iter().filter(wanted) {
            rows.push(judge(&mut ground, plant, role));
        }
    }
    ground.put_back();
    for row in &rows {
        if let Outcome::NotHere(reason) = &row.outcome {
            skip(&format!("{} as {}", row.planted, row.role.name()), reason);
        }
    }
    rows::print(&rows);
    rows::save(&rows);
    let wrong: Vec<String> = rows.iter().filter_map(expected::fault).collect();
    assert!(wrong.is_empty(), "\n{}", wrong.join("\n"));
}

/// Makes a plant, inspects it, and releases it. The report counts only if the premise held to the end.
fn judge(ground: &mut Ground, plant: &'static Plant, role: Role) -> Row {
    let mut outcome = Outcome::NotHere("never tried".to_owned());
    let began = Instant::now();
    for _ in 0..ATTEMPTS {
        outcome = ground.for_plant(plant, role, |beds| {
            let raised = Raised::plant(beds, plant, role)?;
            let answer = Answer::about(beds, &raised, role);
            raised.let_go()?;
            Ok(answer)
        });
        if !matches!(outcome, Outcome::Spoilt(_)) || began.elapsed() > PATIENCE {
            break;
        }
    }
    Row {
        planted: plant.name,
        asked: plant.asked,
        role,
        outcome,
    }
}

/// The outcome of a trial with or without an answer.
fn outcome(result: Result<Answer, Refused>) -> Outcome {
    match result {
        Ok(answer) => Outcome::Reported(answer),
        Err(Refused::NotHere(reason)) => Outcome::NotHere(reason),
        Err(Refused::Spoilt(reason)) => Outcome::Spoilt(reason),
    }
}
