//! Holds every English phrase of the answer.
#![cfg_attr(not(test), expect(dead_code, reason = "the screen reads them"))]

pub(super) mod cause;
