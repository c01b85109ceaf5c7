//! The cells of a bench, if the program is built with benches.

#[cfg(feature = "bench")]
mod drawn;
#[cfg(feature = "bench")]
pub use {
    drawn::curves,
    hugewise_bench::{read, report, view},
};

#[cfg(not(feature = "bench"))]
mod without;
#[cfg(not(feature = "bench"))]
pub use without::{curves, read, report, view};
