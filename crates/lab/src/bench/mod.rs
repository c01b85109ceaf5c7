//! `bench`: measurements of memory itself, cell by cell.

pub(crate) mod fork;
pub(crate) mod growth;
pub(crate) mod prefault;
pub(crate) mod random;
pub(crate) mod slab;
pub(crate) mod thread;
