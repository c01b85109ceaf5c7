//! Processes in a state that breaks programs, where this program has the rules of `advise`.

#[cfg(feature = "advise")]
mod known;
#[cfg(feature = "advise")]
pub(super) use known::states;

#[cfg(not(feature = "advise"))]
mod without;
#[cfg(not(feature = "advise"))]
pub(super) use without::states;
