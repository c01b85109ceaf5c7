//! A program's own setting for huge pages, where this program has the rules of `advise`.

#[cfg(feature = "advise")]
mod known;
#[cfg(feature = "advise")]
pub use known::{arguments, beside_knowledge};

#[cfg(not(feature = "advise"))]
mod without;
#[cfg(not(feature = "advise"))]
pub use without::{arguments, beside_knowledge};
