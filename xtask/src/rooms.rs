//! Checks that the dependencies between crates, and the imports between the modules of each crate, have no cycles.
//!
//! The edges come from the paths in compiled code, with or without `use`; tests and the text of documentation do not
//! count. A parent and its children can import each other: together they are one room. Between rooms of one folder,
//! imports in both directions are a cycle.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use clap::Args;

use crate::crates::Crates;
use graph::Graph;
use source::Crate;

mod graph;
mod source;

/// The allowed imports of a module of the experiment crate. The central modules do not import readers of load
/// generators.
const LAYERS: [(&str, &[&str]); 2] = [("run", &[]), ("loadgen", &["run"])];
/// The crate with these layers.
const LAYERED: &str = "experiment";

/// Modules whose submodules must not form a cycle either.
const INNER: [(&str, &str); 3] = [
    ("hugewise", "cmd"),
    ("hugewise", "experiment"),
    ("experiment", "run"),
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
/// A cycle, an import against the layers, or an unreadable source.
pub fn run(arguments: &Arguments) -> Result<()> {
    let of_workspace = Crates::read()?;
    let mut faults = of_workspace.faults();
    let products = of_workspace.products_of_the_core()?;
    faults.extend(
        products
            .iter()
            .map(|it| format!("the core is built with {it}")),
    );
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
        if entry.path().join("Cargo.toml").exists() {
            found.push((name, entry.path()));
        }
    }
    found.sort();
    Ok(found)
}

fn check(name: &str, krate: &Crate) -> Vec<String> {
    let mut faults = Vec::new();
    let top = krate.graph(&[]);
    faults.extend(cycles(name, &top));
    for (module, allowed) in LAYERS.iter().filter(|_| name == LAYERED) {
        faults.extend(absent(name, module, &top));
        faults.extend(breaches(module, allowed, &top));
    }
    for (_, module) in INNER.iter().filter(|(krate, _)| *krate == name) {
        faults.extend(absent(name, module, &top));
        let inner = krate.graph(&[module]);
        faults.extend(cycles(&format!("{name}::{module}"), &inner));
    }
    faults
}

/// Reports a rule for a module that does not exist.
fn absent(name: &str, module: &str, top: &Graph) -> Option<String> {
    (!top.has(module)).then(|| format!("{name}: a rule names `{module}`, which is not a module"))
}

fn cycles(name: &str, graph: &Graph) -> Vec<String> {
    let describe = |cycle: Vec<String>| format!("{name}: a cycle:\n  {}", cycle.join("\n  "));
    graph.cycles().into_iter().map(describe).collect()
}

fn breaches(module: &str, allowed: &[&str], top: &Graph) -> Vec<String> {
    top.edges_of(module)
        .filter(|edge| !allowed.contains(&edge.to.as_str()))
        .map(|edge| format!("{LAYERED}: a layer is broken: {edge}"))
        .collect()
}
