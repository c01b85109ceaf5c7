//! Choices of `bench slab`.

use hugewise_experiment::run::policy::Policy;

/// The prefault method of slabs: the word, and its word in the cell.
pub static PREFAULT: &[(&str, &str)] = &[
    ("off", "slab"),
    ("populate", "slab-populate"),
    ("touch", "slab-touch"),
];

/// Allocators with their huge-page options, each as the text of a policy.
static ALLOCATORS: &[&str] = &[
    "glibc:malloc=default",
    "glibc-top-pad:glibc.malloc.top_pad=67108864",
    "glibc-thp:malloc=thp",
    "glibc-hugetlb:malloc=hugetlb",
    "jemalloc:malloc=jemalloc",
    "jemalloc-thp:malloc=jemalloc,jemalloc.thp=always",
    "mimalloc:malloc=mimalloc",
    "mimalloc-large:malloc=mimalloc,mimalloc.allow_large_os_pages=1",
    "tcmalloc:malloc=tcmalloc",
];

/// All allocators, installed or not.
#[must_use]
pub fn allocators() -> Vec<Policy> {
    let parsed = ALLOCATORS.iter().map(|text| text.parse());
    parsed.filter_map(Result::ok).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_allocator_is_a_policy_of_its_own() {
        let policies = allocators();
        assert_eq!(policies.len(), ALLOCATORS.len());
        for (index, policy) in policies.iter().enumerate() {
            let same = |other: &Policy| other.name == policy.name;
            assert_eq!(policies.iter().position(same), Some(index));
        }
    }
}
