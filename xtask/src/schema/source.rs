//! The types of some crates by their paths, and the names that each module imports.

use std::collections::BTreeMap;
use std::fmt;
use std::fs;
use std::path::Path;

use anyhow::{Context, Result};
use syn::parse::Parser;
use syn::{Attribute, Expr, GenericArgument, Item, Lit, Meta, PathArguments, Type, UseTree};

/// A type by its module and its name.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct TypePath {
    module: Vec<String>,
    pub(super) name: String,
}

impl TypePath {
    pub(super) fn new(module: &str, name: &str) -> Self {
        Self {
            module: module.split("::").map(str::to_owned).collect(),
            name: name.to_owned(),
        }
    }

    /// Returns its name behind that of its module.
    pub(super) fn with_module(&self) -> String {
        let module = self.module.last().map_or("", String::as_str);
        format!("{module}::{}", self.name)
    }
}

impl fmt::Display for TypePath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}::{}", self.module.join("::"), self.name)
    }
}

/// One module.
#[derive(Default)]
struct Module {
    types: BTreeMap<String, Item>,
    /// Paths by the names that `use` brings in.
    imports: BTreeMap<String, Vec<String>>,
}

impl Module {
    /// Keeps the types and imports among some items.
    fn take_in(&mut self, items: Vec<Item>) {
        for item in items {
            match item {
                Item::Struct(ref it) => {
                    self.types.insert(it.ident.to_string(), item);
                }
                Item::Enum(ref it) => {
                    self.types.insert(it.ident.to_string(), item);
                }
                Item::Type(ref it) => {
                    self.types.insert(it.ident.to_string(), item);
                }
                Item::Use(it) => import(&it.tree, &[], &mut self.imports),
                Item::Macro(it) if it.mac.path.is_ident("words") => {
                    let inner = syn::parse2::<syn::ItemEnum>(it.mac.tokens);
                    self.take_in(inner.ok().map(word).into_iter().collect());
                }
                _ => {}
            }
        }
    }
}

/// Returns an enum of words as `run::policy::words` makes it: a value is its name in lower case.
fn word(mut item: syn::ItemEnum) -> Item {
    let attribute = "#[derive(Serialize)] #[serde(rename_all = \"lowercase\")]";
    let added = Attribute::parse_outer.parse_str(attribute);
    item.attrs.extend(added.into_iter().flatten());
    Item::Enum(item)
}

/// The modules of some crates, each behind the name of its crate.
pub(super) struct Source {
    modules: BTreeMap<Vec<String>, Module>,
}

impl Source {
    /// Reads every file of the crates, which are given by their names and folders.
    pub(super) fn read(crates: &[(&str, &str)]) -> Result<Self> {
        let mut source = Self {
            modules: BTreeMap::new(),
        };
        for (name, folder) in crates {
            source.folder(Path::new(folder), &[(*name).to_owned()])?;
        }
        Ok(source)
    }

    fn folder(&mut self, folder: &Path, module: &[String]) -> Result<()> {
        let entries =
            fs::read_dir(folder).with_context(|| format!("reading {}", folder.display()))?;
        for entry in entries {
            let path = entry?.path();
            let name = path.file_stem().unwrap_or_default().to_string_lossy();
            let inner: Vec<String> = match name.as_ref() {
                "mod" | "lib" => module.to_vec(),
                _ => [module, &[name.to_string()]].concat(),
            };
            if path.is_dir() {
                self.folder(&path, &inner)?;
            } else if path.extension().is_some_and(|it| it == "rs") {
                self.file(&path, inner)?;
            }
        }
        Ok(())
    }

    fn file(&mut self, path: &Path, module: Vec<String>) -> Result<()> {
        let reading = || format!("reading {}", path.display());
        let text = fs::read_to_string(path).with_context(reading)?;
        let file = syn::parse_file(&text).with_context(reading)?;
        let mut found = Module::default();
        found.take_in(file.items);
        self.modules.insert(module, found);
        Ok(())
    }

    /// Returns the definition of a type.
    pub(super) fn item(&self, path: &TypePath) -> Result<&Item> {
        let module = self.modules.get(&path.module);
        let item = module.and_then(|module| module.types.get(&path.name));
        item.with_context(|| format!("{path} is no type of the crates"))
    }

    /// Finds the type that a path names inside the module of another type.
    pub(super) fn resolve(&self, at: &TypePath, path: &syn::Path) -> Result<TypePath> {
        let words: Vec<String> = path
            .segments
            .iter()
            .map(|it| it.ident.to_string())
            .collect();
        let found = self.follow(&at.module, &words, 0);
        found.with_context(|| {
            format!(
                "{at} names {}, but no crate has such a type",
                words.join("::")
            )
        })
    }

    fn follow(&self, at: &[String], words: &[String], depth: usize) -> Option<TypePath> {
        let module = self.modules.get(at).filter(|_| depth < 16)?;
        let (first, rest) = words.split_first()?;
        let go = |at: &[String], words: &[String]| self.follow(at, words, depth + 1);
        match first.as_str() {
            "crate" => return go(at.get(..1)?, rest),
            "self" => return go(at, rest),
            "super" => return go(&at[..at.len().checked_sub(1)?], rest),
            _ => {}
        }
        if rest.is_empty() && module.types.contains_key(first) {
            return Some(TypePath {
                module: at.to_vec(),
                name: first.clone(),
            });
        }
        // A function may have the name of its module, but only a module has more words behind it.
        let inner = [at, std::slice::from_ref(first)].concat();
        if !rest.is_empty() && self.modules.contains_key(&inner) {
            return go(&inner, rest);
        }
        if let Some(import) = module.imports.get(first) {
            return go(at, &[import, rest].concat());
        }
        self.modules
            .contains_key(std::slice::from_ref(first))
            .then(|| go(std::slice::from_ref(first), rest))?
    }
}

/// Notes the names that a `use` brings in.
fn import(tree: &UseTree, lead: &[String], imports: &mut BTreeMap<String, Vec<String>>) {
    let with = |ident: &syn::Ident| [lead, &[ident.to_string()]].concat();
    match tree {
        UseTree::Path(it) => import(&it.tree, &with(&it.ident), imports),
        UseTree::Group(it) => it.items.iter().for_each(|it| import(it, lead, imports)),
        UseTree::Name(it) if it.ident == "self" => {
            let name = lead.last().cloned().unwrap_or_default();
            imports.insert(name, lead.to_vec());
        }
        UseTree::Name(it) => {
            imports.insert(it.ident.to_string(), with(&it.ident));
        }
        UseTree::Rename(it) => {
            imports.insert(it.rename.to_string(), with(&it.ident));
        }
        UseTree::Glob(_) => {}
    }
}

/// Returns true when a name is a parameter of a type.
pub(super) fn is_parameter(item: &Item, name: &str) -> bool {
    let generics = match item {
        Item::Struct(item) => &item.generics,
        Item::Enum(item) => &item.generics,
        _ => return false,
    };
    generics.type_params().any(|it| it.ident == name)
}

/// Returns true when a type derives how it is written or read.
pub(super) fn is_serde(item: &Item) -> bool {
    let attributes = match item {
        Item::Struct(item) => &item.attrs,
        Item::Enum(item) => &item.attrs,
        _ => return false,
    };
    attributes.iter().any(|it| {
        let Meta::List(list) = &it.meta else {
            return false;
        };
        let derived = list.tokens.to_string();
        list.path.is_ident("derive")
            && (derived.contains("Serialize") || derived.contains("Deserialize"))
    })
}

/// Returns the types between the angle brackets of a path.
pub(super) fn arguments(path: &syn::Path) -> Vec<&Type> {
    let last = path.segments.last().map(|it| &it.arguments);
    let Some(PathArguments::AngleBracketed(found)) = last else {
        return Vec::new();
    };
    let types = found.args.iter().filter_map(|it| match it {
        GenericArgument::Type(ty) => Some(ty),
        _ => None,
    });
    types.collect()
}

/// Returns the first paragraph of a documentation comment, without the marks of links.
pub(super) fn doc(attributes: &[Attribute]) -> String {
    let lines = attributes.iter().filter_map(|it| match &it.meta {
        Meta::NameValue(it) if it.path.is_ident("doc") => match &it.value {
            Expr::Lit(it) => match &it.lit {
                Lit::Str(text) => Some(text.value().trim().to_owned()),
                _ => None,
            },
            _ => None,
        },
        _ => None,
    });
    let lines: Vec<String> = lines.take_while(|line| !line.is_empty()).collect();
    without_links(&lines.join(" "))
}

/// Returns a text without brackets, addresses and code marks, with the null of JSON.
fn without_links(text: &str) -> String {
    let mut plain = String::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once("](") {
        plain.push_str(before);
        rest = after.split_once(')').map_or("", |(_, after)| after);
    }
    plain.push_str(rest);
    let plain = plain.replace("`None`", "null");
    plain.replace(['[', ']', '`'], "")
}
