use std::path::Path;

use blazesym::symbolize::source::{Elf, Source};
use blazesym::symbolize::{CodeInfo, Input, Sym, Symbolized, Symbolizer};
use hugewise_observe::faults::Symbol;

/// Finds the names of addresses in files, from debug information or the symbol table.
///
/// Reads files, not processes, because the process may have ended. Addresses in memory without a file (code of a
/// just-in-time compiler) have no name here.
#[derive(Debug, Default)]
pub struct Symbols {
    with_lines: Symbolizer,
    /// Separate, because a symbolizer caches the content of a file.
    names_only: Symbolizer,
}

impl Symbols {
    /// Returns the functions at offsets of a file, innermost inlined one first; empty if the file is gone, is not ELF,
    /// or has no symbol there.
    #[must_use]
    pub fn look_up(&self, file: &str, offsets: &[u64]) -> Vec<Vec<Symbol>> {
        let none = vec![Vec::new(); offsets.len()];
        if !Path::new(file).is_file() {
            return none;
        }
        let whole = Elf::new(file);
        let mut table = Elf::new(file);
        table.debug_syms = false;
        // Unreadable debug information, such as compressed sections, does not hide the symbol table.
        let found = [(&self.with_lines, whole), (&self.names_only, table)];
        let mut found = found.into_iter().filter_map(|(symbolizer, elf)| {
            let found = symbolizer.symbolize(&Source::Elf(elf), Input::FileOffset(offsets));
            Some(found.ok()?.iter().map(frames).collect())
        });
        found.next().unwrap_or(none)
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

#[cfg(test)]
mod tests {
    use std::fs;
    use std::process::Command;

    use object::{Object, ObjectSegment, ObjectSymbol};

    use super::*;

    /// Returns the offset of a function in its file; `None` without a C compiler that supports the flags.
    fn compiled(folder: &Path, flags: &[&str]) -> Option<(String, u64)> {
        let (source, program) = (folder.join("a.c"), folder.join("a"));
        let text = "__attribute__((noinline)) int touch_it(int x) { return 3 * x; }\n\
                    int main(int n, char **v) { return touch_it(n); }\n";
        fs::write(&source, text).expect("a source");
        let mut compiler = Command::new("cc");
        let compiler = compiler.args(flags).args(["-g", "-O1", "-o"]);
        let made = compiler.arg(&program).arg(&source).output().ok()?;
        if !made.status.success() {
            return None;
        }
        let bytes = fs::read(&program).expect("a program");
        let file = object::File::parse(&*bytes).expect("an ELF file");
        let mut symbols = file.symbols();
        let address = symbols.find(|it| it.name() == Ok("touch_it"))?.address();
        let mut segments = file.segments();
        let segment =
            segments.find(|it| (it.address()..it.address() + it.size()).contains(&address))?;
        let offset = address - segment.address() + segment.file_range().0;
        Some((program.to_string_lossy().into_owned(), offset))
    }

    #[expect(clippy::disallowed_macros, reason = "a skipped check is named")]
    #[test]
    fn compressed_debug_information_does_not_hide_names() {
        for flags in [&[][..], &["-gz=none"], &["-gz=zlib"], &["-gz=zstd"]] {
            let folder = tempfile::tempdir().expect("a folder");
            let Some((program, offset)) = compiled(folder.path(), flags) else {
                eprintln!("SKIP {flags:?}: no C compiler that knows the flags");
                continue;
            };
            let names = Symbols::default().look_up(&program, &[offset]);
            let name = names[0].first().map(|symbol| symbol.name.as_str());
            assert_eq!(name, Some("touch_it"), "{flags:?}");
        }
    }
}
