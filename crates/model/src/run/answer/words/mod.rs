//! Holds every English phrase of the answer.
#![expect(dead_code, reason = "the screen reads them")]

pub(super) mod cause;
