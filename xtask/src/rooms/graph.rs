//! Imports between the modules of one folder, and the cycles among them.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::fmt;

/// One import, with its place in the code.
#[derive(Clone, Debug)]
pub struct Edge {
    /// The module that imports.
    pub from: String,
    /// The imported module.
    pub to: String,
    /// `file:line`.
    pub place: String,
}

impl fmt::Display for Edge {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} → {} ({})", self.from, self.to, self.place)
    }
}

/// The modules of one folder and their imports; only the first of equal ones is kept.
#[derive(Debug, Default)]
pub struct Graph {
    modules: BTreeSet<String>,
    edges: BTreeMap<String, BTreeMap<String, Edge>>,
}

impl Graph {
    /// Creates a graph of these modules, without imports.
    pub fn new(modules: impl IntoIterator<Item = String>) -> Self {
        Self {
            modules: modules.into_iter().collect(),
            edges: BTreeMap::new(),
        }
    }

    /// Adds an import; a module that imports itself is ignored.
    pub fn add(&mut self, edge: Edge) {
        if edge.from != edge.to {
            let edges = self.edges.entry(edge.from.clone()).or_default();
            edges.entry(edge.to.clone()).or_insert(edge);
        }
    }

    /// Returns true if a module has this name.
    pub fn has(&self, module: &str) -> bool {
        self.modules.contains(module)
    }

    /// Iterates over the imports of a module.
    pub fn edges_of(&self, module: &str) -> impl Iterator<Item = &Edge> {
        self.edges
            .get(module)
            .into_iter()
            .flat_map(BTreeMap::values)
    }

    /// Prints every import.
    pub fn print(&self) {
        for edge in self.modules.iter().flat_map(|module| self.edges_of(module)) {
            println!("{edge}");
        }
    }

    /// Returns the shortest cycles, each as its imports. If cycles share a module, only the first is returned.
    pub fn cycles(&self) -> Vec<Vec<String>> {
        let mut known = BTreeSet::new();
        let mut cycles = Vec::new();
        for module in &self.modules {
            let Some(cycle) = self.cycle_through(module) else {
                continue;
            };
            if cycle.iter().all(|edge| !known.contains(&edge.from)) {
                known.extend(cycle.iter().map(|edge| edge.from.clone()));
                cycles.push(cycle.iter().map(ToString::to_string).collect());
            }
        }
        cycles
    }

    /// Returns the shortest path from a module back to it.
    fn cycle_through(&self, start: &str) -> Option<Vec<&Edge>> {
        let mut came_by: BTreeMap<&str, &Edge> = BTreeMap::new();
        let mut queue = VecDeque::from([start]);
        while let Some(module) = queue.pop_front() {
            for edge in self.edges_of(module) {
                if came_by.contains_key(edge.to.as_str()) {
                    continue;
                }
                came_by.insert(&edge.to, edge);
                if edge.to == start {
                    return Some(way_back(start, &came_by));
                }
                queue.push_back(&edge.to);
            }
        }
        None
    }
}

fn way_back<'a>(start: &str, came_by: &BTreeMap<&str, &'a Edge>) -> Vec<&'a Edge> {
    let mut way = Vec::new();
    let mut at = start;
    while let Some(edge) = came_by.get(at) {
        way.push(*edge);
        at = &edge.from;
        if at == start {
            break;
        }
    }
    way.reverse();
    way
}

#[cfg(test)]
mod tests {
    use super::*;

    fn graph(edges: &[(&str, &str)]) -> Graph {
        let names = edges.iter().flat_map(|(from, to)| [*from, *to]);
        let mut graph = Graph::new(names.map(str::to_owned));
        for (from, to) in edges {
            graph.add(Edge {
                from: (*from).to_owned(),
                to: (*to).to_owned(),
                place: "x.rs:1".to_owned(),
            });
        }
        graph
    }

    #[test]
    fn a_line_has_no_cycle() {
        assert!(
            graph(&[("a", "b"), ("a", "c"), ("b", "c")])
                .cycles()
                .is_empty()
        );
    }

    #[test]
    fn the_shortest_cycle_is_named_in_order() {
        let cycles = graph(&[("a", "b"), ("b", "c"), ("c", "a"), ("c", "d")]).cycles();
        let [cycle] = cycles.as_slice() else {
            panic!("{cycles:?}");
        };
        assert_eq!(
            cycle.as_slice(),
            ["a → b (x.rs:1)", "b → c (x.rs:1)", "c → a (x.rs:1)"]
        );
    }
}
