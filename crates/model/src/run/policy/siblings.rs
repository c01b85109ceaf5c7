//! Policies that set the same but for the huge pages.

use super::Settings;

/// Keys of the program that decide about huge pages and nothing else; `malloc=thp` and `malloc=hugetlb` only say of what
/// pages the heap of glibc is.
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

impl Settings {
    /// Whether both set the same, as far as it is not about huge pages: what else they do to a
    /// program, they do alike. The shared zero page is no memory of the program: without it, the same
    /// reads do other work.
    #[must_use]
    pub fn is_sibling_of(&self, other: &Self) -> bool {
        self.zero_page == other.zero_page && self.besides_pages().eq(other.besides_pages())
    }

    /// What is set of the program that does not only decide about huge pages.
    fn besides_pages(&self) -> impl Iterator<Item = String> {
        self.of_program().filter(|pair| {
            let key = pair.split('=').next().unwrap_or_default();
            !OF_PAGES.contains(&key) && !OF_PAGES.contains(&pair.as_str())
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn are_siblings(one: &str, other: &str) -> bool {
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
            assert!(are_siblings(one, other), "{one} {other}");
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
            assert!(!are_siblings(one, other), "{one} {other}");
        }
    }
}
