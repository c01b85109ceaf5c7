use std::path::Path;

use blazesym::symbolize::source::{Elf, Source};
use blazesym::symbolize::{CodeInfo, Input, Sym, Symbolized, Symbolizer};
use hugewise_model::observe::faults::Symbol;

/// Names of places inside files, from debug information or the symbol table.
///
/// Files are asked, not processes: what ran may be over. Addresses in memory that no file
/// backs (code of a just-in-time compiler) have no name here.
#[derive(Debug, Default)]
pub struct Symbols {
    symbolizer: Symbolizer,
}

impl Symbols {
    /// The functions at offsets of a file, innermost inlined one first; nothing where the file
    /// is gone, is not an ELF file, or has no symbol there.
    #[must_use]
    pub fn look_up(&self, file: &str, offsets: &[u64]) -> Vec<Vec<Symbol>> {
        let none = vec![Vec::new(); offsets.len()];
        if !Path::new(file).is_file() {
            return none;
        }
        let source = Source::Elf(Elf::new(file));
        match self
            .symbolizer
            .symbolize(&source, Input::FileOffset(offsets))
        {
            Ok(found) => found.iter().map(frames).collect(),
            Err(_) => none,
        }
    }
}

fn frames(found: &Symbolized<'_>) -> Vec<Symbol> {
    let Symbolized::Sym(symbol) = found else {
        return Vec::new();
    };
    let inlined = symbol.inlined.iter().rev().map(|inner| Symbol {
        name: inner.name.to_string(),
        place: inner.code_info.as_ref().and_then(place),
    });
    inlined.chain([function(symbol)]).collect()
}

fn function(symbol: &Sym<'_>) -> Symbol {
    Symbol {
        name: symbol.name.to_string(),
        place: symbol.code_info.as_deref().and_then(place),
    }
}

fn place(code: &CodeInfo<'_>) -> Option<String> {
    let line = code.line?;
    let file = Path::new(&code.file);
    let name = file.file_name().unwrap_or(file.as_os_str());
    Some(format!("{}:{line}", name.to_string_lossy()))
}
