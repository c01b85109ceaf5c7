//! The project's tools, and the rules that they check.

mod fuzz_lock;
mod monitoring;
mod reference;
mod rooms;
mod subject;
mod tables;
