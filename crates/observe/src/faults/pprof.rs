//! Call chains of page faults as a profile of pprof
//! (<https://github.com/google/pprof/blob/main/proto/profile.proto>).

use std::collections::HashMap;

use super::analysis::Analysis;
use super::event::Symbol;
use super::stacks::{CallChain, Weigh};
use hugewise_base::gzip::gzip;

/// Field numbers of a profile.
mod profile_field {
    pub(super) const SAMPLE_TYPE: u64 = 1;
    pub(super) const SAMPLE: u64 = 2;
    pub(super) const LOCATION: u64 = 4;
    pub(super) const FUNCTION: u64 = 5;
    pub(super) const STRING: u64 = 6;
    pub(super) const DURATION_NANOS: u64 = 10;
    pub(super) const DEFAULT_SAMPLE_TYPE: u64 = 14;
}

/// A protobuf message.
#[derive(Default)]
struct Message(Vec<u8>);

impl Message {
    fn varint(&mut self, mut number: u64) {
        while number > 0x7f {
            self.0.push(number as u8 | 0x80);
            number >>= 7;
        }
        self.0.push(number as u8);
    }

    fn number(&mut self, field: u64, number: u64) {
        self.varint(field << 3);
        self.varint(number);
    }

    fn bytes(&mut self, field: u64, bytes: &[u8]) {
        self.varint(field << 3 | 2);
        self.varint(bytes.len() as u64);
        self.0.extend_from_slice(bytes);
    }

    fn numbers(&mut self, field: u64, numbers: &[u64]) {
        let mut packed = Self::default();
        numbers.iter().for_each(|&number| packed.varint(number));
        self.bytes(field, &packed.0);
    }

    /// A message whose fields are integers, numbered from 1.
    fn record(&mut self, field: u64, fields: &[(u64, u64)]) {
        let mut record = Self::default();
        for &(field, number) in fields {
            record.number(field, number);
        }
        self.bytes(field, &record.0);
    }
}

/// Values that the profile stores once and references by number.
#[derive(Default)]
struct Tables {
    strings: Vec<String>,
    known_strings: HashMap<String, u64>,
    /// Name, file and line, each once.
    places: Vec<Place>,
    known_places: HashMap<Place, u64>,
}

/// A function, its file and a line: two string indices and a line number.
type Place = (u64, u64, u64);

impl Tables {
    fn string(&mut self, text: &str) -> u64 {
        if let Some(&number) = self.known_strings.get(text) {
            return number;
        }
        let number = self.strings.len() as u64;
        self.strings.push(text.to_owned());
        self.known_strings.insert(text.to_owned(), number);
        number
    }

    /// Places are numbered from 1; 0 means none.
    fn place(&mut self, symbol: &Symbol) -> u64 {
        let (file, line) = symbol.file_and_line();
        let place = (self.string(&symbol.name), self.string(file), line);
        let next = self.places.len() as u64 + 1;
        *self.known_places.entry(place).or_insert_with(|| {
            self.places.push(place);
            next
        })
    }
}

impl Analysis {
    /// Exports the call chains for pprof, compressed with gzip, with two values each: faults, and nanoseconds in them.
    /// `weigh` is shown by default. `None` before the closing event.
    #[must_use]
    pub fn pprof(&self, weigh: Weigh) -> Option<Vec<u8>> {
        let duration_ns = self.closing.as_ref()?.wall_ns;
        let chains = self.processes.code.call_chains();
        Some(gzip(&render(&chains, weigh, duration_ns)))
    }
}

fn render(chains: &[CallChain], weigh: Weigh, duration_ns: u64) -> Vec<u8> {
    let mut profile = Message::default();
    let mut tables = Tables::default();
    // The first string of a profile must be empty.
    tables.string("");
    let faults = (tables.string("faults"), tables.string("count"));
    let time = (tables.string("time"), tables.string("nanoseconds"));
    for (kind, unit) in [faults, time] {
        profile.record(profile_field::SAMPLE_TYPE, &[(1, kind), (2, unit)]);
    }
    let program = tables.string("program");
    for chain in chains {
        profile.bytes(
            profile_field::SAMPLE,
            &sample(chain, program, &mut tables).0,
        );
    }
    for (&(name, file, line), number) in tables.places.iter().zip(1..) {
        profile.bytes(profile_field::LOCATION, &location(number, line).0);
        let function = [(1, number), (2, name), (3, name), (4, file)];
        profile.record(profile_field::FUNCTION, &function);
    }
    for string in &tables.strings {
        profile.bytes(profile_field::STRING, string.as_bytes());
    }
    profile.number(profile_field::DURATION_NANOS, duration_ns);
    let shown = match weigh {
        Weigh::Time => time.0,
        Weigh::Faults => faults.0,
    };
    profile.number(profile_field::DEFAULT_SAMPLE_TYPE, shown);
    profile.0
}

fn sample(chain: &CallChain, program: u64, tables: &mut Tables) -> Message {
    let frames = chain.functions.iter();
    let places: Vec<u64> = frames.map(|symbol| tables.place(symbol)).collect();
    let mut sample = Message::default();
    sample.numbers(1, &places);
    sample.numbers(2, &[chain.faults, chain.time_ns]);
    let name = tables.string(&chain.program);
    sample.record(3, &[(1, program), (2, name)]);
    sample
}

/// Each location is one line of one function. Inlined functions are separate frames.
fn location(number: u64, line: u64) -> Message {
    let mut location = Message::default();
    location.number(1, number);
    location.record(4, &[(1, number), (2, line)]);
    location
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_profile_has_the_bytes_of_the_format() {
        let chain = CallChain {
            program: "x".to_owned(),
            functions: vec![Symbol {
                name: "f".to_owned(),
                place: Some("a.c:7".to_owned()),
            }],
            faults: 300,
            time_ns: 5,
        };
        let profile = render(&[chain], Weigh::Faults, 9);
        let sample = [
            0x12, 0x0e, 0x0a, 1, 1, 0x12, 3, 0xac, 2, 5, 0x1a, 4, 8, 5, 0x10, 8,
        ];
        let location = [0x22, 8, 8, 1, 0x22, 4, 8, 1, 0x10, 7];
        let function = [0x2a, 8, 8, 1, 0x10, 6, 0x18, 6, 0x20, 7];
        for part in [&sample[..], &location, &function] {
            let found = profile.windows(part.len()).any(|bytes| bytes == part);
            assert!(found, "{part:x?} in {profile:x?}");
        }
        // The duration, and `faults` as the default value.
        assert!(profile.ends_with(&[0x50, 9, 0x70, 1]));
    }
}
