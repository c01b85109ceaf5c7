use anyhow::Result;
use clap::Args;
use hugewise_linux::root::Root;
use hugewise_model::bench::Bench;
use hugewise_model::bench::memory::{OPERATIONS, Operation};
use hugewise_model::host::Host;
use hugewise_model::quantity::{KIB, MIB, bytes_text, parse_size};

use super::{Common, chosen, of_cells, or_usual, room};
use crate::exit;

/// A block for each cache and one for memory: a processor whose last cache is larger than the
/// last of them has to be told.
const USUAL_SIZES: [u64; 4] = [64 * KIB, MIB, 32 * MIB, 256 * MIB];

/// Flags of `bench memory`.
#[derive(Debug, Args)]
pub(super) struct Arguments {
    /// Sizes of a block [default: 64K,1M,32M,256M]
    #[arg(long, value_name = "SIZE,SIZE", value_delimiter = ',', value_parser = parse_size)]
    sizes: Vec<u64>,

    /// Operations: copy, fill, read, write, rmw, triad [default: copy,fill,read]
    #[arg(long, value_name = "NAME,NAME", value_delimiter = ',')]
    ops: Vec<String>,

    /// Kernels, as libc,rep,avx2,nt [default: one for each operation]
    #[arg(long, value_name = "NAME,NAME", value_delimiter = ',')]
    kernels: Vec<String>,

    /// State of what is read: written, untouched (the zero page) [default: written]
    #[arg(long, value_name = "STATE,STATE", value_delimiter = ',')]
    source: Vec<String>,

    /// Numbers of threads, each with blocks of its own [default: 1]
    #[arg(long, value_name = "N,N", value_delimiter = ',', value_parser = clap::value_parser!(u64).range(1..=1024))]
    threads: Vec<u64>,

    #[command(flatten)]
    pub(super) common: Common,
}

/// The cells that were asked for.
pub(super) fn bench(asked: &Arguments, host: &Host, root: &Root) -> Result<Bench> {
    let known: Vec<&str> = OPERATIONS.iter().map(|operation| operation.name).collect();
    let names = chosen("--ops", &asked.ops, &known, &["copy", "fill", "read"])?;
    let operations: Vec<&Operation> = names
        .iter()
        .filter_map(|name| OPERATIONS.iter().find(|operation| operation.name == *name))
        .collect();
    let states = ["written", "untouched"];
    let states = chosen("--source", &asked.source, &states, &states[..1])?;
    let sizes = or_usual(&asked.sizes, &USUAL_SIZES);
    let threads = or_usual(&asked.threads, &[1]);
    check_sizes(&sizes)?;
    let most = operations.iter().map(|operation| operation.blocks).max();
    let count = most.unwrap_or(1) * threads.iter().max().unwrap_or(&1);
    room::check("--sizes", &sizes, count, host, root)?;

    let mut cells = Vec::new();
    for operation in operations {
        for kernel in kernels(operation, &asked.kernels, host)? {
            for state in states
                .iter()
                .filter(|&&state| state == "written" || operation.reads)
            {
                for threads in &threads {
                    cells.extend(sizes.iter().map(|size| {
                        let words = [operation.name, kernel, &size.to_string(), state];
                        let mut words: Vec<String> = words.map(str::to_owned).into();
                        words.push(threads.to_string());
                        words
                    }));
                }
            }
        }
    }
    if cells.is_empty() {
        return Err(exit::usage(
            "--source untouched: none of these operations reads what it does not write; copy, \
             read and triad do",
        ));
    }
    of_cells("memory", cells)
}

/// Loops work on words of 8 bytes, and fewer than 64 bytes are no block.
fn check_sizes(sizes: &[u64]) -> Result<()> {
    match sizes
        .iter()
        .find(|&&size| size < 64 || !size.is_multiple_of(8))
    {
        None => Ok(()),
        Some(&size) => Err(exit::usage(format!(
            "--sizes: a block of {} cannot be measured; at least 64 bytes, and a multiple of 8",
            bytes_text(size)
        ))),
    }
}

/// The kernels of an operation that were asked for, or its usual one.
fn kernels<'a>(operation: &Operation, asked: &'a [String], host: &Host) -> Result<Vec<&'a str>> {
    let known = operation.kernels(&host.arch);
    if known.is_empty() {
        return Err(exit::usage(format!(
            "--ops {}: there is no kernel of it for {}",
            operation.name, host.arch
        )));
    }
    let flag = format!("--ops {} --kernels", operation.name);
    chosen(&flag, asked, known, &known[..1])
}
