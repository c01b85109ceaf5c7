//! The screens of an answer, from answers made by hand.
#![allow(missing_docs)]

mod numbers;
mod samples;
mod screens;
