//! The knowledge, and the advice derived from it.

mod advice;
#[path = "../../experiment/tests/documented/mod.rs"]
mod documented;
mod knowledge;
mod seen;
mod tried;
