//! `docs/reference/`: the tables of the program, one page per table. A test compares pages and tables.

use std::fs;
use std::path::Path;

use anyhow::{Context, Result, ensure};
use clap::Args;
use hugewise_advise::knowledge::Knowledge;
use hugewise_advise::rule::{Rule, Status, Test};
use hugewise_base::exit::Exit;
use hugewise_experiment::run::cause::{CauseId, Explanation, explanations};
use hugewise_experiment::run::metric::{Better, FAMILIES, Family, Scope};
use hugewise_experiment::run::policy::keys::KEYS;
use hugewise_linux::perf::events;
use hugewise_observe::inspect::reasons::Code;
use hugewise_observe::stat::kind::KINDS;
use hugewise_text::document::{Block, Document, Field, Paragraph, Section};
use hugewise_text::grid::{Align, Grid};
use hugewise_text::{Verbosity, to_markdown};

use crate::crates::Crates;
use crate::{dashboards, schema, session};

/// Writes the reference pages and the dashboards.
#[derive(Args, Debug)]
pub struct Arguments {
    /// Where they go
    #[arg(long, default_value = "docs/reference", value_name = "FOLDER")]
    out: std::path::PathBuf,
    /// Write nothing: fail if a page differs from its table
    #[arg(long)]
    check: bool,
}

/// A page: its file, title and content.
type Page = (&'static str, &'static str, fn() -> Document);

const PAGES: [Page; 7] = [
    ("exit-codes.md", "Exit codes", exit_codes),
    ("policies.md", "Policies", policies),
    ("metrics.md", "Metrics", all_metrics),
    ("causes.md", "Causes", all_causes),
    ("reasons.md", "Reasons", all_reasons),
    ("events.md", "Hardware events", hardware_events),
    ("rules.md", "Rules", all_rules),
];

/// The page with the list of crates.
const MAP: &str = "ARCHITECTURE.md";

/// The session of the picture, in words.
const SESSION: &str = "A terminal session. hugewise live switches the pages of a running Redis server for 105 seconds. Huge pages give \
                       7.7 % more commands per CPU second, with a 95 % interval from 0.8 to 13 %.";

/// Runs the verb.
///
/// # Errors
/// A page cannot be written, or differs from its table.
pub fn run(arguments: &Arguments) -> Result<()> {
    for (file, title, document) in PAGES {
        let text = page(title, &document());
        arguments.put(&arguments.out.join(file), &text)?;
    }
    for (types, document) in schema::documents()? {
        let body = to_markdown(&document, Verbosity::Verbose);
        let text = headed(types.title, &format!("{}\n{body}", types.lead));
        arguments.put(&arguments.out.join(types.file), &text)?;
    }
    for dashboard in dashboards::all()? {
        let path = Path::new(dashboards::FOLDER).join(dashboard.file);
        arguments.put(&path, &dashboard.text)?;
    }
    let text =
        fs::read_to_string(session::TEXT).with_context(|| format!("reading {}", session::TEXT))?;
    let picture = session::picture(&text, SESSION);
    arguments.put(Path::new(session::PICTURE), &picture)?;
    let map = Path::new(MAP);
    let text = fs::read_to_string(map).with_context(|| format!("reading {MAP}"))?;
    arguments.put(map, &Crates::read()?.listed_in(&text)?)
}

impl Arguments {
    /// Writes a file, or checks that it is up to date.
    fn put(&self, path: &Path, text: &str) -> Result<()> {
        if !self.check {
            return write(path, text);
        }
        let found = fs::read_to_string(path).unwrap_or_default();
        ensure!(
            found == text,
            "{} differs from the tables; run `cargo xtask docs`",
            path.display()
        );
        Ok(())
    }
}

fn write(path: &Path, text: &str) -> Result<()> {
    if let Some(folder) = path.parent() {
        fs::create_dir_all(folder).with_context(|| format!("making {}", folder.display()))?;
    }
    fs::write(path, text).with_context(|| format!("writing {}", path.display()))
}

fn page(title: &str, document: &Document) -> String {
    headed(title, &to_markdown(document, Verbosity::Verbose))
}

fn headed(title: &str, body: &str) -> String {
    format!(
        "<!-- Made by `cargo xtask docs`; edit the table, not this page. -->\n\n# {title}\n\n{body}"
    )
}

/// Creates a table with sentences in the last column.
fn table(heading: &[&str]) -> Grid {
    let mut align = vec![Align::Left; heading.len()];
    if let Some(last) = align.last_mut() {
        *last = Align::Wrapped;
    }
    Grid::headed(heading).aligned(&align)
}

fn exit_codes() -> Document {
    let mut grid = table(&["code", "meaning"]);
    for exit in Exit::ALL {
        grid.push([exit.code().to_string(), exit.meaning().to_owned()]);
    }
    Document::new([Section::default().with(grid)])
}

fn policies() -> Document {
    let mut grid = table(&["key", "values", "what it sets"]);
    for key in KEYS {
        grid.push([key.name.to_owned(), key.values(), key.doc.to_owned()]);
    }
    let how = "A policy is KEY=VALUE, several with commas between, or as-is; NAME: before it gives it a \
               name. hugewise run --dry-run shows how each policy is reached on this machine.";
    Document::new([Section::default().with(lead(how)).with(grid)])
}

fn all_metrics() -> Document {
    let how = "A metric has this one name in the record, in JSON, in CSV and on the command line. \
               It ends in its unit.";
    let families = FAMILIES.iter().map(family);
    Document::new(
        [Section::default().with(lead(how))]
            .into_iter()
            .chain(families),
    )
}

fn family(family: &Family) -> Section {
    let section = Section::titled(family.names).with(lead(family.doc));
    let mut grid = table(&["name", "better", "counts", "meaning"]);
    for metric in family.metrics {
        let better = match metric.better {
            Better::Lower => "lower",
            Better::Higher => "higher",
            Better::Neither => "",
        };
        grid.push([&metric.name, better, scope(metric.scope), &metric.doc]);
    }
    match family.metrics {
        [] => section,
        _ => section.with(grid),
    }
}

/// Returns the scope of a metric.
fn scope(scope: Scope) -> &'static str {
    match scope {
        Scope::Tree => "process tree",
        Scope::Process => "largest process",
        Scope::Main => "main process",
        Scope::Group => "cgroup",
        Scope::Machine => "machine",
        Scope::Own => "hugewise itself",
    }
}

fn all_causes() -> Document {
    let how = "A report names causes: each is shown, not shown, or cannot be told, with its figures. Facts are read \
               of every policy that they can be about.";
    let explained = explanations().unwrap_or_else(|mistake| panic!("{mistake}"));
    let is_cause = |it: &Explanation| CauseId::ALL.iter().any(|id| id.name() == it.name);
    let (causes, facts): (Vec<_>, Vec<_>) = explained.into_iter().partition(is_cause);
    Document::new([
        Section::default().with(lead(how)),
        Section::titled("Causes").with(explanation_table("cause", causes)),
        Section::titled("Facts").with(explanation_table("fact", facts)),
    ])
}

fn explanation_table(subject: &str, all: Vec<Explanation>) -> Grid {
    let mut grid = table(&[subject, "claim", "evidence", "refuted by", "next"]);
    for it in all {
        grid.push([it.name, it.claims, it.evidence, it.refuted, it.next]);
    }
    grid
}

fn all_reasons() -> Document {
    let how = "Why memory is huge or small: hugewise inspect gives each aligned range one of these, \
               in this order. hugewise inspect --explain REASON prints one of them.";
    let reasons = Code::all().map(|code| {
        let parts = code.explained().sections.into_iter().filter_map(field);
        Section::titled(code.name())
            .with(code.sentence())
            .with(parts.collect::<Vec<_>>())
    });
    let lead = Section::default().with(lead(how));
    Document::new([lead].into_iter().chain(reasons))
}

/// Returns one part of a reason's explanation; `None` if it has no heading.
fn field(section: Section) -> Option<Field> {
    let paragraphs = section.blocks.iter().filter_map(|(_, block)| match block {
        Block::Paragraph(paragraph) => Some(paragraph.text.as_str()),
        _ => None,
    });
    let text = paragraphs.collect::<Vec<_>>().join(" ");
    Some(Field::new(section.heading?, text))
}

fn all_rules() -> Document {
    let how = "What hugewise advise knows: what to do, who says so and since when, with what each rule was compared, and \
               what came of it where we tried it. A rule is added by one edit of a file in crates/advise/knowledge; \
               hugewise advise --app NAME=VERSION judges it.";
    let knowledge = Knowledge::compiled().unwrap_or_else(|mistake| panic!("{mistake}"));
    let subjects = knowledge.subjects().map(|subject| {
        let mut grid = table(&[
            "rule",
            "versions",
            "said by",
            "what it says",
            "compared",
            "tried",
        ]);
        for rule in &subject.rules {
            let versions = rule.versions.as_ref().map(ToString::to_string);
            let status = match rule.status {
                Status::Current => "",
                Status::Withdrawn => "Withdrawn: ",
                Status::Superseded => "Superseded: ",
            };
            let said = format!("{}, {}", rule.by, rule.said);
            let says = format!("{status}{} {}", rule.words(), rule.why);
            let versions = versions.unwrap_or_default();
            let id = rule.id.clone();
            grid.push([id, versions, said, says, comparison(rule), trial(rule)]);
        }
        Section::titled(&subject.title).with(grid)
    });
    Document::new(
        [Section::default().with(lead(how))]
            .into_iter()
            .chain(subjects),
    )
}

/// Returns the source and date of the rule's comparison, or the reason why there is none.
fn comparison(rule: &Rule) -> String {
    match (&rule.compared, &rule.uncompared) {
        (Some(with), _) => format!("{}: {with}", rule.checked),
        (None, why) => format!("no: {}", why.as_deref().unwrap_or("nothing is said")),
    }
}

/// Returns the result of trying the rule, or the reason why it was not tried.
fn trial(rule: &Rule) -> String {
    let words = |test: &Test| format!("{}: {}, {}", test.date, test.verdict, test.record);
    let tests: Vec<_> = rule.tested.iter().map(words).collect();
    match &rule.untested {
        _ if !tests.is_empty() => tests.join("; "),
        Some(why) => format!("never: {why}"),
        None => "never".to_owned(),
    }
}

fn hardware_events() -> Document {
    let mut kinds = table(&["name in `stat`", "what it counts"]);
    for kind in KINDS {
        kinds.push([kind.name, kind.doc]);
    }
    let kinds = Section::titled("What is counted").with(kinds);
    let families = events::FAMILIES.iter().map(|family| {
        let mut grid = table(&["counts", "event", "what it does not mean"]);
        for event in &family.events {
            grid.push([&event.kind, &event.name, &event.not]);
        }
        Section::titled(&family.title).with(grid)
    });
    Document::new([kinds].into_iter().chain(families))
}

fn lead(text: &str) -> Paragraph {
    Paragraph::new(text)
}
