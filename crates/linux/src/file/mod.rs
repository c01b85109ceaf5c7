//! Files that somebody names, or that belong to somebody else.
//!
//! Their folders may be another user's, who changes them at any moment: also between two of our calls. So the kernel decides with the
//! rights of the user for whom a file is opened ([`rights`]), nothing is opened that blocks or acts when it is opened ([`read`]), and what
//! is written goes to a descriptor that is open before anything is measured ([`sheet`], [`folder`]).

pub mod folder;
mod kind;
pub mod read;
pub mod reader;
pub mod rights;
pub mod sheet;
