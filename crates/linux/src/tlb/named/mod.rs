//! TLB geometry of named processors, as files with their sources.

use hugewise_base::tlb::Tlb;
use hugewise_tlb::simulation::{Processor, WalkCache};
use serde::Deserialize;

/// One file.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Named {
    name: String,
    tlb: Tlb,
    walk_cache: Option<WalkCache>,
}

/// The files. A processor gets a file if a manual documents entries and ways of both levels.
const FILES: [&str; 4] = [
    include_str!("haswell.toml"),
    include_str!("jaguar.toml"),
    include_str!("neoverse-n1.toml"),
    include_str!("skylake.toml"),
];

/// Returns the names, in order.
#[must_use]
pub fn names() -> Vec<String> {
    all().map(|named| named.name).collect()
}

/// Returns the processor of this name.
#[must_use]
pub fn processor(name: &str) -> Option<Processor> {
    let named = all().find(|named| named.name == name)?;
    Some(Processor {
        tlb: named.tlb,
        walk_cache: named.walk_cache,
    })
}

/// An unreadable file is left out; the tests detect it.
fn all() -> impl Iterator<Item = Named> {
    FILES.iter().filter_map(|text| toml::from_str(text).ok())
}

#[cfg(test)]
mod tests {
    use hugewise_tlb::simulation::{Column, Kind, MemoryAccess, Paging};

    use super::*;

    #[test]
    fn every_file_is_read_and_its_sets_are_whole() {
        assert_eq!(names(), ["haswell", "jaguar", "neoverse-n1", "skylake"]);
        for name in names() {
            let processor = processor(&name).expect("named");
            for one in &processor.tlb.structures {
                let ways = one.ways.unwrap_or(one.entries);
                assert_eq!(one.entries % ways, 0, "{name}: {one:?}");
                assert!((one.entries / ways).is_power_of_two(), "{name}: {one:?}");
            }
        }
        assert!(processor("no such processor").is_none());
    }

    /// Returns the misses of one repetition over `pages` pages at a distance of `stride` pages, which are read, written
    /// and accessed repeatedly: the steady state.
    fn repeated(name: &str, pages: u64, stride: u64) -> u64 {
        let paging = Paging::of_base_page(4096).expect("a granule");
        let mut column = Column::new(&processor(name).expect("named"), paging, 4096);
        let mut repetition = || {
            (0..pages).fold(0, |walks, page| {
                let access = |kind| MemoryAccess {
                    kind,
                    address: (2 << 40) + page * stride * 4096,
                    bytes: 1,
                };
                walks + column.access(access(Kind::Load)) + column.access(access(Kind::Store))
            })
        };
        for _ in 0..4 {
            repetition();
        }
        repetition()
    }

    /// dTLB-load-misses published by B. Tolsch for a processor whose second level has 1024 entries in sets of 8, as in
    /// Haswell (github.com/Kobzol/hardware-effects, tlb-aliasing/README.md, 2018): pages, distance in pages, misses per
    /// repetition.
    const PUBLISHED: [(u64, u64, f64); 4] = [
        (8, 128, 0.04),
        (12, 128, 7.10),
        (16, 128, 11.97),
        (2000, 1, 1629.48),
    ];

    /// Least recently used is the worst policy for a cyclic pass over slightly more pages than fit: it always misses.
    /// The processor misses in 59 to 81 of a hundred accesses, so its replacement differs; if all pages fit, both miss
    /// nothing.
    #[test]
    fn published_counts_lie_below_the_model_and_agree_on_what_fits() {
        for (pages, stride, published) in PUBLISHED {
            let simulated = repeated("haswell", pages, stride);
            let fits = pages <= 8;
            assert_eq!(
                simulated,
                if fits { 0 } else { pages },
                "{pages} by {stride}"
            );
            let most = u32::try_from(simulated).expect("few");
            if fits {
                assert!(published < 0.1);
            } else {
                let ratio = f64::from(most) / published;
                assert!((1.2..1.7).contains(&ratio), "{pages} by {stride}: {ratio}");
            }
        }
    }
}
