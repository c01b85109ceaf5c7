//! The laboratory of hugewise: workloads with known results.
//!
//! Each workload is small enough to be proved by reading, runs in a separate process, and prints either nothing or
//! exactly the line in its documentation.

use std::fmt::Display;
use std::io::Write;
use std::process::ExitCode;

mod arguments;
mod bench;
mod contend;
mod double_fault;
mod fault_mix;
mod fill;
mod fragment;
mod fragmented;
mod group;
mod map;
mod mapped;
mod mappings;
mod memory_budget;
mod missing;
mod no_ptrace;
mod pace;
mod pagemap;
pub mod plant;
mod planted;
mod pressure;
mod reads;
mod refuse;
mod region;
mod seccomp;
mod serve;
mod shared;
mod sites;
mod slow_faults;
mod sparse_memory;
mod stacks;
mod steady;
mod stride;
mod threads;
mod tlb;
mod touch;
mod userfault;
mod walk;
mod work;

use arguments::Arguments;

const USAGE: &str = "\
usage: hugewise-lab WORKLOAD [OPTIONS]

  touch --pages N [--step S] [--huge|--small] [--align huge|page] [--repeat R]
        [--hold MS]
        write one byte to each of N fresh pages, S pages apart; print
        `pages N faults F`
  shared --pages N [--folder DIR] [--hold MS]
        write one byte to each of N pages of shared memory, of a new file in DIR if it is
        named; print `pages N faults F`
  pool --huge-pages N [--hold MS]
        write one byte to each of N pages of the default hugetlb pool; print
        `huge-pages N faults F`
  small --mappings N          touch N mappings of 1 MiB that no huge page fits into
  read-first --pages N [--huge] [--only]
        read N pages, then write them (with --only: just read)
  double-fault --huge-pages N --first read|atomic
        touch N advised huge pages without writing, then write; print
        `huge-pages N faults F splits S`
  sparse --huge-pages N       write one byte to each of N advised huge pages
  gaps --huge-pages N --hold MS
        write to one small page in the place of each of N huge pages, advise them, and wait
        until khugepaged has filled the gaps, MS ms at most, or for nothing if it may not
  split --huge-pages N        fill N huge pages, then split their mappings
  stride --pages N --rounds R [--step S]
        read one byte in every S-th of N times S pages, R times over
  tlb --side read|write|code --page small|huge --pages N --step S [--cpu C]
        go around N places, S pages apart (0: one line), in a fixed order: A accesses for
        each line `A` on stdin, then print `done`; print `tlb PID INSTRUCTIONS` first

  steady --order chase|stream --mib N --out FILE [--huge] [--seconds S] [--kind shared]
         [--with churn|child|forks|zeros]
        read N MiB again and again until stdin closes or for S s, write the units of work so far to
        FILE; print `steady PID`, and at the end `units U same` if no word changed; --with adds a
        thread that maps and unmaps memory, a child, children that come and go, or 16 MiB with zeros

  fill --mib N [--huge] [--pause MS] [--stop-at MIB]
        print `fill PID`, wait for a line on stdin, write to each page of one mapping of N
        MiB, up to MIB, with a pause after each huge page; print `filled M MiB in MS ms`; hold
        it until stdin closes

  sites [--reads N] [--divide D]
        five mapping sites: one gains from huge pages, one loses, one does not care, and two
        belong together; print `NAME huge BYTES of BYTES` for each

  pace --pages N --out FILE [--repeat R] [--work STEPS]
        write N pages and give them back, R times over, with work after each page;
        write `faults F wall_ns W processor_ns P` to FILE
  pressure --pages N --folder F --out FILE [--repeat R] [--group CGROUP]
        read N pages of a file without content, R times over, as a member of CGROUP;
        write `pages N wall_ns W processor_ns P` to FILE
  fragment --fill MIB --reserve MIB --huge-pages N
        leave free memory without huge blocks, then touch N advised huge pages
  fragmented --to PERCENT     keep that share of free memory in blocks smaller than a huge page
        until stdin closes; print `fragmented SHARE free BYTES kept BYTES`, and again, having
        repaired the state, for each line on stdin
  spin --ms N                 use N ms of processor time and no memory
  work --steps N              compute N steps, and no more; HUGEWISE_LAB_WORK=FACTOR[:RUNS]
        does FACTOR times as many, in one run of RUNS, drawn by lot
  tree --processes N --pages P
        N children that touch P pages each and hold them at the same time
  orphan --pages P            leave a daemon behind that holds P pages; print its pid
  fault-mix [--write N] [--read N] [--read-write N] [--again N] [--huge N]
        [--read-huge N] [--copy N] [--file N] [--shared N] [--major N]
        so many faults of each kind
  threads --end exit|leave|exec
        end from another thread than the first
  contend --pages N --rounds R [--waiters W]
        populate N pages again and again while W threads map and unmap a page, R times each;
        print `contend calls_ns N`, what their calls took
  fail --code N | --signal N  end badly
  no-ptrace COMMAND           become the command, for which ptrace(2) fails with EPERM
  map --count N               map and unmap 4 MiB N times, and touch nothing
  mapped --file F --reads N [--hold MS]
        map file F and read N bytes at random places; print `bytes B faults F`
  calls FILE COMMAND          run the command, and write the place of each system call of its own
        to FILE: `PROCESS CALL [TARGET]`, with N for every number in it
  refuse FILE ERROR NTH PLACE COMMAND
        run the command, and answer the NTH of its calls at PLACE with ERROR, such as EIO;
        FILE then says `refused`, `it did not end` if it was killed after two minutes, and
        `a process is left` if one still runs 10 s after the end
  mappings --count N [--pages P [--touch T]]
        N mappings of two pages, half of them used, and one of P small pages, T of them used;
        print `mappings PID` and hold them until stdin closes
  reads --pid PID             read what `hugewise inspect` reads, and throw it away
  serve --port P --pages N [--huge] [--folder DIR] [--fail start|load|end]
        [--late stall|sleep] [--stacks N] [--order chase|stream [--mib N]]
        print `listening`, and answer each byte after writing to each of N pages and giving
        them back; some answers come 20 ms late, by a page fault or asleep; N threads wait;
        each answer reads some words of N MiB that stay
  ask --port P --requests R [--times]
        send R bytes, one by one; print a table of their `latency_ns`, and when each ended
  plant NAME [--folder DIR] [--all-memory] [--hold MS | --hold-until-stdin-closes]
        one region of memory that is in one known state; print
        `plant NAME PID START-END` (`plant --list` names them)
  bench SUITE --cells CELL[,CELL…]
        measure cells and print a line of JSON for each; HUGEWISE_LAB_PAGES says what is done
        for pages: advised (the default), plain, small, hugetlb or hugetlb-BYTES
          memory    OPERATION/KERNEL/BLOCK/SOURCE/THREADS
          latency   BYTES, cheapest in ascending order
          prefault  METHOD/BYTES/THREADS
          growth    brk|mmap|mprotect/STEP/aligned|between/at-once|later/BYTES
          heap      PROGRAM/BYTES, malloc and heaps as known programs grow them
          fork      alone|forked/BYTES/WRITES
          slab      slab|slab-populate|slab-touch|malloc/PLACES/OPERATIONS
          fragment  PERCENT/BYTES, BYTES written with PERCENT of free memory in small blocks
        the last five measure each cell in a process of its own";

/// Runs the workload that `arguments` name; they do not include the program's name.
#[must_use]
pub fn run(arguments: Vec<String>) -> ExitCode {
    match dispatch(arguments) {
        Ok(code) => code,
        Err(Trouble::Usage(problem)) => {
            say(format_args!("{problem}\n\n{USAGE}"));
            ExitCode::from(2)
        }
        Err(Trouble::Kernel(doing, error)) => {
            say(format_args!("{doing}: {error}"));
            ExitCode::from(1)
        }
        Err(Trouble::Premise(problem)) => {
            say(format_args!("the plant did not come up: {problem}"));
            ExitCode::from(3)
        }
        Err(Trouble::NotHere(reason)) => {
            say(format_args!("not on this machine: {reason}"));
            ExitCode::from(4)
        }
    }
}

/// Prints a message on stderr. A closed stderr must not change the workload or its exit status, so nothing here fails
/// or panics, as `eprintln!` would.
fn say(what: impl Display) {
    let text = format!("hugewise-lab: {what}");
    let _ = writeln!(std::io::stderr().lock(), "{}", plain(&text));
}

/// Removes control characters from the text: an argument can quote text of other programs.
fn plain(text: &str) -> String {
    let mut plain = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '\n' => plain.push(c),
            c if c.is_control() || c.escape_debug().count() > 1 && !c.is_ascii() => {
                plain.extend(c.escape_default());
            }
            c => plain.push(c),
        }
    }
    plain
}

/// Prints a line of a result. A closed stdout is not an error.
fn tell(line: impl Display) {
    let _ = writeln!(std::io::stdout().lock(), "{line}");
}

/// Why a workload did not run.
#[derive(Debug)]
enum Trouble {
    /// The command line is wrong.
    Usage(String),
    /// The kernel refused this operation.
    Kernel(&'static str, std::io::Error),
    /// The plant does not have its named state; this is its state.
    Premise(String),
    /// This machine does not support the plant, for this reason.
    NotHere(String),
}

impl Trouble {
    /// The error of the last system call.
    fn last(doing: &'static str) -> Self {
        Self::Kernel(doing, std::io::Error::last_os_error())
    }
}

fn dispatch(words: Vec<String>) -> Result<ExitCode, Trouble> {
    let mut words = words.into_iter();
    let workload = words
        .next()
        .ok_or_else(|| Trouble::Usage("no workload given".to_owned()))?;
    let mut rest = Arguments::new(words);
    match workload.as_str() {
        "touch" => touch::run(&mut rest),
        "fragment" => fragment::run(&mut rest),
        "fragmented" => fragmented::run(&mut rest),
        "pace" => pace::run(&mut rest),
        "pressure" => pressure::run(&mut rest),
        "shared" => shared::shared(&mut rest),
        "pool" => shared::pool(&mut rest),
        "small" => planted::small(&mut rest),
        "read-first" => planted::read_first(&mut rest),
        "double-fault" => double_fault::run(&mut rest),
        "sparse" => planted::sparse(&mut rest),
        "gaps" => sparse_memory::run(&mut rest),
        "split" => planted::split(&mut rest),
        "steady" => steady::run(&mut rest),
        "fill" => fill::run(&mut rest),
        "stride" => stride::run(&mut rest),
        "spin" => planted::spin(&mut rest),
        "work" => work::run(&mut rest),
        "tree" => planted::tree(&mut rest),
        "orphan" => planted::orphan(&mut rest),
        "fail" => planted::fail(&mut rest),
        "no-ptrace" => no_ptrace::run(&mut rest),
        "fault-mix" => fault_mix::run(&mut rest),
        "contend" => contend::run(&mut rest),
        "threads" => threads::run(&mut rest),
        "tlb" => tlb::run(&mut rest),
        "map" => map::run(&mut rest),
        "mapped" => mapped::run(&mut rest),
        "mappings" => mappings::run(&mut rest),
        "reads" => reads::run(&mut rest),
        "calls" => refuse::list(&mut rest),
        "refuse" => refuse::refuse(&mut rest),
        "serve" => serve::serve(&mut rest),
        "ask" => serve::ask(&mut rest),
        "sites" => sites::run(&mut rest),
        "plant" => plant::run(&mut rest),
        "bench" => bench::run(&mut rest),
        "-h" | "--help" | "help" => {
            tell(USAGE);
            Ok(ExitCode::SUCCESS)
        }
        other => Err(Trouble::Usage(format!("no workload `{other}`"))),
    }
}
