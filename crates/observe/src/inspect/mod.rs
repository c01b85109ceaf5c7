//! One address space, and the reason for every range in it.

pub mod reasons;
pub mod view;
