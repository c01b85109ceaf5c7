//! Values that are words.

use std::str::FromStr;

use serde::{Deserialize, Serialize};
use strum::{EnumString, IntoStaticStr, VariantArray};

/// A value that is written as one of a few words, which for kernel settings are also what the
/// sysfs file takes.
pub(super) trait Word: VariantArray + Copy + Into<&'static str> + FromStr {
    /// The word.
    fn word(self) -> &'static str {
        self.into()
    }

    /// Every word, in the order in which it is offered.
    fn words() -> Vec<&'static str> {
        Self::VARIANTS.iter().map(|each| each.word()).collect()
    }
}

impl<T: VariantArray + Copy + Into<&'static str> + FromStr> Word for T {}

/// An enum of words: people and records write the name of a variant in lower case.
macro_rules! words {
    ($(#[$attribute:meta])* pub enum $name:ident { $($variants:tt)* }) => {
        $(#[$attribute])*
        #[derive(Clone, Copy, Debug, Serialize, Deserialize, PartialEq, Eq, Hash)]
        #[derive(VariantArray, IntoStaticStr, EnumString)]
        #[serde(rename_all = "lowercase")]
        #[strum(serialize_all = "lowercase")]
        pub enum $name { $($variants)* }
    };
}

pub(super) use words;

words! {
    /// `thp=`.
    pub enum Thp {
        /// No huge page for this program.
        Never,
        /// Huge pages where the program asks for them.
        Madvise,
        /// Huge pages wherever one fits.
        Always,
        /// What the machine has.
        Inherit,
    }
}

words! {
    /// `defrag=`, the values of the sysfs file.
    pub enum Defrag {
        /// Compact and reclaim in every fault.
        Always,
        /// Wake the background threads only.
        Defer,
        /// Compact for advised memory, wake the background threads for the rest.
        #[serde(rename = "defer+madvise")]
        #[strum(serialize = "defer+madvise")]
        DeferMadvise,
        /// Compact for advised memory, nothing for the rest.
        Madvise,
        /// Nothing.
        Never,
    }
}

words! {
    /// The mode of one folio size, the values of `hugepages-<N>kB/enabled`.
    pub enum SizeMode {
        /// Everywhere.
        Always,
        /// What the global file says.
        Inherit,
        /// Advised memory.
        Madvise,
        /// Nowhere.
        Never,
    }
}

words! {
    /// `shmem=`, the values of `shmem_enabled`.
    pub enum Shmem {
        /// Wherever one fits.
        Always,
        /// Where it lies within the size of the file.
        #[serde(rename = "within_size")]
        #[strum(serialize = "within_size")]
        WithinSize,
        /// Advised memory.
        Advise,
        /// Nowhere.
        Never,
        /// Nowhere, whatever tmpfs mounts say.
        Deny,
        /// Everywhere, whatever tmpfs mounts say: for tests.
        Force,
    }
}

words! {
    /// The mode of one folio size of shared memory, the values of
    /// `hugepages-<N>kB/shmem_enabled`.
    pub enum ShmemMode {
        /// Everywhere.
        Always,
        /// What the global file says.
        Inherit,
        /// Where it lies within the size of the file.
        #[serde(rename = "within_size")]
        #[strum(serialize = "within_size")]
        WithinSize,
        /// Advised memory.
        Advise,
        /// Nowhere.
        Never,
    }
}

words! {
    /// `tracer=`.
    pub enum Tracer {
        /// The stops of `thp=always` by tracing, without its advice: what tracing costs.
        Idle,
    }
}

words! {
    /// `preload=`.
    pub enum Preload {
        /// The library of `thp=always` without its advice: what preloading costs.
        Idle,
    }
}

words! {
    /// `text=`.
    pub enum Text {
        /// Code of the program is put into huge pages.
        Huge,
    }
}

words! {
    /// `means=`: how `thp=always` is reached.
    pub enum Means {
        /// By the machine's own setting.
        Setting,
        /// By a tracer that has the program advise its memory.
        Tracer,
        /// By a preloaded library, in which dynamic programs advise their memory.
        Preload,
    }
}

words! {
    /// A setting that is on or off.
    pub enum Toggle {
        /// 0.
        #[strum(serialize = "0")]
        Off,
        /// 1.
        #[strum(serialize = "1")]
        On,
    }
}

words! {
    /// `malloc=`.
    #[derive(Default)]
    pub enum Malloc {
        /// Whatever the program uses by itself.
        #[default]
        Default,
        /// `glibc.malloc.hugetlb=1`: advise the heap.
        Thp,
        /// `glibc.malloc.hugetlb=2`: the heap from a hugetlb pool.
        Hugetlb,
        /// libjemalloc, preloaded.
        Jemalloc,
        /// libmimalloc, preloaded.
        Mimalloc,
        /// libtcmalloc, preloaded.
        Tcmalloc,
    }
}
