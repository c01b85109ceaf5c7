//! The report for people: a first screen and its details.

use super::Report;
use super::advice::{Advice, advice, at_rest, best, for_single_runs};
use super::answer::{
    certainty, is_answer, is_cut_short, shown_with_more_than_pages, tells_losses, told_beside,
};
use super::blocks::{blocks, legend};
use super::circumstances::circumstances;
use super::conclusion::{Conclusion, HugePages, conclude};
use super::notes::{self, Notes};
use super::screen::{Room, fitted};
use super::section::sections;
use super::service::LOAD_WAS_THE_LIMIT;
use crate::run::findings::host_cold_memory::rested_run;
use crate::run::findings::rested_runs::RestedRun;
use crate::run::findings::{Finding, Outcome};
use crate::run::metric::MetricId;
use crate::text::document::{Block, Document, Field, Level, Paragraph, Section};
use crate::text::grid::{Cell, Grid};
use crate::text::number::counted;
use crate::text::wrap::{plain, quoted};
use crate::text::{Tone, Verbosity};

/// A document of any width has no screen to fit.
const UNBOUNDED: usize = usize::MAX;

pub(super) fn document(report: &Report<'_>, width: usize, verbosity: Verbosity) -> Document {
    let first = |room| composed(report, width, Verbosity::Normal, room);
    let room = match (width, &report.other) {
        // Two records have a table for each policy that both have.
        (UNBOUNDED, _) | (_, Some(_)) => Room::FULL,
        _ => fitted(width, first),
    };
    composed(report, width, verbosity, room)
}

fn composed(report: &Report<'_>, width: usize, verbosity: Verbosity, room: Room) -> Document {
    let notes = Notes::default();
    let mut first = match is_cut_short(report) {
        // A table of what nothing was compared with.
        true => Vec::new(),
        false => tables(report, width, Level::First, &notes),
    };
    let cut = first.iter_mut().map(|table| table.cut(room.rows)).max();
    let mut near = notes.lines_of(&grids(&first));
    let signs = notes::signs(report, &grids(&first));
    let computed = notes::computed(report, &notes, Level::First);
    let details = match verbosity {
        Verbosity::Normal => Vec::new(),
        Verbosity::Verbose => details(report, width, &notes, [&near, &signs]),
    };
    // The answer names them, unless it is that nothing could be tried.
    let is_open = conclude(report).is_none_or(|conclusion| conclusion.policy.is_none());
    let missing = notes.missing_columns().filter(|_| is_open);

    let mut document = Document::new([conclusion(report)]);
    let last = first.len().saturating_sub(1);
    for (index, table) in first.into_iter().enumerate() {
        let mut section = table.section(Level::First);
        if index == last {
            let mut drawn = signs.clone();
            drawn.extend(computed.map(str::to_owned));
            drawn.extend(notes.narrow());
            drawn.extend(missing.clone());
            drawn.extend(cut.filter(|rows| *rows > 0).map(more_rows));
            section.push(Block::Notes(one_line(&drawn)));
            section.push(Block::Notes(std::mem::take(&mut near)));
        }
        document.push(section);
    }
    document.push(remarks(report, room));
    document.sections.extend(details);
    document
}

fn more_rows(count: usize) -> String {
    format!("{} more: -v", counted(count as u64, "row"))
}

/// All metrics, the curves of a bench and the findings. What the first screen says, which is given, is
/// not said again.
fn details(
    report: &Report<'_>,
    width: usize,
    notes: &Notes,
    [near, signs]: [&[String]; 2],
) -> Vec<Section> {
    let all = tables(report, width, Level::Detail, notes);
    let mut far = notes.lines_of(&grids(&all));
    far.retain(|line| !near.contains(line));
    let mut more = notes::signs(report, &grids(&all));
    more.retain(|sign| !signs.contains(sign));
    let computed = notes::computed(report, notes, Level::Detail);
    more.extend(computed.map(str::to_owned));
    more.extend(notes::left_out(&grids(&all)));
    let mut sections: Vec<Section> = all
        .into_iter()
        .map(|table| table.section(Level::Detail))
        .collect();
    let legends = [bench_legend(report), more, far, notes.told()].concat();
    sections.push(Section::default().with_detail(Block::Notes(legends)));
    let drawings = report.drawings().into_iter();
    sections.extend(drawings.map(|it| Section::default().with_detail(Block::Lines(it))));
    sections.push(evidence(report));
    sections
}

/// The signs need no line each: all of them are short.
pub(super) fn one_line(signs: &[String]) -> Vec<String> {
    let line = signs.join("; ");
    if line.is_empty() {
        Vec::new()
    } else {
        vec![line]
    }
}

/// The answers, what to set, and how sure that is.
pub(super) fn conclusion(report: &Report<'_>) -> Section {
    let mut section = Section::default();
    for answer in report.answers() {
        section.push(Paragraph::new(answer).tone(Tone::Strong));
    }
    let mut lines = advice(report);
    lines.extend(after_rest(report, &lines));
    for line in lines {
        match line {
            Advice::Sentence(text) => section.push(Paragraph::new(text).hang(4)),
            Advice::Command(command) => section.push(Block::Lines(vec![format!("    {command}")])),
        }
    }
    if let Some(line) = certainty(report) {
        section.push(Paragraph::new(line).hang(4));
    }
    for line in &report.together {
        section.push(Paragraph::new(line.clone()).hang(4));
    }
    section
}

/// What holds for single runs, and the command that measures them.
fn after_rest(report: &Report<'_>, advised: &[Advice]) -> Vec<Advice> {
    // A load meets a server that started long ago.
    let is_advised = advised.len() > 1 && report.record.header.plan.service.is_none();
    let Some(best) = best(report).filter(|_| is_advised) else {
        return Vec::new();
    };
    // More rounds end with such runs.
    let goes_on = advised.iter().any(Advice::goes_on);
    match rested_run(&report.findings, best) {
        Some(run) if goes_on => {
            let more = match run {
                RestedRun::Longer(_) | RestedRun::Shorter(_) => "",
                RestedRun::Open(_) | RestedRun::Unmeasured(_) => {
                    " The command above adds single runs."
                }
            };
            let known = for_single_runs(report, run).map(|it| Advice::Sentence(it + more));
            known.into_iter().collect()
        }
        Some(run) => at_rest(report, best, run),
        None => Vec::new(),
    }
}

/// What the best policy costs in single runs.
fn cold_start<'a>(report: &'a Report<'_>) -> Option<&'a Finding> {
    Finding::shown(&report.findings, "host-cold-memory", best(report)?)
}

/// The rows that no first screen goes without.
const KEPT: [MetricId; 2] = [MetricId::PeakRssBytes, MetricId::HugeAnonPeakBytes];

/// How the label of the tail of requests ends.
const LATENCY: &str = "latency, p99";

/// A table with what it is about and the names that it shortens.
pub(super) struct Table {
    heading: Option<String>,
    grid: Grid,
    legend: Vec<String>,
}

impl Table {
    pub(super) fn grid(&self) -> &Grid {
        &self.grid
    }

    /// Leaves so many rows below the head, and says how many went. One that goes makes room for no
    /// line that says so. The price in memory, the huge pages and the tail of requests stay: what was paid, and whether a
    /// policy did anything.
    fn cut(&mut self, rows: usize) -> usize {
        let all = &mut self.grid.rows;
        let more = all.len().saturating_sub(1).saturating_sub(rows);
        if more < 2 {
            return 0;
        }
        let kept = KEPT.map(MetricId::metric);
        // Whoever gives latencies asks about them.
        let is_kept = |row: &Vec<Cell>| {
            let label = row[0].text.as_str();
            label.ends_with(LATENCY) || kept.iter().any(|metric| label == metric.label)
        };
        let reserved = all.iter().filter(|row| is_kept(row)).count();
        // The heading and what is judged.
        let mut free = (1 + rows).saturating_sub(reserved).max(2);
        all.retain(|row| {
            let stays = is_kept(row) || free > 0;
            free = free.saturating_sub(usize::from(!is_kept(row)));
            stays
        });
        more
    }

    pub(super) fn section(self, level: Level) -> Section {
        Section {
            heading: self.heading,
            blocks: vec![
                (level, Block::Table(self.grid)),
                (level, Block::Notes(self.legend)),
            ],
        }
    }
}

pub(super) fn grids(tables: &[Table]) -> Vec<Grid> {
    tables.iter().map(|table| table.grid.clone()).collect()
}

pub(super) fn tables(report: &Report<'_>, width: usize, level: Level, notes: &Notes) -> Vec<Table> {
    let mut tables = Vec::new();
    for section in sections(report) {
        let grids = blocks(report, &section, width, level, notes);
        let mut heading = match (level, &section.title) {
            (Level::Detail, None) => Some("All metrics".to_owned()),
            (_, title) => title.clone(),
        };
        let last = grids.len().saturating_sub(1);
        for (index, grid) in grids.into_iter().enumerate() {
            let legend = match (index == last, level) {
                (true, Level::First) => legend(&section, &grid),
                _ => Vec::new(),
            };
            let heading = heading.take();
            tables.push(Table {
                heading,
                grid,
                legend,
            });
        }
    }
    tables
}

/// What a bench counts, and which pages it got.
fn bench_legend(report: &Report<'_>) -> Vec<String> {
    let sections = sections(report);
    sections
        .iter()
        .flat_map(|section| report.cell_legend(section))
        .collect()
}

/// The causes in a line each, the doubts, and where and how it was measured.
pub(super) fn remarks(report: &Report<'_>, room: Room) -> Section {
    let mut section = Section::default();
    section.push(Block::Notes(headlines(report, room.causes)));
    let lines = notes::doubts(report)
        .into_iter()
        .chain(circumstances(report));
    let lines = lines.map(|(level, line)| (level, Paragraph::new(line).hang(4).into()));
    section.blocks.extend(lines);
    if let Some(records) = records(report) {
        let again = |lead| Block::Lines(vec![format!("{lead}: hugewise report -v {records}")]);
        section.push_brief(again("In full"));
        section.push_detail(again("Again"));
    }
    section
}

/// The files of the records, as a shell takes them.
fn records(report: &Report<'_>) -> Option<String> {
    match &report.other {
        Some(other) => Some(other.paths.each_ref().map(|name| quoted(name)).join(" ")),
        None => report.word().map(quoted),
    }
}

/// The first sentences of what was found: one per rule, of the best policy where there is a
/// choice.
fn headlines(report: &Report<'_>, most: usize) -> Vec<String> {
    let best = best(report);
    let mut chosen: Vec<&Finding> = Vec::new();
    let shown = report
        .findings
        .iter()
        .filter(|it| it.outcome == Outcome::Shown);
    let conclusion = conclude(report);
    let set_nothing = [report.table.verdict.baseline.as_str(), "as-is"];
    let chosen_policy = best.filter(|best| !set_nothing.contains(best));
    let about = chosen_policy.or(conclusion.as_ref().and_then(|it| it.policy.as_deref()));
    let shown = shown.filter(|it| is_about(report, it, about));
    for finding in shown.filter(|it| !is_told(report, conclusion.as_ref(), it)) {
        match chosen.iter_mut().find(|it| it.id == finding.id) {
            Some(other) if finding.policy.as_deref() == best => *other = finding,
            Some(_) => {}
            None => chosen.push(finding),
        }
    }
    // What part user time and the faults have is the same cause, told more closely.
    let closer = ["user-time-fell", "fewer-faults-explain-gain"];
    if chosen.iter().any(|it| closer.contains(&it.id.as_str())) {
        chosen.retain(|it| it.id != "where-the-time-went");
    }
    rank_causes(&mut chosen);
    // A price in the answer is one of them.
    let is_priced = conclusion.is_some_and(|it| it.huge_pages == HugePages::HelpAtAPrice);
    let most = most.saturating_sub(usize::from(is_priced));
    let chosen = chosen.into_iter().take(most);
    chosen.map(|finding| plain(&finding.headline())).collect()
}

/// What explains more of the gain comes first. Causes of a known part follow each other.
fn rank_causes(chosen: &mut [&Finding]) {
    let part = |finding: &Finding| finding.part_of_gain();
    let runs = chosen.chunk_by_mut(|a, b| part(a).is_some() == part(b).is_some());
    for run in runs {
        let part = |finding: &Finding| part(finding).unwrap_or(0.0);
        run.sort_by(|a, b| part(b).total_cmp(&part(a)));
    }
}

/// Whether a finding is about the policy of the answer, or about all of them. What is known of the others is a
/// detail.
fn is_about(report: &Report<'_>, finding: &Finding, policy: Option<&str>) -> bool {
    let baseline = report.table.verdict.baseline.as_str();
    let own = finding.policy.as_deref();
    policy.is_none() || own.is_none_or(|own| own == baseline || Some(own) == policy)
}

/// Whether the answer says what a finding does.
fn is_told(report: &Report<'_>, conclusion: Option<&Conclusion>, finding: &Finding) -> bool {
    let with_more = shown_with_more_than_pages(report);
    let of_losses = tells_losses(conclusion, finding.policy.as_deref())
        || with_more.is_some() && finding.policy.as_deref() == with_more;
    // What the policy does as a whole has malloc as its reason.
    let is_of_malloc = conclusion.is_some_and(|it| it.beside_malloc && it.policy == finding.policy);
    // Where no policy could change a page of a small program, the means to reach them are nothing.
    let is_untouched =
        conclusion.is_some_and(|it| it.policy.is_none() && it.huge_pages == HugePages::DoNotMatter);
    let is_not_tried =
        conclusion.is_some_and(|it| it.policy.is_none() && it.huge_pages == HugePages::NotTried);
    // An open answer says how large the noise is; one that is decided was not hidden by it.
    let is_program = report.record.header.plan.bench.is_none();
    let is_mixed = conclusion.is_some_and(|it| it.huge_pages == HugePages::HelpSometimes);
    let id = finding.id.as_str();
    is_answer(finding)
        || is_of_malloc
        || (is_untouched && finding.policy.is_some())
        || (is_not_tried && (id == "equal-coverage" || told_beside(report) == Some(finding)))
        || cold_start(report).is_some_and(|told| told.id == id)
        || (is_mixed && id == "host-cold-memory")
        || (of_losses && ["win-with-a-loss", "memory-bloat"].contains(&id))
        || (is_program && id == "run-too-noisy")
        // The table has it.
        || id == "memory-bloat"
        // The remarks have it.
        || id == LOAD_WAS_THE_LIMIT
        // Nobody waits for what an open answer would cost.
        || (id == "host-cold-memory" && !is_chosen(report, finding))
        // The advice has the same figures.
        || (["taken-by-chance", "reached-by-tracing"].contains(&id) && is_chosen(report, finding))
}

/// Whether a finding is about the policy that is recommended.
fn is_chosen(report: &Report<'_>, finding: &Finding) -> bool {
    finding.policy.as_deref() == best(report)
}

/// What each rule found, with what it rests on and what would refute it.
pub(super) fn evidence(report: &Report<'_>) -> Section {
    let mut section = Section::titled("Findings");
    let mut fields: Vec<Field> = Vec::new();
    for (index, finding) in report.findings.iter().enumerate() {
        let text = format!("{}: {}", finding.id, plain(&finding.text));
        fields.push(Field::new(heading(finding.outcome), text));
        let next = report.findings.get(index + 1);
        if next.is_none_or(|next| next.id != finding.id) {
            fields.push(Field::new("", finding.explanation));
        }
    }
    section.push_detail(fields);
    section
}

fn heading(outcome: Outcome) -> &'static str {
    match outcome {
        Outcome::Shown => "Shown",
        Outcome::NotShown => "Not shown",
        Outcome::CannotTell => "Cannot tell",
    }
}
