//! Call chains of page faults as a profile of the Firefox Profiler
//! (<https://github.com/firefox-devtools/profiler/blob/main/docs-developer/CHANGELOG-formats.md>).

use std::collections::HashMap;

use serde_json::{Value, json};

use super::analysis::Analysis;
use super::event::Symbol;
use super::stacks::{CallChain, Weigh};

/// Version of the processed format. Newer viewers upgrade it; older ones reject newer versions.
const PROCESSED_VERSION: u32 = 60;
/// Version of the Gecko format at that time, which viewers also require.
const GECKO_VERSION: u32 = 31;
/// Category of every function, an index into the two categories of the profile.
const CODE: u32 = 1;

/// Values that the profile stores once and references by index, from 0.
#[derive(Default)]
struct Tables {
    strings: Numbered<String>,
    /// Files, as string indices.
    sources: Numbered<usize>,
    /// Name as a string index, and source.
    functions: Numbered<(usize, Option<usize>)>,
    /// Function and line.
    frames: Numbered<(usize, Option<u64>)>,
    /// Frame and parent stack.
    stacks: Numbered<(usize, Option<usize>)>,
}

/// Distinct values, each with the index at which it first occurred.
struct Numbered<T> {
    things: Vec<T>,
    known: HashMap<T, usize>,
}

impl<T> Default for Numbered<T> {
    fn default() -> Self {
        Self {
            things: Vec::new(),
            known: HashMap::new(),
        }
    }
}

impl<T: Clone + Eq + std::hash::Hash> Numbered<T> {
    fn number(&mut self, thing: T) -> usize {
        let next = self.things.len();
        *self.known.entry(thing).or_insert_with_key(|thing| {
            self.things.push(thing.clone());
            next
        })
    }

    fn column<C>(&self, column: impl Fn(&T) -> C) -> Vec<C> {
        self.things.iter().map(column).collect()
    }

    /// A column with the same value in every row.
    fn same<C: Clone>(&self, value: C) -> Vec<C> {
        vec![value; self.things.len()]
    }
}

impl Tables {
    fn frame(&mut self, symbol: &Symbol) -> usize {
        let (file, line) = symbol.file_and_line();
        let source = (!file.is_empty()).then(|| {
            let file = self.strings.number(file.to_owned());
            self.sources.number(file)
        });
        let name = self.strings.number(symbol.name.clone());
        let function = self.functions.number((name, source));
        self.frames.number((function, (line > 0).then_some(line)))
    }

    /// Returns the stack of a chain, callers first; `None` if it has no functions.
    fn stack(&mut self, chain: &CallChain) -> Option<usize> {
        chain.functions.iter().rev().fold(None, |caller, symbol| {
            let frame = self.frame(symbol);
            Some(self.stacks.number((frame, caller)))
        })
    }

    fn to_json(&self) -> Value {
        let (functions, frames) = (&self.functions, &self.frames);
        json!({
            "stringArray": self.strings.things,
            "sources": {
                "length": self.sources.things.len(),
                "uuid": self.sources.same(Value::Null),
                "filename": self.sources.things,
            },
            "funcTable": {
                "length": functions.things.len(),
                "name": functions.column(|function| function.0),
                "source": functions.column(|function| function.1),
                "isJS": functions.same(false),
                "relevantForJS": functions.same(false),
                "resource": functions.same(-1),
                "lineNumber": functions.same(Value::Null),
                "columnNumber": functions.same(Value::Null),
            },
            "frameTable": {
                "length": frames.things.len(),
                "func": frames.column(|frame| frame.0),
                "line": frames.column(|frame| frame.1),
                "column": frames.same(Value::Null),
                "address": frames.same(-1),
                "inlineDepth": frames.same(0),
                "category": frames.same(CODE),
                "subcategory": frames.same(0),
                "nativeSymbol": frames.same(Value::Null),
                "innerWindowID": frames.same(0),
            },
            "stackTable": {
                "length": self.stacks.things.len(),
                "frame": self.stacks.column(|stack| stack.0),
                "prefix": self.stacks.column(|stack| stack.1),
            },
            "resourceTable": { "length": 0, "lib": [], "name": [], "host": [], "type": [] },
            "nativeSymbols": {
                "length": 0, "libIndex": [], "address": [], "name": [], "functionSize": [],
            },
        })
    }
}

impl Analysis {
    /// Exports the call chains for the Firefox Profiler (JSON): a thread per program, a sample per chain, weighted by
    /// `weigh`. `None` before the closing event.
    #[must_use]
    pub fn firefox(&self, weigh: Weigh) -> Option<String> {
        self.closing.as_ref()?;
        Some(render(&self.processes.code.call_chains(), weigh).to_string())
    }
}

fn render(chains: &[CallChain], weigh: Weigh) -> Value {
    let mut tables = Tables::default();
    let mut programs = Numbered::default();
    for chain in chains {
        programs.number(chain.program.as_str());
    }
    let threads: Vec<Value> = programs
        .things
        .iter()
        .zip(1_usize..)
        .map(|(&program, number)| {
            let own = chains.iter().filter(|chain| chain.program == program);
            thread(program, number, &samples(own, weigh, &mut tables))
        })
        .collect();
    json!({
        "meta": meta(),
        "libs": [],
        "shared": tables.to_json(),
        "threads": threads,
    })
}

fn meta() -> Value {
    json!({
        "product": "hugewise faults",
        "version": GECKO_VERSION,
        "preprocessedProfileVersion": PROCESSED_VERSION,
        "interval": 1,
        "startTime": 0,
        "processType": 0,
        "stackwalk": 1,
        "symbolicated": true,
        "symbolicationNotSupported": true,
        "usesOnlyOneStackType": true,
        "sourceCodeIsNotOnSearchfox": true,
        "markerSchema": [],
        // Grey is the default category of the viewer.
        "categories": [
            { "name": "Other", "color": "grey", "subcategories": ["Other"] },
            { "name": "Code", "color": "blue", "subcategories": ["Other"] },
        ],
    })
}

/// Chains are sums without a point in time. They are placed one after another on the time axis of the viewer, each as
/// long as its weight.
fn samples<'a>(
    chains: impl Iterator<Item = &'a CallChain>,
    weigh: Weigh,
    tables: &mut Tables,
) -> Value {
    let (mut stacks, mut starts, mut weights) = (Vec::new(), Vec::new(), Vec::new());
    let mut start = 0;
    for chain in chains {
        let weight = match weigh {
            Weigh::Time => chain.time_ns,
            Weigh::Faults => chain.faults,
        };
        stacks.push(tables.stack(chain));
        starts.push(on_the_axis(start, weigh));
        weights.push(on_the_axis(weight, weigh));
        start += weight;
    }
    json!({
        "length": stacks.len(),
        "stack": stacks,
        "time": starts,
        "weight": weights,
        "weightType": match weigh {
            Weigh::Time => "tracing-ms",
            Weigh::Faults => "samples",
        },
    })
}

/// Converts nanoseconds to milliseconds; leaves faults unchanged.
fn on_the_axis(weight: u64, weigh: Weigh) -> Value {
    match weigh {
        Weigh::Time => json!(weight as f64 / 1e6),
        Weigh::Faults => json!(weight),
    }
}

fn thread(program: &str, number: usize, samples: &Value) -> Value {
    json!({
        "name": program,
        "processName": program,
        "processType": "default",
        "isMainThread": true,
        "pid": number.to_string(),
        "tid": number,
        "registerTime": 0,
        "unregisterTime": null,
        "processStartupTime": 0,
        "processShutdownTime": null,
        "pausedRanges": [],
        "samples": samples,
        "markers": {
            "length": 0, "data": [], "name": [], "startTime": [], "endTime": [], "phase": [],
            "category": [],
        },
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn chain(program: &str, functions: &[(&str, Option<&str>)], time_ns: u64) -> CallChain {
        let symbol = |&(name, place): &(&str, Option<&str>)| Symbol {
            name: name.to_owned(),
            place: place.map(str::to_owned),
        };
        CallChain {
            program: program.to_owned(),
            functions: functions.iter().map(symbol).collect(),
            faults: 3,
            time_ns,
        }
    }

    #[test]
    fn chains_share_their_callers() {
        let main = ("main", Some("a.c:7"));
        let chains = [
            chain("x", &[("f", None), main], 500_000),
            chain("x", &[("g", None), main], 2_000_000),
        ];
        let profile = render(&chains, Weigh::Time);
        let shared = &profile["shared"];
        assert_eq!(shared["stackTable"]["prefix"], json!([null, 0, 0]));
        assert_eq!(shared["frameTable"]["line"], json!([7, null, null]));
        assert_eq!(shared["stringArray"], json!(["a.c", "main", "f", "g"]));
        let samples = &profile["threads"][0]["samples"];
        assert_eq!(samples["stack"], json!([1, 2]));
        assert_eq!(samples["time"], json!([0.0, 0.5]));
        assert_eq!(samples["weight"], json!([0.5, 2.0]));
    }

    #[test]
    fn a_place_without_a_line_is_a_file() {
        let at = |place| chain("x", &[("f", place)], 1);
        let chains = [at(Some("a:b.c:12")), at(Some("a.c")), at(None)];
        let shared = &render(&chains, Weigh::Time)["shared"];
        assert_eq!(shared["stringArray"], json!(["a:b.c", "f", "a.c"]));
        assert_eq!(shared["frameTable"]["line"], json!([12, null, null]));
        assert_eq!(shared["funcTable"]["source"], json!([0, 1, null]));
    }

    #[test]
    fn a_program_is_a_thread() {
        let chains = [chain("x", &[], 1), chain("y", &[("f", None)], 1)];
        let profile = render(&chains, Weigh::Faults);
        let names: Vec<_> = [0, 1]
            .map(|thread| &profile["threads"][thread]["name"])
            .into();
        assert_eq!(names, ["x", "y"]);
        let samples = &profile["threads"][0]["samples"];
        assert_eq!(samples["stack"], json!([null]));
        assert_eq!(samples["weight"], json!([3]));
        assert_eq!(samples["weightType"], "samples");
    }
}
