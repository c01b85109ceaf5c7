//! Switching, with pages that a test makes up, and with real ones of a child.
