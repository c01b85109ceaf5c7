//! What to set for an application, in its version, on this machine, and who says so.
//!
//! Knowledge is data: [`rule`] in the files of `knowledge/`. A rule is judged over facts
//! ([`fact`]), and what rests on a fact that is not known says which.
//!
//! To add a rule, edit one file of `knowledge/`; `tests/knowledge.rs` checks its source, dates and cases.
//! A fact is a line in `fact.rs` and its reading in `observed.rs`; a persistent form is a function in `persistent.rs`.

pub mod access;
pub mod advice;
mod aim;
pub mod command;
pub mod condition;
pub mod contradiction;
mod csv;
pub mod document;
pub mod fact;
pub mod knowledge;
pub mod measured;
mod observation;
pub mod observed;
pub mod persistent;
mod program;
pub mod rule;
pub mod ruling;
pub mod settings;
pub mod subject;
pub mod tried;
pub mod version;
