//! A program's own setting for huge pages, if this program is built with the rules of `advise`.

#[cfg(feature = "advise")]
mod known;
#[cfg(feature = "advise")]
pub use known::{arguments, beside_knowledge};

#[cfg(not(feature = "advise"))]
mod without;
#[cfg(not(feature = "advise"))]
pub use without::{arguments, beside_knowledge};
