//! Finds the memory that causes the effect of huge pages: the share of each mapping site, by experiment.
//!
//! The runs of a [`Design`] make some sites huge and keep the others small; [`shares`] splits the whole effect among
//! them.

mod attribution;
mod design;
mod document;
mod figures;
mod groups;
mod listing;
mod plan;
mod share;
mod sites_file;
#[cfg(test)]
mod tests;
mod whole;

pub use attribution::{Attribution, Change, Effect, SiteShare};
pub use design::{Design, MOST_SITES};
pub use groups::{Groups, Screened};
pub use listing::{LEAST_RECURRENCE, Listed, Listing, Refusal};
pub use plan::{choosing, rows, whole};
pub use share::{Estimate, FEWEST_ROUNDS, Share, Shares, shares};
pub use sites_file::SitesFile;
pub use whole::{WholeEffect, that_became_huge};
