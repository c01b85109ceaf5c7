//! `hugewise report`: reports a record again, with another baseline or metric, or compares two records.

use std::path::{Path, PathBuf};

use anyhow::Result;
use clap::Args;
use hugewise_experiment::run::compare::{Across, Table};
use hugewise_experiment::run::plan::Criterion;
use hugewise_experiment::run::record::{Private, Record, redact, split};
use hugewise_experiment::run::report::{Other, Report, trials};
use hugewise_experiment::run::{compare, timeline};
use hugewise_linux::machine::root::Root;
use hugewise_text::wrap::quoted;
use hugewise_text::{page, to_text};

#[cfg(feature = "attribute")]
use crate::cmd::attribute;
use crate::exit::{self, Exit};
use crate::experiment::metrics::check_gates;
use crate::experiment::report::{self, ReportFiles};
use crate::options::{Demands, Exports, parse_share};
use crate::output::{self, Format, Output};
use hugewise_text::suggest::nearest;

use crate::experiment::own_setting::beside_knowledge;
use crate::experiment::{cells, earlier, recorder, records};
use crate::stderr::message;

/// Flags of `report`.
#[derive(Debug, Args)]
pub struct Arguments {
    /// A record (last, last~1, or a file), and a second one to compare it with; none lists them
    #[arg(value_name = "RECORD", num_args = 0..)]
    records: Vec<PathBuf>,

    /// Compare these records with those before, one value a record: A1 A2 A3 --against B1 B2 B3
    ///
    /// Two records of one program differ by more than the trials of each, so two have no interval. With three records
    /// or more on each side there is one.
    #[arg(hide_short_help = true, long, value_name = "RECORD", num_args = 1.., requires = "records")]
    against: Vec<PathBuf>,

    /// Leave out private data before you share a report or a record
    ///
    /// Removes the boot line, the host name, users' folders, the values of environment variables, and the stderr of
    /// failed trials. The settings of policies stay, and so does the rest of the command line: check it first.
    #[arg(hide_short_help = true, long, conflicts_with = "timeline")]
    redact: bool,

    /// Write the redacted record to FILE, which must be new
    #[arg(
        hide_short_help = true,
        long,
        value_name = "FILE",
        requires = "redact",
        help_heading = "Output"
    )]
    out: Option<PathBuf>,

    /// Policy that the others are compared with
    #[arg(long, value_name = "NAME")]
    baseline: Option<String>,

    /// Decide by: typical, mean, p95 or a metric
    ///
    /// Default: the typical run of the experiment's metric, and no run may get worse.
    #[arg(long, alias = "verdict-metric", value_name = "WHAT")]
    judge_by: Option<Criterion>,

    /// Smallest effect that matters, e.g. 1%
    #[arg(hide_short_help = true, long, value_name = "SHARE", value_parser = parse_share)]
    threshold: Option<f64>,

    /// Compare two records made under different circumstances; the report names them
    #[arg(hide_short_help = true, long)]
    across: bool,

    #[command(flatten)]
    demands: Demands,

    #[command(flatten)]
    exports: Exports,

    /// Draw the curves of a bench into FILE
    #[arg(
        hide_short_help = true,
        long,
        value_name = "FILE",
        help_heading = "Output"
    )]
    svg: Option<PathBuf>,

    /// Show the trials of a server second by second
    #[arg(long, conflicts_with_all = ["baseline", "judge_by", "threshold", "fail_if", "strict", "svg"])]
    timeline: bool,

    /// Show every trial of the deciding metric
    ///
    /// How the trials are spread, and how they changed from round to round.
    #[arg(long, conflicts_with_all = ["baseline", "threshold", "fail_if", "strict", "svg", "timeline"])]
    trials: bool,

    #[command(flatten)]
    output: Output,
}

/// Runs the verb.
pub fn run(arguments: &Arguments) -> Result<Exit> {
    let output = &arguments.output;
    output::check_file(output)?;
    output::check_writable("--svg", arguments.svg.as_deref())?;
    arguments.exports.check()?;
    if arguments.records.is_empty() {
        let entries = records::list()?;
        let document = || records::document(&entries);
        let json = serde_json::json!({ "format": "hugewise-records 1", "records": entries });
        output::show(output, &json, document, || records::csv(&entries))?;
        return Ok(Exit::Done);
    }
    let (files, first) = of_both_sides(arguments)?;
    let (paths, files): (Vec<PathBuf>, Vec<Vec<u8>>) = files.into_iter().unzip();
    let parsed = paths.iter().zip(&files);
    let parsed = parsed.map(|(path, bytes)| recorder::parse(path, bytes));
    let records: Vec<Record> = parsed.collect::<Result<_>>()?;
    #[cfg(feature = "attribute")]
    if let ([record], [path]) = (&records[..], &paths[..])
        && attribute::is_design(record)
    {
        attribute::show(record, path, &arguments.exports.page, output)?;
        return Ok(Exit::Done);
    }
    if arguments.timeline {
        return seconds(&records, &arguments.output);
    }
    if arguments.trials {
        return each_trial(&records, arguments);
    }
    for record in &records {
        let plan = &record.header.plan;
        check_gates(&arguments.demands.fail_if, &plan.printed, &plan.programs)?;
    }
    let report = match arguments.against.is_empty() {
        true => compared(&records, &paths, arguments)?,
        false => of_sessions(&records, &paths, first, arguments)?,
    };
    let to = ReportFiles {
        svg: arguments.svg.as_deref(),
        exports: &arguments.exports.files,
        page: Some(&arguments.exports.page),
    };
    report::show(&report, output, to, &arguments.demands.fail_if)?;
    let exit = report::judge(&arguments.demands, &report, output);
    report::write_page(report, to, || Ok(files.concat()))?;
    Ok(exit)
}

/// A record's name and its bytes.
type File = (PathBuf, Vec<u8>);

/// The files of all named records, and the number of those on the first side.
fn of_both_sides(arguments: &Arguments) -> Result<(Vec<File>, usize)> {
    let found = |words: &[PathBuf]| -> Result<Vec<File>> {
        let named = words.iter().map(|word| records::find(word));
        let paths: Vec<PathBuf> = named.collect::<Result<_>>()?;
        read(&paths, arguments)
    };
    let mut files = found(&arguments.records)?;
    let first = files.len();
    if arguments.against.is_empty() && first > 2 {
        return Err(exit::usage(format!(
            "these are {first} records; report compares two, or several a side: report A1 A2 A3 --against B1 B2 B3"
        )));
    }
    files.extend(found(&arguments.against)?);
    Ok((files, first))
}

/// Compares several records with several others.
fn of_sessions<'a>(
    records: &'a [Record],
    paths: &[PathBuf],
    first: usize,
    arguments: &Arguments,
) -> Result<Report<'a>> {
    check_plain(arguments)?;
    let (before, after) = records.split_at(first);
    let table = compare::sessions(before, after, across(arguments)).map_err(exit::usage)?;
    let names: Vec<String> = paths.iter().map(|path| shown(path, arguments)).collect();
    let (old, new) = names.split_at(first);
    let other = Other {
        record: &after[0],
        sides: [old.to_vec(), new.to_vec()],
    };
    Ok(Report::between(&before[0], other, table).with_cells(cells::view(&before[0])))
}

fn shown(path: &Path, arguments: &Arguments) -> String {
    let name = path.file_name().map_or_else(PathBuf::new, PathBuf::from);
    match arguments.redact {
        true => name.display().to_string(),
        false => path.display().to_string(),
    }
}

/// The records in these files with their bytes, redacted on request.
fn read(paths: &[PathBuf], arguments: &Arguments) -> Result<Vec<File>> {
    let mut all = Vec::new();
    for path in paths {
        all.extend(records_in(path)?);
    }
    if !arguments.redact {
        return Ok(all);
    }
    if arguments.out.is_some() && all.len() > 1 {
        return Err(exit::usage("--out needs one record; name only one"));
    }
    for (path, bytes) in &mut all {
        *bytes = redacted(path, bytes)?;
        if let Some(out) = &arguments.out {
            recorder::write_new(out, bytes)?;
        }
    }
    Ok(all)
}

/// The bytes of a record, or of each record in a page: `PAGE#2` is its second.
fn records_in(path: &Path) -> Result<Vec<File>> {
    let text = path.to_string_lossy();
    if let Some((page, number)) = text.rsplit_once('#').filter(|_| !path.exists()) {
        let all = records_in(Path::new(page))?;
        let one = all.into_iter().find(|(name, _)| name == path);
        let missing = || exit::usage(format!("{page} has no record {number}"));
        return Ok(vec![one.ok_or_else(missing)?]);
    }
    let bytes = recorder::read_bytes(path)?;
    let shown = path.display();
    if let Some(again) = page::again(&bytes).filter(|again| !again.starts_with("hugewise report")) {
        let file = quoted(&text);
        let hint = format!("{shown}: this page holds no record of `run`; write: {again} {file}");
        return Err(exit::usage(hint));
    }
    if !page::is_page(&bytes) {
        return Ok(vec![(path.to_owned(), bytes)]);
    }
    let records = split(&recorder::source(path, bytes)?);
    let name = |index: usize| match records.len() {
        1 => path.to_owned(),
        _ => PathBuf::from(format!("{shown}#{}", index + 1)),
    };
    let names: Vec<PathBuf> = (0..records.len()).map(name).collect();
    Ok(names.into_iter().zip(records).collect())
}

/// Removes private data from the bytes of a record, and prints which kinds it removed.
fn redacted(path: &Path, record: &[u8]) -> Result<Vec<u8>> {
    let host_name = Root::real().read_trimmed("proc/sys/kernel/hostname");
    let private = Private {
        host_name: &host_name.unwrap_or_default(),
        home: &std::env::var("HOME").unwrap_or_default(),
    };
    let wrong = |error| exit::usage(format!("{}: {error}", path.display()));
    let (bytes, removed) = redact(record, private).map_err(wrong)?;
    message(format_args!(
        "removed: {removed}. The rest of the command line stays; look at it before you share this."
    ));
    Ok(bytes)
}

/// Reports one record, or compares two.
fn compared<'a>(
    records: &'a [Record],
    paths: &[PathBuf],
    arguments: &Arguments,
) -> Result<Report<'a>> {
    let name = |index: usize| shown(&paths[index], arguments);
    match records {
        [before, after] => {
            let table = between(before, after, arguments)?;
            let other = Other {
                record: after,
                sides: [vec![name(0)], vec![name(1)]],
            };
            Ok(Report::between(before, other, table).with_cells(cells::view(before)))
        }
        [record, ..] => {
            let table = within(record, arguments)?;
            let word = records::word(&paths[0]).filter(|_| !arguments.redact);
            let report = cells::report(record, table, Some(name(0))).called(word);
            Ok(match arguments.redact {
                true => report,
                false => beside_knowledge(earlier::beside_earlier(report, &paths[0])),
            })
        }
        [] => Err(exit::usage("report needs a record")),
    }
}

/// The only record, for a view that exists only as text.
fn drawn<'a>(flag: &str, also: &str, records: &'a [Record], output: &Output) -> Result<&'a Record> {
    let [record] = records else {
        return Err(exit::usage(format!(
            "{flag} needs one record; name only one"
        )));
    };
    if output.format != Format::Text || output.json.is_some() {
        return Err(exit::usage(format!(
            "{flag} prints text only; without it, {also}"
        )));
    }
    Ok(record)
}

/// Shows the trials of one record.
fn each_trial(records: &[Record], arguments: &Arguments) -> Result<Exit> {
    let output = &arguments.output;
    let also = "--format csv has the readings of each trial";
    let record = drawn("--trials", also, records, output)?;
    let metric = within(record, arguments)?.verdict.metric;
    let style = output::style(output);
    output::print(&to_text(&trials(record, &metric, style.width), &style))?;
    Ok(Exit::Done)
}

/// Shows one record second by second.
fn seconds(records: &[Record], output: &Output) -> Result<Exit> {
    let also = "--format json has the `timeline` of each trial";
    let record = drawn("--timeline", also, records, output)?;
    if record.trials.iter().all(|trial| trial.timeline.is_none()) {
        return Err(exit::usage(
            "--timeline: no trial of this record has a timeline; `hugewise run --service` records \
             one",
        ));
    }
    let document = timeline::document(record);
    output::print(&to_text(&document, &output::style(output)))?;
    Ok(Exit::Done)
}

fn named_metric(arguments: &Arguments) -> Option<&str> {
    arguments.judge_by.as_ref().and_then(Criterion::metric)
}

fn within(record: &Record, arguments: &Arguments) -> Result<Table> {
    let options = compare::Options {
        baseline: arguments.baseline.clone(),
        verdict_metric: named_metric(arguments).map(str::to_owned),
        threshold: arguments.threshold,
        judge_by: arguments.judge_by.as_ref().and_then(Criterion::property),
    };
    compare::table(record, &options).map_err(|error| {
        let asked = named_metric(arguments).unwrap_or_default();
        let names = record.trials.iter().flat_map(|trial| trial.readings.keys());
        match nearest(asked, names.map(String::as_str)) {
            Some(near) if near != asked => exit::usage(format!(
                "--judge-by {asked}: there is no such metric; did you mean `{near}`?"
            )),
            _ => exit::usage(error),
        }
    })
}

/// Refuses flags that apply only to a single record.
fn check_plain(arguments: &Arguments) -> Result<()> {
    let of_one = [
        ("--baseline", arguments.baseline.is_some()),
        ("--judge-by", arguments.judge_by.is_some()),
        ("--threshold", arguments.threshold.is_some()),
    ];
    if let Some((flag, _)) = of_one.into_iter().find(|(_, given)| *given) {
        return Err(exit::usage(format!(
            "{flag} needs one record; two are compared policy by policy, as planned in the first"
        )));
    }
    Ok(())
}

fn across(arguments: &Arguments) -> Across {
    match arguments.across {
        true => Across::Allowed,
        false => Across::Refused,
    }
}

fn between(before: &Record, after: &Record, arguments: &Arguments) -> Result<Table> {
    check_plain(arguments)?;
    if before.header == after.header {
        return Err(exit::usage(
            "both files are the same experiment; name another record to compare with",
        ));
    }
    compare::between(before, after, across(arguments)).map_err(exit::usage)
}
