//! The screens of an answer, from handmade answers.
#![expect(
    clippy::unwrap_used,
    clippy::disallowed_methods,
    reason = "a test may fail by panicking, and reads the records of the repository"
)]

mod decisions;
mod everything;
mod fields;
mod numbers;
mod printed;
mod records;
mod samples;
mod screens;
mod words;
