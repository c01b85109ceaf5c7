//! The processor to simulate.

use anyhow::Result;
use hugewise_linux::machine::root::Root;
use hugewise_linux::tlb::{named, read_tlb};
use hugewise_tlb::simulation::{Paging, Processor};

use crate::exit;
use hugewise_text::suggest::hint;

/// The name of the processor of this machine.
const OWN: &str = "own";

/// The processor of this name, or of this machine.
pub(super) fn named(root: &Root, name: Option<&str>) -> Result<Processor> {
    let name = name.unwrap_or(OWN);
    if name == OWN {
        let tlb = read_tlb(root).map_err(|missing| {
            let names = named::names().join(", ");
            exit::refused(format!(
                "this processor: {missing}; name one: --cpu {names}"
            ))
        })?;
        return Ok(Processor {
            tlb,
            walk_cache: None,
        });
    }
    named::processor(name).ok_or_else(|| {
        let names = named::names();
        let known = std::iter::once(OWN).chain(names.iter().map(String::as_str));
        exit::usage(format!("--cpu {name}: {}", hint(name, known)))
    })
}

/// The page tables of this machine.
pub(super) fn paging(page_bytes: u64) -> Result<Paging> {
    Paging::of_base_page(page_bytes).ok_or_else(|| {
        exit::refused(format!(
            "no page tables are known for pages of {page_bytes} bytes"
        ))
    })
}
