//! Files named by others, or owned by other users.
//!
//! Another user may own their directories, and can change them at any moment, even between two system calls of this
//! program. So the kernel checks access with the rights of that user (`rights`). Opening neither blocks nor has side
//! effects (`read`). Output files are opened before the first trial (`sheet`, `folder`).

pub mod folder;
mod kind;
pub mod read;
pub mod reader;
pub mod rights;
pub mod sheet;
