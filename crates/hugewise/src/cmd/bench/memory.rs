use anyhow::Result;
use clap::Args;
use hugewise_base::host::Host;
use hugewise_base::units::{GIB, KIB, MIB, bytes_text, parse_size};
use hugewise_bench::memory::{OPERATIONS, Operation, SOURCES};
use hugewise_experiment::run::cells::Bench;
use hugewise_linux::machine::root::Root;

use super::cells::{chosen, flag_text, of_cells, or_usual};
use super::flags::BenchFlags;
use super::{calibrate, room};
use crate::exit;

/// A block for each cache level, and then for memory, as far as the time allows.
const USUAL_SIZES: [u64; 6] = [64 * KIB, MIB, 32 * MIB, 256 * MIB, GIB, LARGEST_USUAL];
const LARGEST_USUAL: u64 = 4 * GIB;

const USUAL_OPERATIONS: &[&str] = &["copy", "fill", "read"];

/// Flags of `bench memory`.
#[derive(Debug, Args)]
pub(super) struct Arguments {
    /// Block sizes [default: 64K to 4G, as --max-time allows]
    #[arg(long, value_name = "SIZE,SIZE", value_delimiter = ',', value_parser = parse_size)]
    sizes: Vec<u64>,

    /// Operations: copy, fill, read, write, rmw, triad
    ///
    /// The default is copy,fill,read.
    #[arg(long, value_name = "NAME,NAME", value_delimiter = ',')]
    ops: Vec<String>,

    /// Kernels, e.g. libc,rep,avx2,nt [default: one per operation]
    ///
    /// Any other name lists them.
    #[arg(long, value_name = "NAME,NAME", value_delimiter = ',')]
    kernels: Vec<String>,

    /// State of the source: written, zeroed, untouched [default: written]
    ///
    /// Zeroed memory was written with zeros; untouched memory is the zero page.
    #[arg(
        hide_short_help = true,
        long,
        value_name = "STATE,STATE",
        value_delimiter = ','
    )]
    source: Vec<String>,

    /// Numbers of threads, each with its own blocks [default: 1]
    #[arg(hide_short_help = true, long, value_name = "N,N", value_delimiter = ',', value_parser = clap::value_parser!(u64).range(1..=1024))]
    threads: Vec<u64>,

    #[command(flatten)]
    pub(super) common: BenchFlags,
}

/// The cells of these flags.
pub(super) fn bench(flags: &Arguments, host: &Host, root: &Root) -> Result<Bench> {
    let known: Vec<&str> = OPERATIONS.iter().map(|operation| operation.name).collect();
    let names = chosen("--ops", &flags.ops, &known, USUAL_OPERATIONS)?;
    let operations: Vec<&Operation> = names
        .iter()
        .filter_map(|name| OPERATIONS.iter().find(|operation| operation.name == *name))
        .collect();
    let states = chosen("--source", &flags.source, SOURCES, &SOURCES[..1])?;
    let threads = or_usual(&flags.threads, &[1]);
    check_sizes(&flags.sizes)?;
    let cells = |sizes: &[u64]| cells(flags, host, (&operations, &states), sizes, &threads);
    let reads = operations.iter().any(|operation| operation.reads);
    if !reads && !states.contains(&"written") {
        return Err(exit::usage(format!(
            "--source {}: no such operation has a separate source; copy, read and triad have",
            states.join(",")
        )));
    }
    let most = operations.iter().map(|operation| operation.blocks).max();
    let count = most.unwrap_or(1) * threads.iter().max().unwrap_or(&1);
    room::check("--sizes", &flags.sizes, count, host, root)?;
    if !flags.sizes.is_empty() {
        return of_cells("memory", cells(&flags.sizes)?);
    }
    let usual = |largest: u64| cells(&USUAL_SIZES.map(|size| size.min(largest)));
    let most = room::usual_most(count, host, root)?.min(LARGEST_USUAL);
    let largest = calibrate::largest("memory", flags.common.budget("memory", host), most, usual)?;
    Ok(Bench {
        left_out: left_out(flags, largest, host),
        ..of_cells("memory", usual(largest)?)?
    })
}

/// The words of the cells for these operations, states and block sizes.
fn cells(
    flags: &Arguments,
    host: &Host,
    (operations, states): (&[&Operation], &[&str]),
    sizes: &[u64],
    threads: &[u64],
) -> Result<Vec<Vec<String>>> {
    let mut cells = Vec::new();
    for operation in operations {
        for kernel in kernels(operation, &flags.kernels, host)? {
            let sensible = |state: &&&str| **state == "written" || operation.reads;
            for state in states.iter().filter(sensible) {
                for threads in threads {
                    cells.extend(sizes.iter().map(|size| {
                        let numbers = [size.to_string(), threads.to_string()];
                        [operation.name, kernel, &numbers[0], state, &numbers[1]]
                            .map(str::to_owned)
                            .into()
                    }));
                }
            }
        }
    }
    Ok(cells)
}

/// Describes the sizes that the default leaves out.
fn left_out(flags: &Arguments, usual: u64, host: &Host) -> Option<String> {
    let more = room::quarter(host.memory_bytes);
    let longer = if usual < LARGEST_USUAL {
        " or a longer --max-time"
    } else {
        ""
    };
    let larger = (usual < more).then(|| {
        let (largest, to) = (bytes_text(usual), flag_text(more));
        format!("blocks above {largest} (--sizes up to {to}{longer})")
    });
    let chosen = [&flags.ops, &flags.kernels, &flags.source];
    let nothing = flags.threads.is_empty() && chosen.iter().all(|it| it.is_empty());
    let others = nothing.then(|| {
        let names = OPERATIONS.iter().map(|operation| operation.name);
        let names: Vec<&str> = names
            .filter(|name| !USUAL_OPERATIONS.contains(name))
            .collect();
        let names = names.join(",");
        format!("--ops {names}, other --kernels, --source and --threads")
    });
    let parts: Vec<String> = larger.into_iter().chain(others).collect();
    (!parts.is_empty()).then(|| format!("Left out: {}.", parts.join(", ")))
}

/// Loops work on words of 8 bytes, and a block has at least 64 bytes.
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

/// The requested kernels of an operation, or its usual one.
fn kernels<'a>(operation: &Operation, flags: &'a [String], host: &Host) -> Result<Vec<&'a str>> {
    let known = operation.kernels(&host.arch);
    if known.is_empty() {
        return Err(exit::usage(format!(
            "--ops {}: it has no kernel {}",
            operation.name, host.arch
        )));
    }
    let flag = format!("--ops {} --kernels", operation.name);
    let has = |name: &&str| lacks(name).is_none();
    if let Some((name, what)) = flags.iter().find_map(|name| Some((name, lacks(name)?))) {
        let those: Vec<&str> = known.iter().copied().filter(has).collect();
        return Err(exit::usage(format!(
            "{flag} {name}: this processor has no {what}; it can run {}",
            those.join(", ")
        )));
    }
    chosen(&flag, flags, known, &known[..1])
}

/// The processor feature that a kernel needs and this processor lacks. The laboratory checks again.
fn lacks(kernel: &str) -> Option<&'static str> {
    let needs = |word: &str| kernel.split('-').any(|part| part == word);
    #[cfg(target_arch = "x86_64")]
    let features = [
        ("avx2", std::arch::is_x86_feature_detected!("avx2"), "AVX2"),
        (
            "avx512",
            std::arch::is_x86_feature_detected!("avx512f"),
            "AVX-512",
        ),
        ("clzero", has_clzero(), "CLZERO"),
    ];
    #[cfg(target_arch = "aarch64")]
    let features = [("sve", std::arch::is_aarch64_feature_detected!("sve"), "SVE")];
    #[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
    let features: [(&str, bool, &str); 0] = [];
    let missing = features
        .into_iter()
        .find(|(word, has, _)| needs(word) && !has);
    missing.map(|(_, _, name)| name)
}

/// The standard library does not detect it (AMD64 manual, volume 3: CPUID 8000_0008).
#[cfg(target_arch = "x86_64")]
fn has_clzero() -> bool {
    use std::arch::x86_64::__cpuid;
    const LEAF: u32 = 0x8000_0008;
    __cpuid(0x8000_0000).eax >= LEAF && __cpuid(LEAF).ebx & 1 != 0
}
