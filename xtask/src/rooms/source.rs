//! The modules of a crate, and the paths by which each names others, from its tokens.
//!
//! It uses tokens instead of a syntax tree, so that paths inside macro calls count too.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use proc_macro2::{Delimiter, TokenStream, TokenTree};

use super::graph::{Edge, Graph};

/// The names on the path to a module from the root of its crate.
type ModulePath = Vec<String>;

/// The modules of a crate outside tests.
#[derive(Debug, Default)]
pub struct Crate {
    modules: BTreeMap<ModulePath, Module>,
}

/// The names used by one module.
#[derive(Debug, Default)]
struct Module {
    file: PathBuf,
    /// Paths as written, with their line.
    paths: Vec<(Vec<String>, usize)>,
    /// Names imported by `use`.
    aliases: BTreeMap<String, Vec<String>>,
}

/// Reads a crate from its `src` folder.
///
/// # Errors
///
/// A file is missing, unreadable or not Rust.
pub fn read_crate(src: &Path) -> Result<Crate> {
    let mut krate = Crate::default();
    let root = ["lib.rs", "main.rs"].map(|name| src.join(name));
    let root = root.into_iter().find(|path| path.exists());
    let root = root.with_context(|| format!("{} has no lib.rs and no main.rs", src.display()))?;
    krate.read_file(&root, src, &[])?;
    Ok(krate)
}

impl Crate {
    /// Returns the imports between the modules directly below `folder`.
    pub fn graph(&self, folder: &[&str]) -> Graph {
        let child = |path: &[String]| -> Option<String> {
            let inside = path.iter().zip(folder).all(|(a, b)| a == b);
            path.get(folder.len()).filter(|_| inside).cloned()
        };
        let mut graph = Graph::new(self.modules.keys().filter_map(|path| child(path)));
        for (from, module) in &self.modules {
            for (path, line) in &module.paths {
                for to in self.resolve(from, path, 0) {
                    if let (Some(from), Some(to)) = (child(from), child(&to)) {
                        let place = format!("{}:{line}", module.file.display());
                        graph.add(Edge { from, to, place });
                    }
                }
            }
        }
        graph
    }

    /// Returns the modules on a path, following names imported by `use`; empty if the path leaves the crate.
    fn resolve(&self, from: &ModulePath, path: &[String], depth: usize) -> Vec<ModulePath> {
        let Some((start, mut rest)) = self.start(from, path) else {
            return Vec::new();
        };
        let mut at = start;
        while let Some((name, more)) = rest.split_first() {
            let mut inner = at.clone();
            inner.push(name.clone());
            if self.modules.contains_key(&inner) {
                (at, rest) = (inner, more);
            } else if let Some(alias) = self.modules[&at].aliases.get(name)
                && depth < 8
            {
                let through: Vec<String> = alias.iter().chain(more).cloned().collect();
                let mut found = self.resolve(&at, &through, depth + 1);
                found.push(at);
                return found;
            } else {
                break;
            }
        }
        vec![at]
    }

    /// Returns the start of a path, and the remaining segments.
    fn start<'a>(
        &self,
        from: &ModulePath,
        path: &'a [String],
    ) -> Option<(ModulePath, &'a [String])> {
        let first = path.first()?;
        if first == "crate" {
            return Some((Vec::new(), &path[1..]));
        }
        let supers = path.iter().take_while(|name| *name == "super").count();
        if first == "self" || supers > 0 {
            let kept = from.len().checked_sub(supers)?;
            return Some((from[..kept].to_vec(), &path[supers.max(1)..]));
        }
        let mut child = from.clone();
        child.push(first.clone());
        let local =
            self.modules.contains_key(&child) || self.modules[from].aliases.contains_key(first);
        local.then(|| (from.clone(), path))
    }

    /// Reads a file; `folder` contains the files of its child modules.
    fn read_file(&mut self, file: &Path, folder: &Path, path: &[String]) -> Result<()> {
        let text =
            std::fs::read_to_string(file).with_context(|| format!("reading {}", file.display()))?;
        let tokens: TokenStream = text
            .parse()
            .map_err(|error| anyhow::anyhow!("{}: {error}", file.display()))?;
        self.read_module(tokens, file, folder, path)
    }

    fn read_module(
        &mut self,
        tokens: TokenStream,
        file: &Path,
        folder: &Path,
        path: &[String],
    ) -> Result<()> {
        let mut scan = Scan::default();
        scan.tokens(tokens);
        let known = file.file_name().map(PathBuf::from).unwrap_or_default();
        let module = Module {
            file: path.first().map_or(known, |_| below_src(file)),
            paths: scan.paths,
            aliases: scan.aliases,
        };
        self.modules.insert(path.to_vec(), module);
        for (name, body) in scan.children {
            let mut child = path.to_vec();
            child.push(name.clone());
            let inner = folder.join(&name);
            match body {
                Some(tokens) => self.read_module(tokens, file, &inner, &child)?,
                None => {
                    let flat = folder.join(format!("{name}.rs"));
                    let nested = inner.join("mod.rs");
                    let file = if flat.exists() { flat } else { nested };
                    self.read_file(&file, &inner, &child)?;
                }
            }
        }
        Ok(())
    }
}

/// Returns the path of a file within its crate.
fn below_src(file: &Path) -> PathBuf {
    let parts: Vec<_> = file.components().collect();
    let src = parts.iter().rposition(|part| part.as_os_str() == "src");
    parts[src.map_or(0, |at| at + 1)..].iter().collect()
}

/// The findings in the tokens of one module.
#[derive(Default)]
struct Scan {
    paths: Vec<(Vec<String>, usize)>,
    aliases: BTreeMap<String, Vec<String>>,
    children: Vec<(String, Option<TokenStream>)>,
}

impl Scan {
    fn tokens(&mut self, tokens: TokenStream) {
        let tokens: Vec<TokenTree> = tokens.into_iter().collect();
        let mut rest = tokens.as_slice();
        while let Some((first, more)) = rest.split_first() {
            rest = match first {
                TokenTree::Punct(mark) if mark.as_char() == '#' => after_attribute(more),
                TokenTree::Ident(word) if word == "mod" => self.child(more),
                TokenTree::Ident(word) if word == "use" => {
                    let end = more.iter().position(|token| is(token, ';'));
                    let (tree, after) = more.split_at(end.unwrap_or(more.len()));
                    self.imports(&[], tree);
                    after
                }
                TokenTree::Ident(_) => self.path(rest),
                TokenTree::Group(group) => {
                    self.tokens(group.stream());
                    more
                }
                _ => more,
            };
        }
    }

    /// Parses `NAME;` or `NAME { … }` after `mod`.
    fn child<'a>(&mut self, tokens: &'a [TokenTree]) -> &'a [TokenTree] {
        match tokens {
            [TokenTree::Ident(name), end, rest @ ..] if is(end, ';') => {
                self.children.push((name.to_string(), None));
                rest
            }
            [TokenTree::Ident(name), TokenTree::Group(body), rest @ ..] => {
                let body = Some(body.stream());
                self.children.push((name.to_string(), body));
                rest
            }
            _ => tokens,
        }
    }

    /// Parses a path in an expression or a type, with at least two names.
    fn path<'a>(&mut self, tokens: &'a [TokenTree]) -> &'a [TokenTree] {
        let line = tokens[0].span().start().line;
        let (names, rest) = names(tokens);
        if names.len() > 1 {
            self.paths.push((names, line));
        }
        rest
    }

    /// Parses the tree of a `use` below a prefix.
    fn imports(&mut self, before: &[String], tree: &[TokenTree]) {
        for branch in tree.split(|token| is(token, ',')) {
            let Some(first) = branch.first() else {
                continue;
            };
            let (names, rest) = names(branch);
            let mut path = before.to_vec();
            path.extend(names);
            if let [TokenTree::Group(group)] = rest {
                let inner: Vec<TokenTree> = group.stream().into_iter().collect();
                self.imports(&path, &inner);
                continue;
            }
            if before.last().is_some() && path.last().is_some_and(|name| name == "self") {
                path.pop();
            }
            let name = match rest {
                [TokenTree::Ident(word), TokenTree::Ident(name)] if word == "as" => {
                    Some(name.to_string())
                }
                _ => path.last().cloned(),
            };
            self.paths.push((path.clone(), first.span().start().line));
            self.aliases.extend(name.map(|name| (name, path)));
        }
    }
}

/// Splits off names joined by `::`, and returns the rest.
fn names(mut tokens: &[TokenTree]) -> (Vec<String>, &[TokenTree]) {
    let mut names = Vec::new();
    while let [TokenTree::Ident(name), rest @ ..] = tokens {
        names.push(name.to_string());
        match rest {
            [first, second, rest @ ..] if is(first, ':') && is(second, ':') => tokens = rest,
            _ => return (names, rest),
        }
    }
    (names, tokens)
}

/// Skips an attribute, and also its item if that is only built for tests.
fn after_attribute(tokens: &[TokenTree]) -> &[TokenTree] {
    let tokens = match tokens {
        [mark, rest @ ..] if is(mark, '!') => rest,
        _ => tokens,
    };
    let [TokenTree::Group(attribute), rest @ ..] = tokens else {
        return tokens;
    };
    let text: String = attribute.stream().to_string().split_whitespace().collect();
    if text != "cfg(test)" {
        return rest;
    }
    let ends = |token: &TokenTree| match token {
        TokenTree::Group(group) => group.delimiter() == Delimiter::Brace,
        token => is(token, ';'),
    };
    let end = rest.iter().position(ends);
    &rest[end.map_or(rest.len(), |end| end + 1)..]
}

fn is(token: &TokenTree, mark: char) -> bool {
    matches!(token, TokenTree::Punct(punct) if punct.as_char() == mark)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the edges of a crate with one file, each as `from→to`.
    fn edges(text: &str, folder: &[&str]) -> Vec<String> {
        let mut krate = Crate::default();
        let tokens = text.parse().unwrap();
        let file = Path::new("src/lib.rs");
        let read = krate.read_module(tokens, file, Path::new("src"), &[]);
        read.unwrap();
        let graph = krate.graph(folder);
        let names = ["a", "b", "c", "d"];
        let edges = names.iter().flat_map(|name| graph.edges_of(name));
        edges
            .map(|edge| format!("{}→{}", edge.from, edge.to))
            .collect()
    }

    #[test]
    fn every_path_counts_but_those_of_tests_and_documentation() {
        let text = "
            /// See [`crate::d::D`].
            mod a { use crate::{b::{self, B}, c as other}; fn f() { b::g() } }
            mod b { macro_rules! m { () => { $crate::c::C } } }
            mod c { #[cfg(test)] mod tests { use crate::a::A; } #[cfg(test)] use super::a; }
            mod d { fn f() { println!(\"{}\", super::a::X); std::b::f(); } }";
        assert_eq!(edges(text, &[]), ["a→b", "a→c", "b→c", "d→a"]);
    }

    #[test]
    fn what_a_folder_hands_on_is_followed_to_its_room() {
        let text = "
            pub mod run { pub use a::A; mod a { } mod b { use crate::run::A; } mod c { use super::b; } }";
        assert_eq!(edges(text, &["run"]), ["b→a", "c→b"]);
        assert!(edges(text, &[]).is_empty());
    }
}
