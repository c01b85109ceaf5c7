//! The screens of an answer, from answers made by hand.
#![allow(missing_docs)]

mod everything;
mod fields;
mod numbers;
mod samples;
mod screens;
mod words;
