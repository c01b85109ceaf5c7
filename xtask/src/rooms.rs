//! Whether the rooms of each crate still form a line: which module imports which, without a cycle.
//!
//! The edges come from the paths in the code that is built, `use` or not; tests and the words of
//! documentation do not count. A parent may name its children and they may name it: that is one
//! room. Between rooms of one folder, an import in both directions is a cycle.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use clap::Args;

use graph::Graph;
use source::Crate;

mod graph;
mod source;

/// Crates whose modules still form a cycle, each with the module that it has once it is in order.
const NOT_YET: [(&str, Option<&str>); 2] = [("lab", None), ("model", Some("run"))];

/// What the modules of one crate may import from each other.
struct Layer {
    krate: &'static str,
    module: &'static str,
    imports: Imports,
}

/// The other top-level modules of the same crate.
enum Imports {
    Only(&'static [&'static str]),
    AllBut(&'static [&'static str]),
}

const LAYERS: [Layer; 3] = [
    Layer {
        krate: "model",
        module: "base",
        imports: Imports::Only(&[]),
    },
    Layer {
        krate: "model",
        module: "text",
        imports: Imports::Only(&["base"]),
    },
    Layer {
        krate: "model",
        module: "run",
        imports: Imports::AllBut(&["observe", "loadgen", "bench", "doctor"]),
    },
];

/// Modules whose own modules must not form a cycle either.
const INNER: [(&str, &str); 4] = [
    ("hugewise", "cmd"),
    ("hugewise", "experiment"),
    ("model", "observe"),
    ("model", "run"),
];

/// Arguments of `rooms`.
#[derive(Args, Debug)]
pub struct Arguments {
    /// Also print every edge between the top-level modules of this crate, as in `crates/NAME`
    #[arg(long, value_name = "NAME")]
    edges: Option<String>,
}

/// Runs the verb.
///
/// # Errors
///
/// A cycle, an import against the layers, or a source that cannot be read.
pub fn run(arguments: &Arguments) -> Result<()> {
    let mut faults = Vec::new();
    for (name, folder) in crates()? {
        let krate = source::read_crate(&folder.join("src"))
            .with_context(|| format!("reading the modules of {name}"))?;
        if arguments.edges.as_deref() == Some(&name) {
            krate.graph(&[]).print();
        }
        faults.extend(check(&name, &krate));
    }
    if faults.is_empty() {
        return Ok(());
    }
    bail!("the rooms are not in order:\n{}", faults.join("\n"))
}

/// The crates of the workspace, by the name of their folder.
fn crates() -> Result<Vec<(String, PathBuf)>> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let mut found = vec![("xtask".to_owned(), root.join("xtask"))];
    for entry in std::fs::read_dir(root.join("crates")).context("reading crates/")? {
        let entry = entry.context("reading crates/")?;
        let name = entry.file_name().to_string_lossy().into_owned();
        found.push((name, entry.path()));
    }
    found.sort();
    Ok(found)
}

fn check(name: &str, krate: &Crate) -> Vec<String> {
    let mut faults = Vec::new();
    let top = krate.graph(&[]);
    if in_order(name, &top) {
        faults.extend(cycles(name, &top));
    }
    for layer in LAYERS.iter().filter(|layer| layer.krate == name) {
        if applies(name, layer.module, &top) {
            faults.extend(breaches(layer, &top));
        }
    }
    for (_, module) in INNER.iter().filter(|(krate, _)| *krate == name) {
        if applies(name, module, &top) {
            let inner = krate.graph(&[module]);
            faults.extend(cycles(&format!("{name}::{module}"), &inner));
        }
    }
    faults
}

/// Whether the crate is held to having no cycle; says so where it is not.
fn in_order(name: &str, top: &Graph) -> bool {
    let waiting = NOT_YET
        .iter()
        .any(|(krate, once)| *krate == name && once.is_none_or(|module| !top.has(module)));
    if waiting {
        println!("{name}: cycles among its modules are not yet refused");
    }
    !waiting
}

/// Whether a module is there; says so where it is not.
fn applies(name: &str, module: &str, top: &Graph) -> bool {
    if !top.has(module) {
        println!("{name}: there is no module `{module}` yet, so its rules do not apply yet");
    }
    top.has(module)
}

fn cycles(name: &str, graph: &Graph) -> Vec<String> {
    let describe = |cycle: Vec<String>| format!("{name}: a cycle:\n  {}", cycle.join("\n  "));
    graph.cycles().into_iter().map(describe).collect()
}

fn breaches(layer: &Layer, top: &Graph) -> Vec<String> {
    let allowed = |other: &str| match layer.imports {
        Imports::Only(allowed) => allowed.contains(&other),
        Imports::AllBut(refused) => !refused.contains(&other),
    };
    top.edges_of(layer.module)
        .filter(|edge| !allowed(&edge.to))
        .map(|edge| format!("{}: a layer is broken: {edge}", layer.krate))
        .collect()
}
