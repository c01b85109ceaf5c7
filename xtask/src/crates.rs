//! The crates of the workspace: the products, their dependencies, and the list in `ARCHITECTURE.md`.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, ensure};
use serde::Deserialize;

use crate::command::said;

/// The main program.
const PROGRAM: &str = "hugewise";
/// The feature of the program that enables all products.
const PRODUCTS: &str = "products";
/// The only core crate that can depend on products, each behind a feature of the same name: it queries the machine for
/// them.
const MACHINE: &str = "linux";
/// The allowed dependencies of each core crate, lowest layer first.
const CORE: [(&str, &[&str]); 6] = [
    ("base", &[]),
    ("text", &["base"]),
    ("stats", &["base"]),
    ("experiment", &["base", "text", "stats"]),
    ("observe", &["base", "text", "stats", "experiment"]),
    (MACHINE, &["base", "text", "stats", "experiment", "observe"]),
];
/// The begin and end marks of the list of crates in a page.
const MARKS: [&str; 2] = ["<!-- crates -->\n", "<!-- /crates -->\n"];

/// The workspace metadata from cargo.
#[derive(Debug, Deserialize)]
struct Metadata {
    packages: Vec<Package>,
}

#[derive(Debug, Deserialize)]
struct Package {
    name: String,
    description: Option<String>,
    manifest_path: PathBuf,
    dependencies: Vec<Dependency>,
    features: BTreeMap<String, Vec<String>>,
}

#[derive(Debug, Deserialize)]
struct Dependency {
    name: String,
    kind: Option<String>,
    optional: bool,
}

impl Dependency {
    /// Returns its name, in italics if only a feature needs it.
    fn as_listed(&self) -> String {
        let name = short(&self.name);
        match self.optional {
            true => format!("*{name}*"),
            false => name.to_owned(),
        }
    }
}

/// The crates of the workspace.
#[derive(Debug)]
pub struct Crates {
    packages: Vec<Package>,
    products: BTreeSet<String>,
}

impl Crates {
    /// Queries cargo.
    ///
    /// # Errors
    /// Cargo cannot read the workspace, or the program has no products.
    pub fn read() -> Result<Self> {
        let metadata = [
            "metadata",
            "--no-deps",
            "--offline",
            "--format-version",
            "1",
        ];
        let text = said(cargo().args(metadata))?;
        let metadata: Metadata = serde_json::from_str(&text).context("the answer of cargo")?;
        let mut packages = metadata.packages;
        packages.sort_by(|one, other| one.name.cmp(&other.name));
        let program = packages.iter().find(|it| it.name == PROGRAM);
        let products = program.and_then(|it| it.features.get(PRODUCTS));
        let products = products.with_context(|| format!("{PROGRAM} has no feature {PRODUCTS}"))?;
        let products = products.iter().cloned().collect();
        Ok(Self { packages, products })
    }

    /// Returns violations of the crates' order: core crates depend on lower layers, and each product only on the core.
    pub fn faults(&self) -> Vec<String> {
        let core = CORE
            .iter()
            .flat_map(|(name, below)| self.beyond(name, below));
        let all = CORE.map(|(name, _)| name);
        let products = self.products.iter();
        core.chain(products.flat_map(|name| self.beyond(name, &all)))
            .collect()
    }

    /// Returns a fault for each dependency of `name` that is not in `allowed`.
    fn beyond(&self, name: &str, allowed: &[&str]) -> Vec<String> {
        let Some(package) = self.packages.iter().find(|it| short(&it.name) == name) else {
            return vec![format!(
                "a rule names the crate {name}, which does not exist"
            )];
        };
        let behind_feature = |it: &Dependency| {
            let product = short(&it.name);
            name == MACHINE
                && it.optional
                && self.products.contains(product)
                && package.features.contains_key(product)
        };
        let built = package.dependencies.iter().filter(|it| {
            it.kind.is_none() && it.name.starts_with("hugewise-") && !behind_feature(it)
        });
        built
            .filter(|it| !allowed.contains(&short(&it.name)))
            .map(|it| format!("{name} builds on {}", it.name))
            .collect()
    }

    /// Returns the products built into the program without its features.
    ///
    /// # Errors
    /// Cargo cannot read the workspace.
    pub fn products_of_the_core(&self) -> Result<Vec<String>> {
        let tree = [
            "tree",
            "--offline",
            "--edges",
            "normal,build",
            "--prefix",
            "none",
        ];
        let core = ["--package", PROGRAM, "--no-default-features"];
        let tree = said(cargo().args(tree).args(core))?;
        ensure!(
            tree.contains("hugewise-experiment "),
            "the tree of the core has no experiment:\n{tree}"
        );
        let names: BTreeSet<&str> = tree.lines().filter_map(|it| it.split(' ').next()).collect();
        let products = self.products.iter();
        let found = products.filter(|it| names.contains(format!("hugewise-{it}").as_str()));
        Ok(found.cloned().collect())
    }

    /// Inserts the list of the crates between the marks of a page.
    ///
    /// # Errors
    /// The page has no marks.
    pub fn listed_in(&self, page: &str) -> Result<String> {
        let [begin, end] = MARKS;
        let (before, rest) = page
            .split_once(begin)
            .context("the page has no <!-- crates -->")?;
        let (_, after) = rest
            .split_once(end)
            .context("the page has no <!-- /crates -->")?;
        Ok(format!("{before}{begin}{}{end}{after}", self.list()))
    }

    /// Returns the crates as a table: the core by layers, the products, and the rest.
    fn list(&self) -> String {
        let mut rows: Vec<(usize, &Package)> = self
            .packages
            .iter()
            .map(|it| (self.floor(it), it))
            .collect();
        rows.sort_by_key(|(floor, _)| *floor);
        let rows: String = rows
            .into_iter()
            .map(|(_, package)| self.row(package))
            .collect();
        format!(
            "| crate | contents | part | builds on, *by a feature* |\n|---|---|---|---|\n{rows}"
        )
    }

    fn row(&self, package: &Package) -> String {
        let below = package.dependencies.iter();
        let below = below.filter(|it| it.kind.is_none() && it.name.starts_with("hugewise-"));
        let mut below: Vec<String> = below.map(Dependency::as_listed).collect();
        below.sort_by_key(|it| it.trim_matches('*').to_owned());
        let folder = package.manifest_path.parent().and_then(Path::file_name);
        let folder = folder.unwrap_or_default().to_string_lossy();
        let folder = match folder.as_ref() {
            "xtask" => folder.into_owned(),
            _ => format!("crates/{folder}"),
        };
        format!(
            "| `{folder}` | {} | {} | {} |\n",
            package.description.as_deref().unwrap_or_default(),
            self.part(package),
            below.join(", ")
        )
    }

    fn part(&self, package: &Package) -> &'static str {
        let name = short(&package.name);
        match name {
            _ if CORE.iter().any(|(core, _)| *core == name) => "core",
            _ if self.products.contains(name) => "product",
            PROGRAM => "program",
            _ => "tools",
        }
    }

    /// Returns the position of a crate in the list.
    fn floor(&self, package: &Package) -> usize {
        let name = short(&package.name);
        let core = CORE.iter().position(|(core, _)| *core == name);
        let after = CORE.len();
        core.unwrap_or(match self.part(package) {
            "product" => after,
            "program" => after + 1,
            _ => after + 2,
        })
    }
}

/// Returns the name of a crate without the project's prefix.
fn short(name: &str) -> &str {
    name.strip_prefix("hugewise-").unwrap_or(name)
}

fn cargo() -> Command {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let mut command = Command::new(cargo);
    command.current_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join(".."));
    command
}

#[cfg(test)]
mod tests {
    use super::*;

    fn package(name: &str, below: &[(&str, bool)]) -> Package {
        let dependency = |&(name, optional): &(&str, bool)| Dependency {
            name: format!("hugewise-{name}"),
            kind: None,
            optional,
        };
        Package {
            name: format!("hugewise-{name}"),
            description: Some(format!("All of {name}")),
            manifest_path: PathBuf::from(format!("/x/crates/{name}/Cargo.toml")),
            dependencies: below.iter().map(dependency).collect(),
            features: below
                .iter()
                .map(|(name, _)| ((*name).to_owned(), Vec::new()))
                .collect(),
        }
    }

    fn crates(observe: &[(&str, bool)], tlb: &[(&str, bool)]) -> Crates {
        Crates {
            packages: vec![
                package("base", &[]),
                package("experiment", &[("base", false)]),
                package("fleet", &[("base", false)]),
                package("linux", &[("observe", false), ("tlb", true)]),
                package("observe", observe),
                package("stats", &[("base", false)]),
                package("text", &[("base", false)]),
                package("tlb", tlb),
            ],
            products: ["fleet", "tlb"].map(str::to_owned).into(),
        }
    }

    #[test]
    fn products_build_on_the_core_and_the_core_on_its_floors() {
        let right = crates(&[("text", false)], &[("observe", false)]);
        assert_eq!(right.faults(), Vec::<String>::new());
        let wrong = crates(&[("tlb", true)], &[("fleet", false)]);
        assert_eq!(
            wrong.faults(),
            [
                "observe builds on hugewise-tlb",
                "tlb builds on hugewise-fleet"
            ]
        );
    }

    #[test]
    fn the_list_has_the_core_first() {
        let crates = crates(&[("text", false)], &[("observe", false)]);
        let page = crates.listed_in("a\n<!-- crates -->\nold\n<!-- /crates -->\nb\n");
        let page = page.expect("it has the marks");
        let rows: Vec<&str> = page.lines().collect();
        assert_eq!(rows[4], "| `crates/base` | All of base | core |  |");
        assert_eq!(
            rows[8],
            "| `crates/observe` | All of observe | core | text |"
        );
        assert_eq!(
            rows[11],
            "| `crates/tlb` | All of tlb | product | observe |"
        );
        assert_eq!(rows[13], "b");
        assert!(crates.listed_in("no marks").is_err());
    }
}
