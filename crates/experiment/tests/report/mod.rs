//! Reports of handmade records, in every format, against `fixtures/golden`.
//!
//! `UPDATE_EXPECT=1 cargo test -p hugewise-experiment --test experiment report` rewrites the expected files; check the
//! difference before you commit it.

#![expect(clippy::unwrap_used, reason = "a panic is a test that fails")]

mod advice;
mod answers;
mod benches;
mod checked;
mod conclusions;
mod documented;
mod exports;
mod figures;
mod incomplete;
mod inside;
mod numbers;
mod page;
mod pages_alone;
mod programs;
mod recommended;
mod records;
mod screens;
mod shapes;
mod trials;
mod width;
