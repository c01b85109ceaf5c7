//! `docs/reference/format-*.md`: every type of each document in JSON, from its source.
//!
//! A page follows the fields from one type to the next, so it lists every possible key of the document.

use std::collections::{BTreeSet, VecDeque};

use anyhow::{Result, ensure};
use hugewise_text::document::{Document, Paragraph, Section};
use hugewise_text::grid::{Align, Grid};
use syn::{Fields, Item, Type};

use names::{Tagging, container, field, variant};
use source::{Source, TypePath, doc};

pub use pages::{PAGES, Page};

mod names;
mod pages;
mod source;

/// The crates with types of the documents, and their sources.
const CRATES: [(&str, &str); 10] = [
    ("hugewise_advise", "crates/advise/src"),
    ("hugewise_attribute", "crates/attribute/src"),
    ("hugewise_base", "crates/base/src"),
    ("hugewise_experiment", "crates/experiment/src"),
    ("hugewise_stats", "crates/stats/src"),
    ("hugewise_fleet", "crates/fleet/src"),
    ("hugewise_monitor", "crates/monitor/src"),
    ("hugewise_observe", "crates/observe/src"),
    ("hugewise_text", "crates/text/src"),
    ("hugewise_tlb", "crates/tlb/src"),
];

/// Types with a custom or external serialiser, with their JSON form.
const BY_HAND: [(&str, &str); 7] = [
    ("Code", "name of a reason"),
    ("Duration", "seconds"),
    ("MetricId", "name of a metric"),
    ("PathBuf", "text"),
    ("Readings", "Reading, by name of a metric"),
    ("Value", "any value"),
    ("Warning", "sentence"),
];

/// The text forms of types that JSON stores as text.
const TEXTS: [(&str, &str); 11] = [
    ("Cell", "words joined by /"),
    (
        "Choice",
        "KIND:all, KIND:none, or KIND: and sites joined by +",
    ),
    ("Collapse", "after:TIME or every:TIME"),
    ("Condition", "a comparison of facts"),
    ("HostMemory", "as-is, warm, or rest:TIME"),
    ("LatencySource", "as --latency has it"),
    ("Permissions", "as in /proc/PID/maps"),
    ("Range", "bounds of a version, as >=7.0"),
    ("Ready", "as --ready has it"),
    (
        "Site",
        "heap, data, NUMBER-SIZE, xHASH-SIZE, lHASH, or a part of one",
    ),
    ("StopSignal", "the name or number of a signal"),
];

/// Builds each page with its types.
///
/// # Errors
/// A source file does not parse, or a type is not found.
pub fn documents() -> Result<Vec<(&'static Page, Document)>> {
    let source = Source::read(&CRATES)?;
    let made = PAGES
        .iter()
        .map(|page| Ok((page, document(page, &source)?)));
    made.collect()
}

fn document(page: &Page, source: &Source) -> Result<Document> {
    // The second pass uses the set of shared names.
    let first = Reader::of(source, page, BTreeSet::new()).all()?;
    let reached = first.into_iter().map(|(path, _)| path).collect();
    let all = Reader::of(source, page, reached).all()?;
    let how = "Each section below is a type, each row a field or a value. A type in the second column has a section \
               of its own.";
    let lead = Section::default().with(Paragraph::new(how));
    let sections = all.into_iter().map(|(_, section)| section);
    Ok(Document::new(std::iter::once(lead).chain(sections)))
}

/// Reads types until no new one appears.
struct Reader<'a> {
    source: &'a Source,
    /// Types on the page.
    reached: BTreeSet<TypePath>,
    open: VecDeque<TypePath>,
}

impl<'a> Reader<'a> {
    fn of(source: &'a Source, page: &Page, reached: BTreeSet<TypePath>) -> Self {
        let roots = page.roots.iter();
        Self {
            source,
            reached,
            open: roots
                .map(|(module, name)| TypePath::new(module, name))
                .collect(),
        }
    }

    /// Returns a section for each type, in order of first use.
    fn all(mut self) -> Result<Vec<(TypePath, Section)>> {
        let mut sections: Vec<(TypePath, Section)> = Vec::new();
        while let Some(path) = self.open.pop_front() {
            if sections.iter().all(|(known, _)| *known != path) {
                let section = self.section(&path)?;
                sections.push((path, section));
            }
        }
        Ok(sections)
    }

    fn section(&mut self, path: &TypePath) -> Result<Section> {
        let item = self.source.item(path)?;
        ensure!(
            source::is_serde(item),
            "{path} writes itself; give it a line in BY_HAND"
        );
        let mut grid = Grid::headed(&["name", "holds", "meaning"]);
        grid.align = vec![Align::Left, Align::Left, Align::Wrapped];
        let (attributes, how) = match item {
            Item::Struct(item) => {
                let names = container(&item.attrs)?;
                if let Some(into) = names.into {
                    return self.stand_in(path, &item.attrs, &into);
                }
                self.fields(&mut grid, path, &item.fields, "", names.rename_all)?;
                let how = match item.fields {
                    Fields::Unnamed(_) => "In JSON it is the one value that it holds.",
                    _ => "",
                };
                (&item.attrs, how.to_owned())
            }
            Item::Enum(item) => {
                let names = container(&item.attrs)?;
                if let Some(into) = names.into {
                    return self.stand_in(path, &item.attrs, &into);
                }
                for it in &item.variants {
                    self.variant(&mut grid, path, it, &names)?;
                }
                (&item.attrs, names.tagging.sentence())
            }
            _ => anyhow::bail!("{path} is neither a struct nor an enum"),
        };
        let lead = [doc(attributes), how].join(" ");
        let lead = Paragraph::new(lead.trim());
        let section = Section::titled(self.title(path)).with(lead);
        Ok(section.with(grid))
    }

    /// Returns the section of a type that JSON stores as another one.
    fn stand_in(
        &mut self,
        path: &TypePath,
        attributes: &[syn::Attribute],
        into: &str,
    ) -> Result<Section> {
        let holds = self.holds(path, &syn::parse_str(into)?)?;
        let form = TEXTS.iter().find(|it| it.0 == path.name);
        let form = form.map_or_else(String::new, |(_, form)| format!(": {form}"));
        let lead = format!("{} In JSON it is {holds}{form}.", doc(attributes));
        Ok(Section::titled(self.title(path)).with(Paragraph::new(lead.trim())))
    }

    /// Returns the name of a type, with its module when two types share the name.
    fn title(&self, path: &TypePath) -> String {
        let same = self.reached.iter().filter(|it| it.name == path.name);
        match same.count() {
            0 | 1 => path.name.clone(),
            _ => path.with_module(),
        }
    }

    fn variant(
        &mut self,
        grid: &mut Grid,
        path: &TypePath,
        it: &syn::Variant,
        names: &names::Container,
    ) -> Result<()> {
        let name = variant(it, names)?;
        let meaning = doc(&it.attrs);
        match &it.fields {
            Fields::Unit => grid.push([name.unwrap_or_default(), String::new(), meaning]),
            Fields::Unnamed(fields) => {
                let types = fields.unnamed.iter();
                let types: Result<Vec<String>> = types.map(|it| self.holds(path, &it.ty)).collect();
                let shown = match names.tagging {
                    Tagging::None => String::new(),
                    _ => name.unwrap_or_default(),
                };
                grid.push([shown, types?.join(", "), meaning]);
            }
            Fields::Named(_) => {
                let name = name.unwrap_or_default();
                grid.push([name.clone(), "fields".to_owned(), meaning]);
                self.fields(grid, path, &it.fields, &format!("{name}: "), None)?;
            }
        }
        Ok(())
    }

    fn fields(
        &mut self,
        grid: &mut Grid,
        path: &TypePath,
        fields: &Fields,
        lead: &str,
        rename: Option<names::Case>,
    ) -> Result<()> {
        for it in fields {
            let Some(known) = field(it, rename)? else {
                continue;
            };
            let mut holds = self.holds(path, &it.ty)?;
            let name = match (known.is_flat, &known.name) {
                (true, _) => {
                    holds = format!("the fields of {holds}");
                    String::new()
                }
                (false, Some(name)) => format!("{lead}{name}"),
                (false, None) => String::new(),
            };
            if known.is_optional {
                holds = format!("{holds}, left out when empty");
            }
            grid.push([name, holds, doc(&it.attrs)]);
        }
        Ok(())
    }

    /// Returns a type in words, and queues the types that it mentions.
    fn holds(&mut self, at: &TypePath, ty: &Type) -> Result<String> {
        let inner = |reader: &mut Self, ty: &Type| reader.holds(at, ty);
        match ty {
            Type::Reference(it) => inner(self, &it.elem),
            Type::Array(it) => Ok(list_of(&inner(self, &it.elem)?)),
            Type::Slice(it) => Ok(list_of(&inner(self, &it.elem)?)),
            Type::Tuple(it) => {
                let parts: Result<Vec<String>> =
                    it.elems.iter().map(|it| inner(self, it)).collect();
                Ok(format!("list of {}", parts?.join(" and ")))
            }
            Type::Path(it) => self.named(at, &it.path),
            _ => anyhow::bail!("{at} has a type that JSON does not"),
        }
    }

    fn named(&mut self, at: &TypePath, path: &syn::Path) -> Result<String> {
        let last = path.segments.last().map(|it| it.ident.to_string());
        let name = last.unwrap_or_default();
        let of: Vec<&Type> = source::arguments(path);
        let plain = match name.as_str() {
            "f64" | "f32" => Some("number"),
            "u8" | "u16" | "u32" | "u64" | "u128" | "usize" | "i32" | "i64" => Some("whole number"),
            "bool" => Some("true or false"),
            "String" | "str" | "Cow" | "char" => Some("text"),
            _ => BY_HAND.iter().find(|it| it.0 == name).map(|it| it.1),
        };
        if let Some(plain) = plain {
            return Ok(plain.to_owned());
        }
        match (name.as_str(), &of[..]) {
            ("Self", []) => Ok(self.title(at)),
            ("Option", [inner]) => Ok(format!("{} or null", self.holds(at, inner)?)),
            ("Box", [inner]) => self.holds(at, inner),
            ("Result", [inner, _]) | ("Fact", [inner]) => {
                let inner = self.holds(at, inner)?;
                Ok(format!(
                    "{inner}, or an object whose only key missing holds Missing"
                ))
            }
            ("Vec" | "BTreeSet", [inner]) => Ok(list_of(&self.holds(at, inner)?)),
            ("BTreeMap", [key, inner]) => {
                let (key, inner) = (self.holds(at, key)?, self.holds(at, inner)?);
                Ok(format!("{inner}, by {key}"))
            }
            _ if source::is_parameter(self.source.item(at)?, &name) => Ok(name),
            _ => self.of_source(at, path, &of),
        }
    }

    /// Returns the name of a type of the source, which gets a section.
    fn of_source(&mut self, at: &TypePath, path: &syn::Path, of: &[&Type]) -> Result<String> {
        let found = self.source.resolve(at, path)?;
        if let Item::Type(alias) = self.source.item(&found)? {
            return self.holds(&found, &alias.ty);
        }
        let title = self.title(&found);
        self.open.push_back(found);
        let of: Result<Vec<String>> = of.iter().map(|it| self.holds(at, it)).collect();
        match &of?[..] {
            [] => Ok(title),
            of => Ok(format!("{title} of {}", of.join(" and "))),
        }
    }
}

/// Returns a list in words.
fn list_of(of: &str) -> String {
    match of {
        "number" | "whole number" | "text" | "sentence" => format!("list of {of}s"),
        _ => format!("list of {of}"),
    }
}
