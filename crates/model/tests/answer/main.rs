//! The screens of an answer, from answers made by hand.
#![allow(missing_docs)]

mod everything;
mod fields;
mod numbers;
mod records;
mod samples;
mod screens;
mod words;
