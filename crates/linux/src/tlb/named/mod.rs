//! Processors other than the one under our hands, as files with their sources.

use hugewise_model::tlb::Tlb;
use hugewise_model::tlb::simulate::{Processor, WalkCache};
use serde::Deserialize;

/// One file.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Named {
    name: String,
    tlb: Tlb,
    walk_cache: Option<WalkCache>,
}

/// The files. A processor gets one when a manual tells entries and ways of both levels.
const FILES: [&str; 3] = [
    include_str!("jaguar.toml"),
    include_str!("neoverse-n1.toml"),
    include_str!("skylake.toml"),
];

/// The names, in order.
#[must_use]
pub fn names() -> Vec<String> {
    all().map(|named| named.name).collect()
}

/// The processor of this name.
#[must_use]
pub fn processor(name: &str) -> Option<Processor> {
    let named = all().find(|named| named.name == name)?;
    Some(Processor {
        tlb: named.tlb,
        walk_cache: named.walk_cache,
    })
}

/// A file that cannot be read is left out; the tests find it.
fn all() -> impl Iterator<Item = Named> {
    FILES.iter().filter_map(|text| toml::from_str(text).ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_file_is_read_and_its_sets_are_whole() {
        assert_eq!(names(), ["jaguar", "neoverse-n1", "skylake"]);
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
}
