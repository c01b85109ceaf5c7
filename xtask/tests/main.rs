//! The tools of the project, and what they keep in order.

mod fuzz_lock;
mod monitoring;
mod reference;
mod rooms;
mod subject;
mod tables;
