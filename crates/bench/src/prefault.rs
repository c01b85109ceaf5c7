//! Choices of `bench prefault`.

/// Every way to bring memory in that the laboratory has.
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

/// Those that are measured when none is named: what programs do most.
pub static USUAL: &[&str] = &[
    "store",
    "memset",
    "load",
    "map-populate",
    "populate-write",
    "collapse",
];
