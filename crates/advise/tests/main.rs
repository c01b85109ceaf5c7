//! The knowledge, and the advice that is made of it.

mod advice;
#[path = "../../experiment/tests/documented/mod.rs"]
mod documented;
mod knowledge;
mod seen;
mod tried;
