use std::collections::{BTreeMap, BTreeSet, HashMap};

use super::event::Symbol;
use super::space::EventSpace;

/// A place in a program, in a form that is valid after its process ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
enum Place {
    /// In a file, by its index.
    File { file: usize, offset: u64 },
    /// In memory without a file.
    Memory { address: u64 },
}

/// Faults of one call chain.
#[derive(Clone, Debug, Default)]
struct Chain {
    /// Innermost first.
    places: Vec<Place>,
    program: usize,
    faults: u64,
    time_ns: u64,
}

/// All call chains, each stored once.
#[derive(Clone, Debug, Default)]
pub struct Stacks {
    /// Paths of files and names of programs.
    names: Vec<String>,
    numbers: HashMap<String, usize>,
    chains: Vec<Chain>,
    known: HashMap<(usize, Vec<Place>), usize>,
    /// Recently resolved addresses by process, because most chains repeat.
    recent: HashMap<u32, HashMap<Vec<u64>, usize>>,
    symbols: HashMap<(usize, u64), Vec<Symbol>>,
}

/// A call chain by name, with its weight.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CallChain {
    /// The program's name.
    pub program: String,
    /// Innermost first, including inlined functions.
    pub functions: Vec<Symbol>,
    /// Faults.
    pub faults: u64,
    /// Time in these faults, in nanoseconds.
    pub time_ns: u64,
}

/// The weight of a chain.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Weigh {
    /// Nanoseconds in faults.
    Time,
    /// Faults.
    Faults,
}

impl Stacks {
    /// Counts a fault, or the `weight` that it represents. Returns the index of its chain.
    pub fn add(
        &mut self,
        pid: u32,
        program: &str,
        stack: &[u64],
        space: Option<&EventSpace>,
        weight: u64,
    ) -> usize {
        let recent = self.recent.get(&pid);
        if let Some(&number) = recent.and_then(|chains| chains.get(stack)) {
            self.chains[number].faults += weight;
            return number;
        }
        let program = self.number(program);
        let places: Vec<Place> = stack
            .iter()
            .enumerate()
            .map(|(depth, &address)| self.place(depth, address, space))
            .collect();
        let key = (program, places);
        let number = self.known.get(&key).copied().unwrap_or(self.chains.len());
        if number == self.chains.len() {
            self.chains.push(Chain {
                places: key.1.clone(),
                program,
                ..Chain::default()
            });
            self.known.insert(key, number);
        }
        let recent = self.recent.entry(pid).or_default();
        recent.insert(stack.to_vec(), number);
        self.chains[number].faults += weight;
        number
    }

    /// Adds the time of a fault to its chain.
    pub fn add_time(&mut self, chain: usize, time_ns: u64) {
        if let Some(chain) = self.chains.get_mut(chain) {
            chain.time_ns = chain.time_ns.saturating_add(time_ns);
        }
    }

    /// Discards the resolved addresses of a process, because its mappings changed.
    pub fn forget(&mut self, pid: u32) {
        self.recent.remove(&pid);
    }

    /// All addresses except the innermost are return addresses. They can already belong to the next line or function,
    /// so one byte is subtracted to get the call.
    fn place(&mut self, depth: usize, address: u64, space: Option<&EventSpace>) -> Place {
        let address = if depth == 0 {
            address
        } else {
            address.saturating_sub(1)
        };
        let area = space.and_then(|space| space.area(address));
        match area.filter(|area| area.name.starts_with('/')) {
            Some(area) => Place::File {
                offset: address - area.start + area.offset,
                file: self.number(&area.name),
            },
            None => Place::Memory { address },
        }
    }

    fn number(&mut self, name: &str) -> usize {
        if let Some(&number) = self.numbers.get(name) {
            return number;
        }
        self.names.push(name.to_owned());
        self.numbers.insert(name.to_owned(), self.names.len() - 1);
        self.names.len() - 1
    }

    /// Returns places without a symbol, by file.
    pub fn nameless(&self) -> BTreeMap<String, BTreeSet<u64>> {
        let mut wanted: BTreeMap<String, BTreeSet<u64>> = BTreeMap::new();
        for place in self.chains.iter().flat_map(|chain| &chain.places) {
            if let Place::File { file, offset } = *place
                && !self.symbols.contains_key(&(file, offset))
            {
                let offsets = wanted.entry(self.names[file].clone()).or_default();
                offsets.insert(offset);
            }
        }
        wanted
    }

    /// Adds the name of a place.
    pub fn name(&mut self, file: &str, offset: u64, frames: &[Symbol]) {
        let file = self.number(file);
        self.symbols.insert((file, offset), frames.to_vec());
    }

    /// The functions of a chain, innermost first, including inlined ones.
    fn functions(&self, chain: &Chain) -> Vec<Symbol> {
        chain
            .places
            .iter()
            .flat_map(|place| self.function(*place))
            .collect()
    }

    fn function(&self, place: Place) -> Vec<Symbol> {
        let nameless = |name: String| vec![Symbol { name, place: None }];
        match place {
            Place::Memory { .. } => nameless("[unknown]".to_owned()),
            Place::File { file, offset } => match self.symbols.get(&(file, offset)) {
                Some(frames) if !frames.is_empty() => frames.clone(),
                _ => {
                    let path = &self.names[file];
                    let short = path.rsplit('/').next().unwrap_or(path);
                    nameless(format!("[{short}]"))
                }
            },
        }
    }

    /// Faults and time by innermost function and caller, most expensive first.
    pub fn sites(&self) -> Vec<(Site, u64, u64)> {
        let mut sites: BTreeMap<Site, (u64, u64)> = BTreeMap::new();
        for chain in &self.chains {
            let sum = sites.entry(self.site(chain)).or_default();
            sum.0 += chain.faults;
            sum.1 += chain.time_ns;
        }
        let mut sites: Vec<_> = sites
            .into_iter()
            .map(|(site, (faults, time_ns))| (site, faults, time_ns))
            .collect();
        sites.sort_by_key(|(_, faults, time_ns)| std::cmp::Reverse((*time_ns, *faults)));
        sites
    }

    /// Returns the site with the largest sum over its chains; `by_chain` is indexed by chain. Ties are broken by name,
    /// so a replay gives the same result as the live run.
    pub fn busiest(&self, by_chain: &HashMap<usize, u64>) -> Option<(Site, u64)> {
        let mut sites: BTreeMap<Site, u64> = BTreeMap::new();
        for (&chain, count) in by_chain {
            if let Some(chain) = self.chains.get(chain) {
                *sites.entry(self.site(chain)).or_default() += count;
            }
        }
        let first_of_equals = |one: &(Site, u64)| (one.1, std::cmp::Reverse(one.0.clone()));
        sites.into_iter().max_by_key(first_of_equals)
    }

    /// Returns the innermost function, even if inlined, and its caller. The caller is the function that it was inlined
    /// into, or else the nearest named caller.
    fn site(&self, chain: &Chain) -> Site {
        let Some((&first, outer)) = chain.places.split_first() else {
            let name = "[no call chain]".to_owned();
            return (Symbol { name, place: None }, None);
        };
        let mut frames = self.function(first);
        let innermost = frames.remove(0);
        let into = frames.pop();
        let callers = outer.iter().filter_map(|&place| self.function(place).pop());
        let caller = into.into_iter().chain(callers);
        let other = |other: &Symbol| other.name != innermost.name && !is_nameless(other);
        let caller = caller.into_iter().find(other);
        (innermost, caller)
    }

    /// Faults whose call chain has at most one frame.
    pub fn shallow(&self) -> u64 {
        let shallow = self.chains.iter().filter(|chain| chain.places.len() < 2);
        shallow.map(|chain| chain.faults).sum()
    }

    /// All call chains, in order of first appearance.
    pub fn call_chains(&self) -> Vec<CallChain> {
        let chains = self.chains.iter().map(|chain| CallChain {
            program: self.names[chain.program].clone(),
            functions: self.functions(chain),
            faults: chain.faults,
            time_ns: chain.time_ns,
        });
        chains.collect()
    }

    /// Folded lines for flame graph tools: program and functions from the outermost to the innermost, a space, and the
    /// weight. Sorted and unique.
    pub fn folded(&self, weigh: Weigh) -> BTreeMap<String, u64> {
        let mut lines: BTreeMap<String, u64> = BTreeMap::new();
        for chain in &self.chains {
            let program = [plain(&self.names[chain.program])];
            let functions = self.functions(chain);
            let functions = functions.iter().rev().map(|function| plain(&function.name));
            let line: Vec<String> = program.into_iter().chain(functions).collect();
            *lines.entry(line.join(";")).or_default() += match weigh {
                Weigh::Time => chain.time_ns,
                Weigh::Faults => chain.faults,
            };
        }
        lines.retain(|_, weight| *weight > 0);
        lines
    }
}

/// An innermost function, and its caller.
pub type Site = (Symbol, Option<Symbol>);

fn is_nameless(symbol: &Symbol) -> bool {
    symbol.name.starts_with('[')
}

/// Replaces semicolons and newlines, which would end a name.
fn plain(name: &str) -> String {
    name.replace(';', ":").replace(['\n', '\r'], " ")
}
