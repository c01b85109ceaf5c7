//! `plant`: one region of memory in one known state, for each reason why memory is not huge.
//!
//! A plant is made by its cause, and then its premise is checked in the kernel, to distinguish a failing test from a
//! plant that was not established. It prints the line
//!
//! ```text
//! plant NAME PID START-END
//! ```
//!
//! with the addresses in hexadecimal digits, and holds the memory. When it is released, the premise is checked again,
//! because khugepaged may have changed the memory.
//!
//! Exit status: 0, or 3 if the premise was not established or did not last, or 4 if this machine does not support the
//! plant.
//!
//! To add a plant, add a function to its family and a line with its needs to `table.rs`. If a program may report less
//! than its code, a line in `tests/confusion/expected.rs` of the program gives the reason.

use std::any::Any;
use std::io::Read;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use crate::Trouble;
use crate::arguments::Arguments;

mod advice;
mod bounds;
mod exhausted;
mod file;
mod fork;
mod khugepaged;
pub(crate) mod look;
mod need;
mod place;
mod preconditions;
mod reclaim;
mod shared;
pub(crate) mod span;
mod split;
mod table;
mod watched;
mod whole;
mod zero;

pub use need::{Need, Setting};
pub use table::{Asked, PLANTS, Plant, UNREACHABLE};

use place::Place;
use preconditions::Fact;
use span::Span;

/// An established plant.
pub(crate) struct Planted {
    span: Span,
    facts: Vec<Fact>,
    kept: Option<Box<dyn Any>>,
}

impl Planted {
    fn new(span: Span, facts: Vec<Fact>) -> Self {
        Self {
            span,
            facts,
            kept: None,
        }
    }

    /// All of it present, none of it huge, and `facts`.
    fn small<const N: usize>(span: Span, facts: [Fact; N]) -> Self {
        Self::small_but(span, 0, facts)
    }

    /// The same with this many pages missing.
    fn small_but<const N: usize>(span: Span, missing: usize, facts: [Fact; N]) -> Self {
        let mut all = vec![Fact::Present(span.pages() - missing)];
        all.extend(Fact::NOTHING_HUGE);
        all.extend(facts);
        Self::new(span, all)
    }

    /// Restricts the plant to a part.
    fn narrowed(mut self, span: Span) -> Self {
        self.span = span;
        let small = Self::small(span, []);
        self.facts.retain(|fact| !matches!(fact, Fact::Present(_)));
        self.facts.extend(small.facts);
        self
    }

    /// Keeps a resource open as long as the plant is held.
    fn keeping(mut self, kept: impl Any) -> Self {
        self.kept = Some(Box::new(kept));
        self
    }

    /// Checks that the plant still has its named state.
    fn check(&self) -> Result<(), Trouble> {
        self.facts.iter().try_for_each(|fact| fact.check(self.span))
    }
}

/// How long a plant is held.
enum Hold {
    For(Duration),
    UntilStdinCloses,
}

/// Runs `plant NAME`, or `plant --list`.
pub(crate) fn run(arguments: &mut Arguments) -> Result<ExitCode, Trouble> {
    if arguments.switch("--list") {
        arguments.finish()?;
        print!("{}", table::list());
        return Ok(ExitCode::SUCCESS);
    }
    let hold = hold(arguments)?;
    let folder = arguments
        .word("--folder")?
        .unwrap_or_else(|| ".".to_owned());
    let all_memory = arguments.switch("--all-memory");
    let plant = named(arguments)?;
    arguments.finish()?;
    if plant.needs.contains(&Need::AllMemory) && !all_memory {
        let what = "it takes all free memory of the machine; allow it with --all-memory";
        return Err(Trouble::NotHere(what.to_owned()));
    }
    if let Some(unmet) = plant.needs.iter().find_map(|need| need.unmet()) {
        return Err(Trouble::NotHere(unmet));
    }
    raise(plant, &Place::new(PathBuf::from(folder)), &hold)
}

fn raise(plant: &Plant, place: &Place, hold: &Hold) -> Result<ExitCode, Trouble> {
    keep_the_heap_in_one_piece();
    let planted = plant.make(place)?;
    planted.check()?;
    let Span { start, end } = planted.span;
    println!(
        "plant {} {} {start:x}-{end:x}",
        plant.name,
        std::process::id()
    );
    match *hold {
        Hold::For(duration) => std::thread::sleep(duration),
        Hold::UntilStdinCloses => {
            let _ = std::io::stdin().read_to_end(&mut Vec::new());
        }
    }
    planted.check()?;
    drop(planted);
    Ok(ExitCode::SUCCESS)
}

fn hold(arguments: &mut Arguments) -> Result<Hold, Trouble> {
    let stdin = arguments.switch("--hold-until-stdin-closes");
    match (arguments.number("--hold")?, stdin) {
        (Some(_), true) => Err(Trouble::Usage(
            "--hold and --hold-until-stdin-closes exclude each other".to_owned(),
        )),
        (None, true) => Ok(Hold::UntilStdinCloses),
        (milliseconds, false) => {
            let milliseconds = milliseconds.unwrap_or(0) as u64;
            Ok(Hold::For(Duration::from_millis(milliseconds)))
        }
    }
}

fn named(arguments: &mut Arguments) -> Result<&'static Plant, Trouble> {
    let name = arguments
        .next_word()
        .ok_or_else(|| Trouble::Usage("plant what? See `plant --list`".to_owned()))?;
    if let Some(plant) = PLANTS.iter().find(|plant| plant.name == name) {
        return Ok(plant);
    }
    match UNREACHABLE.iter().find(|(code, _)| *code == name) {
        Some((_, why)) => Err(Trouble::NotHere((*why).to_owned())),
        None => Err(Trouble::Usage(format!(
            "no plant `{name}`; see `plant --list`"
        ))),
    }
}

/// Makes malloc use the heap for large buffers too: a separate mapping could be placed next to a plant and merge with
/// it.
fn keep_the_heap_in_one_piece() {
    // SAFETY: called before any other thread exists.
    #[cfg(target_env = "gnu")]
    unsafe {
        libc::mallopt(libc::M_MMAP_THRESHOLD, i32::MAX)
    };
}
