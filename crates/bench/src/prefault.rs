//! Choices of `bench prefault`.

/// The prefault methods of the laboratory.
pub static METHODS: &[&str] = &[
    "load",
    "store",
    "load-store",
    "atomic-add",
    "memset",
    "map-populate",
    "populate-read",
    "populate-write",
    "collapse",
    "mlock",
    "willneed",
];

/// The methods measured by default: the most common ones in programs.
pub static USUAL: &[&str] = &[
    "store",
    "memset",
    "load",
    "map-populate",
    "populate-write",
    "collapse",
];
