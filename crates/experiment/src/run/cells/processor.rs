//! Caches and TLBs as reported by the processor, for comparison with a measured curve.

use serde::{Deserialize, Serialize};

use crate::base::missing::{Fact, fact};
use crate::base::tlb::{Holds, Tlb};

/// Its caches and its translation buffers, or why they are unknown.
#[derive(Clone, Debug, Serialize, Deserialize, PartialEq, Eq)]
#[serde(deny_unknown_fields)]
pub struct Processor {
    /// Caches of data, nearest to the core first.
    #[serde(with = "fact")]
    pub caches: Fact<Vec<Cache>>,
    /// Translation buffers.
    #[serde(with = "fact")]
    pub tlb: Fact<Tlb>,
}

/// A cache that holds data.
#[derive(Clone, Copy, Debug, Serialize, Deserialize, PartialEq, Eq)]
#[serde(deny_unknown_fields)]
pub struct Cache {
    /// 1 is nearest to the core.
    pub level: u8,
    /// Its size.
    pub bytes: u64,
}

/// The amount of memory that one structure of a processor covers, and its name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TlbReach {
    /// Its name for users.
    pub name: String,
    /// Bytes of memory that fill it.
    pub bytes: u64,
    /// True for a structure of translations, false for data.
    pub translates: bool,
}

impl Processor {
    /// The expected steps in a curve of loads: the caches, and for each level of translation buffers the memory that
    /// they cover with this page size.
    #[must_use]
    pub fn reaches(&self, page_bytes: Option<u64>) -> Vec<TlbReach> {
        let caches = self.caches.iter().flatten().map(|cache| TlbReach {
            name: format!("L{} cache", cache.level),
            bytes: cache.bytes,
            translates: false,
        });
        let buffers = page_bytes.into_iter().flat_map(|page| self.buffers(page));
        let mut reaches: Vec<TlbReach> = caches.chain(buffers).collect();
        reaches.sort_by_key(|reach| reach.bytes);
        reaches
    }

    fn buffers(&self, page_bytes: u64) -> Vec<TlbReach> {
        let Ok(tlb) = &self.tlb else {
            return Vec::new();
        };
        let fitting = |level: u8| {
            tlb.structures.iter().filter(move |one| {
                one.level == level
                    && matches!(one.holds, Holds::Data | Holds::Both)
                    && one.page_bytes.contains(&page_bytes)
            })
        };
        let levels = (1..=4).filter(|&level| fitting(level).next().is_some());
        levels
            .map(|level| {
                let entries: u64 = fitting(level).map(|one| u64::from(one.entries)).sum();
                TlbReach {
                    name: format!("L{level} TLB, {entries} entries"),
                    bytes: entries * page_bytes,
                    translates: true,
                }
            })
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::missing::Missing;
    use crate::base::tlb::Structure;

    fn structure(level: u8, holds: Holds, page_bytes: &[u64], entries: u32) -> Structure {
        Structure {
            level,
            holds,
            page_bytes: page_bytes.to_vec(),
            entries,
            ways: None,
        }
    }

    #[test]
    fn reaches_are_caches_and_buffers_of_one_page_size() {
        let processor = Processor {
            caches: Ok(vec![
                Cache {
                    level: 1,
                    bytes: 32 << 10,
                },
                Cache {
                    level: 2,
                    bytes: 1 << 20,
                },
            ]),
            tlb: Ok(Tlb {
                source: String::new(),
                structures: vec![
                    structure(1, Holds::Data, &[4096], 64),
                    structure(1, Holds::Instructions, &[4096], 32),
                    structure(2, Holds::Both, &[4096, 2 << 20], 1024),
                ],
            }),
        };
        let told = |page| -> Vec<(String, u64)> {
            let reaches = processor.reaches(page).into_iter();
            reaches.map(|reach| (reach.name, reach.bytes)).collect()
        };
        let of = |name: &str, bytes: u64| (name.to_owned(), bytes);
        assert_eq!(
            told(Some(4096)),
            [
                of("L1 cache", 32 << 10),
                of("L1 TLB, 64 entries", 256 << 10),
                of("L2 cache", 1 << 20),
                of("L2 TLB, 1024 entries", 4 << 20),
            ]
        );
        assert_eq!(told(Some(2 << 20)).len(), 3);
        assert_eq!(told(None).len(), 2);
        let unknown = Processor {
            caches: Err(Missing::NotAsked),
            tlb: Err(Missing::NotAsked),
        };
        assert_eq!(unknown.reaches(Some(4096)), []);
    }
}
