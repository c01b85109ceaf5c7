//! Who knows whether huge pages help a process, where this program has the rules of `advise`.

#[cfg(feature = "advise")]
mod known;
#[cfg(feature = "advise")]
pub(super) use known::of;

#[cfg(not(feature = "advise"))]
mod without;
#[cfg(not(feature = "advise"))]
pub(super) use without::of;
