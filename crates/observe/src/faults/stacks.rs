use std::collections::{BTreeMap, BTreeSet, HashMap};

use super::event::Symbol;
use super::space::EventSpace;

/// A place in a program, in a form that outlives its process.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
enum Place {
    /// In a file, by its number.
    File { file: usize, offset: u64 },
    /// In memory that is no file's.
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

/// All call chains, each once.
#[derive(Clone, Debug, Default)]
pub struct Stacks {
    /// Paths of files and names of programs.
    names: Vec<String>,
    numbers: HashMap<String, usize>,
    chains: Vec<Chain>,
    known: HashMap<(usize, Vec<Place>), usize>,
    /// What addresses meant last time, by process: most chains come again and again.
    recent: HashMap<u32, HashMap<Vec<u64>, usize>>,
    symbols: HashMap<(usize, u64), Vec<Symbol>>,
}

/// A call chain by its names, and what it weighs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CallChain {
    /// The program's name.
    pub program: String,
    /// Innermost first, inlined ones included.
    pub functions: Vec<Symbol>,
    /// Faults.
    pub faults: u64,
    /// Nanoseconds in them.
    pub time_ns: u64,
}

/// What weighs a chain.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Weigh {
    /// Nanoseconds in faults.
    Time,
    /// Faults.
    Faults,
}

impl Stacks {
    /// Counts a fault, or `weight` of them that this one stands for; the number of its chain.
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

    /// Addresses of this process mean something else from now on.
    pub fn forget(&mut self, pid: u32) {
        self.recent.remove(&pid);
    }

    /// All but the innermost are return addresses, which may belong to the next line or
    /// function already: the call is one byte before.
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

    /// Places that have no symbol yet, by file.
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

    /// Takes a name in.
    pub fn name(&mut self, file: &str, offset: u64, frames: &[Symbol]) {
        let file = self.number(file);
        self.symbols.insert((file, offset), frames.to_vec());
    }

    /// The functions of a chain, innermost first, inlined ones included.
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

    /// Faults and time by the innermost function and the one that called it, the most
    /// expensive first.
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

    /// The site with the greatest sum over its chains, which have the numbers of `by_chain`;
    /// among equal ones the first by name, so that a replay names the one that was named live.
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

    /// The innermost function, even if it is inlined, and who stands behind it: the function
    /// that it was inlined into, or else the nearest caller that has a name.
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

    /// How many faults came with a call chain of one frame or none.
    pub fn shallow(&self) -> u64 {
        let shallow = self.chains.iter().filter(|chain| chain.places.len() < 2);
        shallow.map(|chain| chain.faults).sum()
    }

    /// All call chains, in the order in which they came first.
    pub fn call_chains(&self) -> Vec<CallChain> {
        let chains = self.chains.iter().map(|chain| CallChain {
            program: self.names[chain.program].clone(),
            functions: self.functions(chain),
            faults: chain.faults,
            time_ns: chain.time_ns,
        });
        chains.collect()
    }

    /// Lines as flame graph tools read them: program and functions from the outermost to the
    /// innermost, a blank, and the weight. Sorted, each line once.
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

/// An innermost function, and who called it.
pub type Site = (Symbol, Option<Symbol>);

fn is_nameless(symbol: &Symbol) -> bool {
    symbol.name.starts_with('[')
}

/// A semicolon or a line's end inside a name would be read as the end of it.
fn plain(name: &str) -> String {
    name.replace(';', ":").replace(['\n', '\r'], " ")
}
