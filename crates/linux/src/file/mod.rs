//! Files that somebody names, or that belong to somebody else.
//!
//! Their folders may be another user's, who changes them at any moment, also between two calls of ours. So the kernel decides by the
//! rights of that user (`rights`). Opening neither blocks nor acts (`read`). Results have descriptors before the first trial
//! (`sheet`, `folder`).

pub mod folder;
mod kind;
pub mod read;
pub mod reader;
pub mod rights;
pub mod sheet;
