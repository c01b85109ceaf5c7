//! How a plant checks itself: `smaps` and `pagemap` of its own process. It does not use `PAGEMAP_SCAN` and page frame
//! flags, which a measuring program reads first: a premise needs evidence independent of the judgement that it tests.

use std::fs::{self, File};
use std::os::unix::fs::FileExt;

use super::span::Span;
use crate::Trouble;
use crate::region::page_bytes;

/// One mapping, from `/proc/self/smaps`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Mapping {
    pub(crate) start: usize,
    pub(crate) end: usize,
    fields: Vec<(String, usize)>,
    flags: Vec<String>,
}

impl Mapping {
    /// A field in bytes; `None` if this kernel does not have it.
    pub(crate) fn field(&self, name: &str) -> Option<usize> {
        let field = self.fields.iter().find(|(known, _)| known == name);
        field.map(|&(_, bytes)| bytes)
    }

    /// Returns true if `VmFlags` includes these two letters.
    pub(crate) fn flag(&self, letters: &str) -> bool {
        self.flags.iter().any(|flag| flag == letters)
    }
}

/// The mappings of this process that overlap the span.
pub(crate) fn mappings(span: Span) -> Result<Vec<Mapping>, Trouble> {
    let overlapping = |each: &Mapping| each.start < span.end && span.start < each.end;
    Ok(all_mappings()?.into_iter().filter(overlapping).collect())
}

/// All mappings of this process.
pub(crate) fn all_mappings() -> Result<Vec<Mapping>, Trouble> {
    let bytes = fs::read("/proc/self/smaps")
        .map_err(|error| Trouble::Kernel("reading /proc/self/smaps", error))?;
    Ok(parse_smaps(&String::from_utf8_lossy(&bytes)))
}

/// Unknown lines are skipped: new kernels add some.
fn parse_smaps(text: &str) -> Vec<Mapping> {
    let mut mappings: Vec<Mapping> = Vec::new();
    for line in text.lines() {
        if let Some((start, end)) = bounds(line) {
            mappings.push(Mapping {
                start,
                end,
                ..Mapping::default()
            });
        } else if let (Some(last), Some((name, rest))) = (mappings.last_mut(), line.split_once(':'))
        {
            if name == "VmFlags" {
                last.flags = rest.split_whitespace().map(str::to_owned).collect();
            } else if let Some(kib) = rest.trim().strip_suffix(" kB")
                && let Ok(kib) = kib.trim().parse::<usize>()
            {
                last.fields.push((name.to_owned(), kib * 1024));
            }
        }
    }
    mappings
}

/// The addresses at the start of a mapping's first line.
fn bounds(line: &str) -> Option<(usize, usize)> {
    let (start, end) = line.split_whitespace().next()?.split_once('-')?;
    let address = |word| usize::from_str_radix(word, 16).ok();
    Some((address(start)?, address(end)?))
}

/// One page, from `/proc/self/pagemap` (Documentation/admin-guide/mm/pagemap.rst).
#[derive(Clone, Copy, Debug)]
pub(crate) struct Page(u64);

impl Page {
    pub(crate) fn present(self) -> bool {
        self.0 >> 63 & 1 == 1
    }

    pub(crate) fn swapped(self) -> bool {
        self.0 >> 62 & 1 == 1
    }

    /// A page of a file or of shared memory. The huge zero page counts as such too.
    pub(crate) fn of_file(self) -> bool {
        self.0 >> 61 & 1 == 1
    }
}

/// Every page of the span, mapped or not.
pub(crate) fn pages(span: Span) -> Result<Vec<Page>, Trouble> {
    let doing = "reading /proc/self/pagemap";
    let file = File::open("/proc/self/pagemap").map_err(|error| Trouble::Kernel(doing, error))?;
    let mut content = vec![0; span.pages() * 8];
    let at = span.start / page_bytes() * 8;
    file.read_exact_at(&mut content, at as u64)
        .map_err(|error| Trouble::Kernel(doing, error))?;
    let (entries, _) = content.as_chunks::<8>();
    Ok(entries
        .iter()
        .map(|entry| Page(u64::from_ne_bytes(*entry)))
        .collect())
}

/// A counter of `/proc/vmstat`; `None` if this kernel does not have it.
pub(crate) fn counter(name: &str) -> Option<u64> {
    let text = fs::read_to_string("/proc/vmstat").ok()?;
    let line = text
        .lines()
        .find_map(|line| line.strip_prefix(name)?.strip_prefix(' '));
    line?.trim().parse().ok()
}

/// A field of `/proc/self/status` in bytes.
pub(crate) fn status(name: &str) -> Option<usize> {
    field_bytes("/proc/self/status", name)
}

/// A field of `/proc/meminfo` in bytes.
pub(crate) fn meminfo(name: &str) -> Option<usize> {
    field_bytes("/proc/meminfo", name)
}

fn field_bytes(path: &str, name: &str) -> Option<usize> {
    let text = fs::read_to_string(path).ok()?;
    let line = text
        .lines()
        .find_map(|line| line.strip_prefix(name)?.strip_prefix(':'));
    let kib: usize = line?.trim().strip_suffix(" kB")?.trim().parse().ok()?;
    Some(kib * 1024)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mapping_has_bounds_fields_and_flags() {
        let text = "7f00-7f80 rw-p 00000000 00:00 0    [anon: a:b]\nRss:      8 kB\n\
            AnonHugePages:  2048 kB\nTHPeligible:           1\nVmFlags: rd wr hg \n\
            7f80-7fff ---p 00000000 00:00 0 \nRss:      0 kB\nVmFlags: mr\n";
        let found = parse_smaps(text);
        assert_eq!(found.len(), 2);
        assert_eq!((found[0].start, found[0].end), (0x7f00, 0x7f80));
        assert_eq!(found[0].field("AnonHugePages"), Some(2048 * 1024));
        assert_eq!(found[0].field("KSM"), None);
        assert!(found[0].flag("hg") && !found[0].flag("nh"));
        assert_eq!(found[1].field("Rss"), Some(0));
    }
}
