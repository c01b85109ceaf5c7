//! Processes in a state that breaks programs, if this program is built with the rules of `advise`.

#[cfg(feature = "advise")]
mod known;
#[cfg(feature = "advise")]
pub(super) use known::states;

#[cfg(not(feature = "advise"))]
mod without;
#[cfg(not(feature = "advise"))]
pub(super) use without::states;
