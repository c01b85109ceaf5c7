//! Values in the form of words.

use std::str::FromStr;

use serde::{Deserialize, Serialize};
use strum::{EnumString, IntoStaticStr, VariantArray};

/// A value with a fixed set of words. For kernel settings, these are the words of the sysfs file.
pub(super) trait Word: VariantArray + Copy + Into<&'static str> + FromStr {
    /// The word.
    fn word(self) -> &'static str {
        self.into()
    }

    /// All words, in the order shown to users.
    fn words() -> Vec<&'static str> {
        Self::VARIANTS.iter().map(|each| each.word()).collect()
    }
}

impl<T: VariantArray + Copy + Into<&'static str> + FromStr> Word for T {}

/// An enum of words: users and records write the name of a variant in lower case.
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
        /// Huge pages for memory that the program advises.
        Madvise,
        /// Huge pages wherever one fits.
        Always,
        /// The machine's setting.
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
        /// The global file's value.
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
        /// Only within the size of the file.
        #[serde(rename = "within_size")]
        #[strum(serialize = "within_size")]
        WithinSize,
        /// Advised memory.
        Advise,
        /// Nowhere.
        Never,
        /// Nowhere, whatever the tmpfs mount options.
        Deny,
        /// Everywhere, whatever the tmpfs mount options: for tests.
        Force,
    }
}

words! {
    /// The mode of `tmpfs=`, the values of the mount option `huge=`.
    pub enum TmpfsMode {
        /// Nowhere.
        Never,
        /// Only within the size of the file, and in advised memory.
        #[serde(rename = "within_size")]
        #[strum(serialize = "within_size")]
        WithinSize,
        /// Advised memory.
        Advise,
        /// Wherever one fits.
        Always,
    }
}

words! {
    /// The mode of `file=`: the size of the folios of a file.
    pub enum FileMode {
        /// Of a huge page, where the kernel can.
        Huge,
        /// Of one page.
        Small,
    }
}

words! {
    /// The mode of one folio size of shared memory, the values of
    /// `hugepages-<N>kB/shmem_enabled`.
    pub enum ShmemMode {
        /// Everywhere.
        Always,
        /// The global file's value.
        Inherit,
        /// Only within the size of the file.
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
        /// The stops of `thp=always` by tracing, without its advice: the cost of tracing.
        Idle,
    }
}

words! {
    /// `preload=`.
    pub enum Preload {
        /// The library of `thp=always` without its advice: the cost of preloading.
        Idle,
    }
}

words! {
    /// `text=`.
    pub enum Text {
        /// Code in use is copied into private huge pages.
        Huge,
        /// Code is put into huge pages of the page cache, before the program starts.
        File,
    }
}

impl Text {
    /// Returns true if a tracer does it while the program runs.
    #[must_use]
    pub const fn is_traced(self) -> bool {
        matches!(self, Self::Huge)
    }
}

words! {
    /// `means=`: how `thp=always` is reached.
    pub enum Means {
        /// By the system-wide setting.
        Setting,
        /// By a tracer that makes the program advise its memory.
        Tracer,
        /// By a preloaded library, through which dynamic programs advise their memory.
        Preload,
    }
}

words! {
    /// A setting with the values on and off.
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
        /// The program's default allocator.
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
