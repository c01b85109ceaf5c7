//! Policies that differ only in huge pages.

use super::{Settings, Thp};

/// Keys of the program whose purpose is to control huge pages. Those with further effects are [`OF_HEAP`].
const OF_PAGES: [&str; 13] = [
    "malloc=thp",
    "malloc=hugetlb",
    "java.UseTransparentHugePages",
    "java.UseLargePages",
    "java.LargePageSizeInBytes",
    "go.disablethp",
    "jemalloc.thp",
    "jemalloc.metadata_thp",
    "mimalloc.allow_large_os_pages",
    "glibc.malloc.hugetlb",
    "glibc.pthread.stack_hugetlb",
    "postgres.huge_pages",
    "redis.disable-thp",
];

/// Keys that also change how the malloc of glibc works. With `hugetlb=1` it grows its heap by huge pages instead of 132
/// KiB (`sysmalloc`, malloc/malloc.c); with `hugetlb=2` it maps it. The larger top of the heap makes `free` merge small
/// blocks more often: with glibc 2.36, a Perl script took 36 % more user time with every page small.
const OF_HEAP: [&str; 3] = ["malloc=thp", "malloc=hugetlb", "glibc.malloc.hugetlb"];

impl Settings {
    /// Returns true if both policies have the same settings apart from huge pages, and thus the same other effects on a
    /// program. The shared zero page is not memory of the program: without it, the same reads do different work.
    #[must_use]
    pub fn is_sibling_of(&self, other: &Self) -> bool {
        self.zero_page == other.zero_page && self.besides_pages().eq(other.besides_pages())
    }

    /// The settings of the program whose purpose is not to control huge pages.
    fn besides_pages(&self) -> impl Iterator<Item = String> {
        self.of_program().filter(|pair| !is_one_of(pair, &OF_PAGES))
    }

    /// Returns true if it changes only the pages of a program run under the other.
    #[must_use]
    pub fn changes_pages_alone(&self, other: &Self) -> bool {
        self.is_sibling_of(other) && self.has_same_heap(other)
    }

    /// Returns true if it changes the pages and how malloc works, and nothing else.
    #[must_use]
    pub fn changes_malloc_too(&self, other: &Self) -> bool {
        self.is_sibling_of(other) && !self.has_same_heap(other)
    }

    /// Returns true if malloc works the same under both, except for the pages of its heap.
    fn has_same_heap(&self, other: &Self) -> bool {
        self.of_heap().eq(other.of_heap())
    }

    /// The same settings with every page small. `None` unless the settings change how malloc works and keep the
    /// machine's mode of huge pages.
    #[must_use]
    pub fn malloc_alone(&self) -> Option<Self> {
        let is_by_malloc = self.thp.is_none() && self.of_heap().next().is_some();
        is_by_malloc.then(|| Self {
            thp: Some(Thp::Never),
            ..self.clone()
        })
    }

    /// Returns true for a policy under which malloc works differently and every page is small.
    #[must_use]
    pub fn is_malloc_alone(&self) -> bool {
        self.thp == Some(Thp::Never) && self.of_heap().next().is_some()
    }

    fn of_heap(&self) -> impl Iterator<Item = String> {
        self.of_program().filter(|pair| is_one_of(pair, &OF_HEAP))
    }
}

/// Returns true if a setting is in the list, whose entries are a key, or a key with its value.
fn is_one_of(pair: &str, known: &[&str]) -> bool {
    let key = pair.split('=').next().unwrap_or_default();
    known.contains(&key) || known.contains(&pair)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn are_same(one: &str, other: &str) -> bool {
        let settings = |text: &str| text.parse::<Settings>().unwrap();
        settings(one).is_sibling_of(&settings(other))
    }

    #[test]
    fn only_what_decides_about_pages_may_differ() {
        for (one, other) in [
            (
                "thp=never",
                "thp=always,defrag=defer,khugepaged.max_ptes_none=0",
            ),
            (
                "thp=never,java.AlwaysPreTouch=+",
                "thp=madvise,java.UseTransparentHugePages=+,java.AlwaysPreTouch=+",
            ),
            ("thp=never,malloc=default", "thp=always,malloc=thp"),
            (
                "postgres.huge_pages=off",
                "thp=never,postgres.huge_pages=on",
            ),
            ("glibc.malloc.hugetlb=1", "thp=never"),
            ("as-is", "hugetlb=2M:64,malloc=hugetlb"),
        ] {
            assert!(are_same(one, other), "{one} {other}");
        }
        for (one, other) in [
            (
                "thp=never,java.AlwaysPreTouch=-",
                "thp=never,java.AlwaysPreTouch=+",
            ),
            ("thp=never", "thp=always,java.AlwaysPreTouch=+"),
            ("thp=never", "thp=always,malloc=jemalloc"),
            ("thp=never", "thp=always,env.X=1"),
            ("thp=never", "glibc.malloc.top_pad=1"),
            ("thp=always", "thp=always,zero_page=0"),
        ] {
            assert!(!are_same(one, other), "{one} {other}");
        }
    }
    #[test]
    fn advice_of_malloc_changes_more_than_pages() {
        let is_pages_alone = |one: &str, other: &str| {
            let settings = |text: &str| text.parse::<Settings>().unwrap();
            settings(one).changes_pages_alone(&settings(other))
        };
        assert!(is_pages_alone("as-is", "thp=always,jemalloc.thp=always"));
        assert!(is_pages_alone("thp=never,malloc=thp", "malloc=thp"));
        assert!(!is_pages_alone("as-is", "malloc=thp"));
        assert!(!is_pages_alone("thp=never", "glibc.malloc.hugetlb=1"));
    }
}
