use super::{Defrag, Malloc, SizeMode, Thp, Toggle};

/// A value that is written as one of a few words.
pub(super) trait Word: Copy + 'static {
    /// Every value, in the order in which it is offered.
    const ALL: &'static [Self];

    /// The word, which for kernel settings is also what the sysfs file takes.
    fn word(self) -> &'static str;

    /// The value that `text` names.
    fn from_word(text: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|each| each.word() == text)
    }

    /// Every word.
    fn words() -> Vec<&'static str> {
        Self::ALL.iter().map(|each| each.word()).collect()
    }
}

impl Word for Thp {
    const ALL: &'static [Self] = &[Self::Never, Self::Madvise, Self::Always, Self::Inherit];

    fn word(self) -> &'static str {
        match self {
            Self::Never => "never",
            Self::Madvise => "madvise",
            Self::Always => "always",
            Self::Inherit => "inherit",
        }
    }
}

impl Word for Defrag {
    const ALL: &'static [Self] = &[
        Self::Always,
        Self::Defer,
        Self::DeferMadvise,
        Self::Madvise,
        Self::Never,
    ];

    fn word(self) -> &'static str {
        match self {
            Self::Always => "always",
            Self::Defer => "defer",
            Self::DeferMadvise => "defer+madvise",
            Self::Madvise => "madvise",
            Self::Never => "never",
        }
    }
}

impl Word for SizeMode {
    const ALL: &'static [Self] = &[Self::Always, Self::Inherit, Self::Madvise, Self::Never];

    fn word(self) -> &'static str {
        match self {
            Self::Always => "always",
            Self::Inherit => "inherit",
            Self::Madvise => "madvise",
            Self::Never => "never",
        }
    }
}

impl Word for Toggle {
    const ALL: &'static [Self] = &[Self::Off, Self::On];

    fn word(self) -> &'static str {
        match self {
            Self::Off => "0",
            Self::On => "1",
        }
    }
}

impl Word for Malloc {
    const ALL: &'static [Self] = &[
        Self::Default,
        Self::Thp,
        Self::Hugetlb,
        Self::Jemalloc,
        Self::Mimalloc,
        Self::Tcmalloc,
    ];

    fn word(self) -> &'static str {
        match self {
            Self::Default => "default",
            Self::Thp => "thp",
            Self::Hugetlb => "hugetlb",
            Self::Jemalloc => "jemalloc",
            Self::Mimalloc => "mimalloc",
            Self::Tcmalloc => "tcmalloc",
        }
    }
}
