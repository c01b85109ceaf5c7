//! `hugewise attribute`: finds the memory that causes the effect of huge pages.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use anyhow::Result;
use clap::Args;
use hugewise_attribute::{self, Attribution, Design, Groups, Listing, SitesFile, WholeEffect};
use hugewise_base::host::Host;
use hugewise_base::units::rough;
use hugewise_experiment::run::plan::{Bounds, Plan};
use hugewise_experiment::run::policy::Policy;
use hugewise_experiment::run::record::{Record, StopReason};
use hugewise_experiment::run::site::{Identity, Site};
use hugewise_linux::machine::clock::unix_ms;
use hugewise_linux::machine::root::Root;

use crate::exit::{self, Exit};
use crate::experiment::conduct::{Files, gather};
use crate::experiment::progress::Telling;
use crate::experiment::{recorder, records};
use crate::options::{InterleaveChoice, Options, PageFile};
use crate::output::{self, Output};
use crate::stderr::{message, message_lines};

mod by;
mod csv;
mod names;

use by::By;

/// Flags of `attribute`.
#[derive(Debug, Args)]
#[command(
    after_help = "The flags of `run` for a workload and a server work too: hugewise help attribute"
)]
pub struct Arguments {
    // This must come first, because clap lists flags after the output's flags under their heading.
    #[command(flatten)]
    options: Options,

    /// Sites by mapping (default), site, chunk, library
    ///
    /// `mapping` numbers the mappings of each size class in a process. `site` is the chain of calls that maps it, with
    /// the size class. `chunk` cuts each mapping into parts of equal size, for runtimes that map all memory at once;
    /// `chunk-64m` sets the size. `library` is the file that asks for the memory.
    #[arg(long, value_name = "WHAT", default_value = "mapping", hide_default_value = true, help_heading = ATTRIBUTE)]
    by: By,

    /// Rounds of the design [default: at least 64 trials]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(2..), help_heading = ATTRIBUTE)]
    rounds: Option<u32>,

    /// Go on without an effect of all sites together
    ///
    /// A site that helps and one that hurts may cancel out.
    #[arg(long, help_heading = ATTRIBUTE)]
    force: bool,

    /// Write the sites that help to FILE, for `exec --sites`
    #[arg(long, value_name = "FILE", help_heading = ATTRIBUTE)]
    sites: Option<PathBuf>,

    /// Only the best N of the sites that help
    #[arg(long, value_name = "N", requires = "sites", value_parser = clap::value_parser!(u32).range(1..), help_heading = ATTRIBUTE)]
    best: Option<u32>,

    /// Write the record of the design to FILE, which must be new
    #[arg(long, value_name = "FILE", help_heading = ATTRIBUTE)]
    out: Option<PathBuf>,

    /// Report again from the record of a design
    #[arg(long, value_name = "RECORD", conflicts_with_all = ["command", "out", "rounds", "force"], help_heading = ATTRIBUTE)]
    from: Option<PathBuf>,

    #[command(flatten)]
    page: PageFile,

    #[command(flatten)]
    output: Output,
}

/// The help heading of its own flags.
const ATTRIBUTE: &str = "Attribution";

/// The flags of `run` that the design sets here.
const DESIGNED: [&str; 6] = [
    "policy", "matrix", "program", "baseline", "system", "fragment",
];

/// The help of this verb. Flags shared with `run` are only in the long help; flags of `run` that this verb does not
/// support are in neither.
pub fn with_short_help(command: clap::Command) -> clap::Command {
    const KEPT: [&str; 11] = [
        "by", "rounds", "sites", "best", "out", "from", "command", "html", "format", "verbose",
        "help",
    ];
    command.mut_args(|argument| {
        let name = argument.get_id().as_str();
        if DESIGNED.contains(&name) {
            argument.hide(true)
        } else if KEPT.contains(&name) {
            argument
        } else {
            argument.hide_short_help(true)
        }
    })
}

/// Runs the verb.
pub fn run(arguments: &Arguments) -> Result<Exit> {
    if let Some(named) = &arguments.from {
        let path = records::find(named)?;
        arguments.page.check()?;
        let record = recorder::parse(&path, &source(&path)?)?;
        if record.header.plan.live.is_some() {
            let path = path.display();
            return Err(exit::usage(format!(
                "{path} is of a running process: hugewise report {path}"
            )));
        }
        return report(&record, &path, arguments);
    }
    let mut options = arguments.options.clone().complete()?;
    check(&options)?;
    // The contents of a server's sites are read at its end, so each trial needs its own server.
    options.server.interleave = Some(InterleaveChoice::No);
    output::check_file(&arguments.output)?;
    arguments.page.check()?;
    output::check_writable("--sites", arguments.sites.as_deref())?;
    let experiment = Experiment {
        root: Root::real(),
        options,
        arguments,
        seed: unix_ms(),
        began: Instant::now(),
    };
    experiment.run()
}

fn check(options: &Options) -> Result<()> {
    let given = [
        ("--policy", !options.policy.is_empty()),
        ("--matrix", !options.matrix.is_empty()),
        ("--program", !options.program.is_empty()),
        ("--baseline", options.baseline.is_some()),
        ("--system", options.system),
        ("--fragment", options.fragment.is_some()),
    ];
    if let Some((flag, _)) = given.iter().find(|(_, is_given)| *is_given) {
        return Err(exit::usage(format!(
            "{flag}: `attribute` itself says what is tried; leave it out"
        )));
    }
    match options.server.interleave {
        Some(InterleaveChoice::Yes) => Err(exit::usage(
            "--interleave yes: `attribute` starts a server for each trial; leave it out",
        )),
        _ => Ok(()),
    }
}

/// The three parts of an attribution: the list of the sites, the whole effect, the design.
struct Experiment<'a> {
    root: Root,
    options: Options,
    arguments: &'a Arguments,
    seed: u64,
    began: Instant,
}

impl Experiment<'_> {
    fn run(&self) -> Result<Exit> {
        let by = self.identity()?;
        let listing = self.list(by)?;
        let sites = listing.sites();
        self.say(&names::listing_text(&listing));
        if sites.is_empty() {
            message("no site recurs in every run, so there is nothing to attribute");
            return Ok(Exit::Done);
        }
        let whole = hugewise_attribute::whole(by, &sites).to_vec();
        let (record, _) = self.measure(whole, None, None)?;
        let effect = WholeEffect::of(&record).map_err(exit::usage)?;
        self.say(&effect.text);
        if !effect.is_shown() && !self.arguments.force {
            let why = effect.obstacle();
            message(format_args!("{why}; --force goes on nevertheless"));
            return Ok(Exit::Done);
        }
        let huge = hugewise_attribute::that_became_huge(&record, &sites);
        self.say(&names::never_huge_text(&sites, &huge));
        let sites = self.screen(by, huge, &record)?;
        let Some(design) = Design::new(sites.len()) else {
            message("no site that became huge was shown to matter, so none is split");
            return Ok(Exit::Done);
        };
        let rows = hugewise_attribute::rows(by, &sites).unwrap_or_default();
        let rounds = self.rounds(&design, &record);
        self.say(&design_text(&design, rounds, &record));
        let out = self.arguments.out.as_deref();
        let (record, path) = self.measure(rows, Some(rounds), out)?;
        report(&record, &path, self.arguments)
    }

    /// How sites are identified. The size of memory parts depends on the amount of memory.
    fn identity(&self) -> Result<Identity> {
        Ok(match self.arguments.by {
            By::Known(by) => by,
            By::Chunk => self.list(Identity::Mapping)?.chunks(),
        })
    }

    /// While there are too many sites for a design, tests random groups of them and keeps the active groups.
    fn screen(&self, by: Identity, mut sites: Vec<Site>, whole: &Record) -> Result<Vec<Site>> {
        let mut seed = self.seed;
        while let Some(groups) = Groups::at_random(&sites, seed) {
            let rounds = self.rounds(groups.design(), whole);
            self.say(&names::screening_text(&groups));
            self.say(&design_text(groups.design(), rounds, whole));
            let (record, path) = self.measure(groups.rows(by), Some(rounds), None)?;
            let too_few = || {
                let path = path.display();
                exit::trial_failed(format!("{path}: too few whole rounds to screen the groups"))
            };
            let screened = groups.screened(&record).ok_or_else(too_few)?;
            self.say(&names::screened_text(&screened));
            sites = screened.sites;
            seed = seed.wrapping_add(1);
        }
        Ok(sites)
    }

    /// The requested number of rounds, or the default, reduced to what --max-time leaves.
    fn rounds(&self, design: &Design, whole: &Record) -> u32 {
        let usual = usual_rounds(design);
        let in_time = self.options.limits.max_time.map_or(usual, |limit| {
            let left = limit.saturating_sub(self.began.elapsed()).as_millis();
            let round = between_trials(whole).as_millis() * u128::from(trials_of_a_round(design));
            u32::try_from(left / round.max(1)).unwrap_or(u32::MAX)
        });
        let asked = self.arguments.rounds;
        asked.unwrap_or_else(|| usual.min(in_time).max(FEWEST_ROUNDS))
    }

    /// Lists the sites in two runs, which show the sites that recur.
    fn list(&self, by: Identity) -> Result<Listing> {
        const RUNS: u32 = 2;
        let [none, _] = hugewise_attribute::whole(by, &[]);
        let (record, _) = self.measure(vec![none], Some(RUNS), None)?;
        Ok(Listing::of(record.trials.iter()))
    }

    /// Measures policies for a fixed number of rounds, or until decided.
    fn measure(
        &self,
        policies: Vec<Policy>,
        rounds: Option<u32>,
        out: Option<&Path>,
    ) -> Result<(Record, PathBuf)> {
        let baseline = policies.first().map(|policy| policy.name.clone());
        let options = Options {
            policy: policies,
            baseline,
            ..self.options.clone()
        };
        let plan = |host: &Host| -> Result<Plan> {
            let plan = options.plan(host, self.seed)?;
            let bounds = rounds.map_or(plan.bounds, |rounds| fixed(plan.bounds, rounds));
            Ok(Plan { bounds, ..plan })
        };
        let files = Files {
            record: out,
            // A row of a design is no answer, so progress messages about policies would mislead.
            telling: match rounds {
                Some(_) => Telling::Rows,
                None => Telling::Policies,
            },
            ..Files::default()
        };
        let output = &self.arguments.output;
        let (record, path) = gather(&self.root, &options, plan, files, output)?;
        let end = record.end.as_ref().map(|end| end.reason);
        if end == Some(StopReason::Interrupted) {
            let path = path.display();
            return Err(exit::interrupted(format!("what was measured is in {path}")));
        }
        if !record.trials.iter().any(|trial| trial.succeeded()) {
            let how = record.trials.first().map(|trial| trial.outcome.to_string());
            let how = how.unwrap_or_default();
            return Err(exit::trial_failed(format!("the command fails: {how}")));
        }
        Ok((record, path))
    }

    fn say(&self, text: &str) {
        if !self.arguments.output.quiet && !text.is_empty() {
            message_lines(text);
        }
    }
}

/// Describes the design and its approximate duration: the time between two trials is that of the whole effect.
fn design_text(design: &Design, rounds: u32, whole: &Record) -> String {
    let trials = trials_of_a_round(design) * rounds;
    format!(
        "the design: {} rows, {rounds} rounds, {trials} trials, about {}",
        design.rows().len(),
        rough(between_trials(whole) * trials)
    )
}

/// Each round has a control in addition to the rows.
fn trials_of_a_round(design: &Design) -> u32 {
    u32::try_from(design.rows().len() + 1).unwrap_or(u32::MAX)
}

/// The time from one trial to the next.
fn between_trials(record: &Record) -> Duration {
    let begun = record.trials.iter().map(|trial| trial.started_unix_ms);
    let span = begun.clone().max().unwrap_or(0) - begun.min().unwrap_or(0);
    Duration::from_millis(span / (record.trials.len() as u64).saturating_sub(1).max(1))
}

/// Fixes the number of rounds: a design that stops depending on its data has different error rates.
fn fixed(bounds: Bounds, rounds: u32) -> Bounds {
    Bounds {
        min_rounds: rounds.saturating_add(1),
        max_rounds: rounds,
        max_time: None,
        // Earlier trials have warmed up the machine, and a warm-up of each row would double the design.
        warmup_rounds: 0,
        least_rounds: None,
        precision: None,
        ..bounds
    }
}

/// The default rounds: at least 64 trials, so that 3 % of noise gives an interval of ±1.5 points, and at least two
/// rounds.
fn usual_rounds(design: &Design) -> u32 {
    const TRIALS: usize = 64;
    let rounds = TRIALS.div_ceil(design.rows().len());
    u32::try_from(rounds).unwrap_or(u32::MAX).max(FEWEST_ROUNDS)
}

/// Minimum rounds of a design: the noise is the variation of a row between rounds.
const FEWEST_ROUNDS: u32 = 2;

/// The bytes of a record, from its file or from a page with it.
fn source(path: &Path) -> Result<Vec<u8>> {
    recorder::source(path, recorder::read_bytes(path)?)
}

fn report(record: &Record, path: &Path, arguments: &Arguments) -> Result<Exit> {
    let attribution = show(record, path, &arguments.page, &arguments.output)?;
    if let Some(file) = &arguments.sites {
        let most = arguments.best.map_or(usize::MAX, |best| best as usize);
        write_sites(&attribution, most, file)?;
    }
    Ok(Exit::Done)
}

/// Prints the attribution from the record of a design, and writes the page if it was asked for.
///
/// # Errors
/// The record is not of a design, or the output cannot be written.
pub fn show(record: &Record, path: &Path, page: &PageFile, output: &Output) -> Result<Attribution> {
    let refused = |problem: String| exit::usage(format!("{}: {problem}", path.display()));
    let mut attribution = Attribution::of(record).map_err(refused)?;
    // The files of the calls belong to the workload.
    crate::invoker::rights()?.lend(|| {
        names::name_places(&mut attribution);
        Ok(())
    })?;
    output::show(
        output,
        &attribution,
        || attribution.document(&path.display().to_string()),
        || csv::rows(&attribution),
    )?;
    let bytes = || recorder::source(path, recorder::read_back(path)?);
    page.write(|| Ok(attribution.page(&path.display().to_string(), &bytes()?)))?;
    Ok(attribution)
}

/// Returns true for the record of a design.
#[must_use]
pub fn is_design(record: &Record) -> bool {
    if record.header.plan.live.is_some() {
        return Attribution::is_of(record);
    }
    let verb = record.header.made_by.get(1);
    verb.is_some_and(|verb| verb == "attribute") && Attribution::of(record).is_ok()
}

fn write_sites(attribution: &Attribution, most: usize, path: &Path) -> Result<()> {
    match SitesFile::of(attribution, most) {
        Some(file) => output::write_file(path, &output::json(&file)?),
        None => {
            message("no site was shown to help, so --sites has nothing to write");
            Ok(())
        }
    }
}
