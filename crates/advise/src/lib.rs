//! Recommended settings for an application, in its version, on this machine, with the source of each.
//!
//! Knowledge is data: each [`rule`] is in a file of `knowledge/`. A rule is evaluated over facts ([`fact`]). If the
//! result depends on an unknown fact, it names that fact.
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
