//! Sources on whether huge pages help a process, if this program is built with the rules of `advise`.

#[cfg(feature = "advise")]
mod known;
#[cfg(feature = "advise")]
pub(super) use known::of;

#[cfg(not(feature = "advise"))]
mod without;
#[cfg(not(feature = "advise"))]
pub(super) use without::of;
