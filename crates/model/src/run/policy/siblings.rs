//! Policies that set the same but for the huge pages.

use super::runtime::Runtime;
use super::{Malloc, Settings};

/// Settings of runtimes that decide about huge pages and nothing else.
const OF_PAGES: [(Runtime, &[&str]); 7] = [
    (
        Runtime::Java,
        &[
            "UseTransparentHugePages",
            "UseLargePages",
            "LargePageSizeInBytes",
        ],
    ),
    (Runtime::Go, &["disablethp"]),
    (Runtime::Jemalloc, &["thp", "metadata_thp"]),
    (Runtime::Mimalloc, &["allow_large_os_pages"]),
    (Runtime::Glibc, &["malloc.hugetlb"]),
    (Runtime::Postgres, &["huge_pages"]),
    (Runtime::Redis, &["disable-thp"]),
];

impl Settings {
    /// Whether both set the same, as far as it is not about huge pages: what else they do to a
    /// program, they do alike. `malloc=thp` only advises the heap.
    #[must_use]
    pub fn is_sibling_of(&self, other: &Self) -> bool {
        self.besides_pages() == other.besides_pages()
    }

    /// What is left without all that decides about huge pages.
    fn besides_pages(&self) -> Self {
        let heap = |malloc: &Malloc| !matches!(malloc, Malloc::Thp | Malloc::Default);
        let mut runtimes = self.runtimes.clone();
        for (runtime, names) in OF_PAGES {
            if let Some(settings) = runtimes.get_mut(&runtime) {
                settings.retain(|name, _| !names.contains(&name.as_str()));
            }
        }
        runtimes.retain(|_, settings| !settings.is_empty());
        Self {
            malloc: self.malloc.filter(heap),
            env: self.env.clone(),
            runtimes,
            ..Self::default()
        }
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
        ] {
            assert!(!are_siblings(one, other), "{one} {other}");
        }
    }
}
