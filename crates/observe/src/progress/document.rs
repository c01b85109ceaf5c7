//! The words for the progress of a process: a line for each interval, and the report.

use std::time::Duration;

use hugewise_base::host::THP_DIR;
use hugewise_base::units::{bytes_text, rough};
use hugewise_text::Tone;
use hugewise_text::csv::{Csv, optional};
use hugewise_text::document::{Block, Document, Field, Paragraph, Section};
use hugewise_text::number::count;

use super::{
    Because, DelaySetting, FillState, FillTarget, NextStart, Progress, ProgressInterval,
    ProgressPart, Remedy, TargetSource, TimeLeft, Unknown,
};

/// A smaller share of the time is not in the first sentence.
const WORTH_A_WORD: f64 = 0.01;

/// The heading of the lines of intervals.
#[must_use]
pub fn lines_head() -> String {
    let [time, memory, growth, huge] = ["time", "memory", "growth", "huge"];
    let [compaction, reclaim, state, left] = ["compaction", "reclaim", "state", "left"];
    format!(
        "{time:>7} {memory:>9} {growth:>10} {huge:>5} {compaction:>10} {reclaim:>7}  {state:<10} {left}\n"
    )
}

/// An interval as one line of at most 80 columns.
#[must_use]
pub fn line(interval: &ProgressInterval) -> String {
    let work = &interval.work;
    let reclaim = work.reclaim.or(work.limit_reclaim);
    let reclaim = reclaim.map(|_| work.reclaim.unwrap_or(0.0) + work.limit_reclaim.unwrap_or(0.0));
    format!(
        "{:>7} {:>9} {:>10} {:>5} {:>10} {:>7}  {:<10} {}\n",
        seconds_since(interval.to_seconds),
        bytes_text(interval.memory_bytes),
        growth(interval),
        whole_percent(interval.huge_share),
        whole_percent(work.compaction),
        whole_percent(reclaim),
        interval.state.name(),
        left(&interval.forecast)
    )
}

/// The growth of an interval by the second.
fn growth(interval: &ProgressInterval) -> String {
    let seconds = interval.seconds();
    if seconds <= 0.0 {
        return "~".to_owned();
    }
    per_second(interval.grown_bytes as f64 / seconds)
}

fn per_second(bytes: f64) -> String {
    let minus = if bytes <= -1.0 { "−" } else { "" };
    format!("{minus}{}/s", bytes_text(bytes.abs() as u64))
}

fn whole_percent(share: Option<f64>) -> String {
    share.map_or_else(|| "~".to_owned(), |share| format!("{:.0} %", share * 100.0))
}

/// Formats a time since the start, with tenths below 100 s, because intervals can be shorter than a second.
fn seconds_since(seconds: f64) -> String {
    match seconds {
        ..100.0 => format!("{seconds:.1} s"),
        _ => seconds_text(seconds),
    }
}

fn seconds_text(seconds: f64) -> String {
    Duration::try_from_secs_f64(seconds).map_or_else(|_| "years".to_owned(), rough)
}

/// Formats the time left in a few words.
fn left(forecast: &TimeLeft) -> String {
    match forecast {
        TimeLeft::Known { seconds, .. } => seconds_text(*seconds),
        TimeLeft::Unknown { why } => match why {
            Unknown::TooEarly => "too early",
            Unknown::NoTarget => "no target",
            Unknown::NoGrowth => "no growth",
            Unknown::NotSteady { .. } => "not steady",
            Unknown::BlocksRunOut { .. } => "blocks end",
        }
        .to_owned(),
    }
}

impl Progress {
    /// Renders the document for people. JSON is the struct itself.
    #[must_use]
    pub fn document(&self) -> Document {
        let mut document = Document::new([Section::default()
            .with(Paragraph::new(self.answer()).tone(Tone::Strong))
            .with(self.fields())]);
        document.push(
            self.total
                .remedy
                .as_ref()
                .map_or_else(Section::default, set),
        );
        document.push(self.not_read());
        document
    }

    fn answer(&self) -> String {
        let total = &self.total;
        let memory = match total.target {
            Some(target) => format!(
                "{} of {}",
                bytes_text(total.memory_bytes),
                bytes_text(target.bytes)
            ),
            None => bytes_text(total.memory_bytes),
        };
        let work = &total.work;
        let work = [
            (work.compaction, "direct compaction"),
            (work.reclaim, "direct reclaim"),
            (work.limit_reclaim, "reclaim at the limit of its cgroup"),
        ];
        let most = work
            .into_iter()
            .filter_map(|(share, name)| Some((share?, name)))
            .filter(|(share, _)| *share >= WORTH_A_WORD)
            .max_by(|one, two| one.0.total_cmp(&two.0));
        let most = most.map_or_else(String::new, |(share, name)| {
            format!("; {} of the time in {name}", whole_percent(Some(share)))
        });
        format!(
            "{} (PID {}) is {}: {memory}{most}.",
            self.command,
            self.pid,
            total.state.name()
        )
    }

    fn fields(&self) -> Vec<Field> {
        let total = &self.total;
        let mut fields = vec![Field::new("Memory", memory(total))];
        if let Some(pace) = &total.pace {
            let range = [pace.low, pace.high].map(per_second);
            fields.push(Field::new(
                "Rate",
                format!(
                    "{} (95 %: {} to {}) since its last change",
                    per_second(pace.bytes_per_second),
                    range[0],
                    range[1]
                ),
            ));
        }
        fields.push(Field::new("Time", times(total)));
        fields.push(Field::new("Compaction", compactions(total)));
        if let Some(target) = &total.target {
            fields.push(Field::new("Target", target_text(target)));
        }
        if total.state != FillState::Finished {
            fields.push(Field::new("Left", left_text(&total.forecast)));
        }
        fields
    }

    fn not_read(&self) -> Section {
        let notes = self.missing.iter();
        let notes = notes.map(|it| format!("{}: {}", part_name(it.part), it.why));
        let notes: Vec<String> = notes.collect();
        match notes.is_empty() {
            true => Section::default(),
            false => Section::titled("Not read").with(Block::Notes(notes)),
        }
    }

    /// Renders the rows of CSV without the heading.
    #[must_use]
    pub fn csv(&self) -> String {
        let mut csv = Csv::without_heading(HEADING.len());
        for interval in &self.intervals {
            csv.row(csv_row(interval));
        }
        csv.into_text()
    }
}

fn memory(total: &ProgressInterval) -> String {
    let minus = if total.grown_bytes < 0 { "−" } else { "+" };
    let grown = bytes_text(total.grown_bytes.unsigned_abs());
    let seconds = seconds_text(total.seconds());
    let huge = total.huge_share.map_or_else(String::new, |share| {
        format!(
            "; {} of the new memory in huge pages",
            whole_percent(Some(share))
        )
    });
    let memory = bytes_text(total.memory_bytes);
    format!("{memory}, {minus}{grown} in {seconds}{huge}")
}

fn times(total: &ProgressInterval) -> String {
    let work = &total.work;
    let shares = [
        ("compaction", work.compaction),
        ("reclaim", work.reclaim),
        ("reclaim at a limit", work.limit_reclaim),
        ("processor in the kernel", Some(work.kernel)),
        ("in its own code", Some(work.user)),
    ];
    let shares = shares.map(|(name, share)| format!("{name} {}", whole_percent(share)));
    shares.join(", ")
}

fn compactions(total: &ProgressInterval) -> String {
    let machine = &total.machine;
    let of_machine = match machine.success() {
        Some(share) => format!(
            "the machine's: {}, {} succeeded",
            count(machine.stalls),
            whole_percent(Some(share))
        ),
        None => "the machine's: none".to_owned(),
    };
    match total.attempts {
        Some(attempts) => format!(
            "{} attempts, {} for more than 8 pages in a row; {of_machine}",
            count(attempts.all),
            count(attempts.huge)
        ),
        None => of_machine,
    }
}

fn target_text(target: &FillTarget) -> String {
    let source = match target.source {
        TargetSource::Asked => "--target",
        TargetSource::Mappings => {
            "the present memory and the untouched rest of the mappings that grow"
        }
    };
    format!("{}: {source}", bytes_text(target.bytes))
}

fn left_text(forecast: &TimeLeft) -> String {
    match forecast {
        TimeLeft::Known { seconds, low, high } => {
            let high = high.map_or_else(|| "no end".to_owned(), seconds_text);
            format!(
                "{} (95 %: {} to {high}) if the rate stays",
                seconds_text(*seconds),
                seconds_text(*low)
            )
        }
        TimeLeft::Unknown { why } => match why {
            Unknown::TooEarly => "not known: too few readings".to_owned(),
            Unknown::NoTarget => {
                "not known: no mapping is being filled; --target sets a size".to_owned()
            }
            Unknown::NoGrowth => "not known: the memory does not grow".to_owned(),
            Unknown::NotSteady { before } => format!(
                "not known: the rate has changed; before it was {}",
                per_second(*before)
            ),
            Unknown::BlocksRunOut { free_bytes } => format!(
                "not known: after {} more in huge pages no huge block is free, and the rate changes",
                bytes_text(*free_bytes)
            ),
        },
    }
}

impl DelaySetting {
    /// The setting in one line.
    #[must_use]
    pub fn short(&self) -> String {
        match self {
            Self::Defrag { value, .. } => {
                format!("to end the delay: echo {value} > /{THP_DIR}/defrag")
            }
            Self::Limit { folder, .. } => format!("to end the delay: a higher limit of /{folder}"),
            Self::FreeMemory => {
                "no setting ends the delay: the machine has no free memory".to_owned()
            }
        }
    }

    fn blocks(&self) -> Vec<Block> {
        match self {
            Self::Defrag { present, value } => {
                let command = format!("echo {value} > /{THP_DIR}/defrag    # now {present}");
                let effect = "This works at the next page fault, for all programs. Where no huge block is \
                              free, new memory then has small pages.";
                vec![Block::Lines(vec![command]), effect.into()]
            }
            Self::Limit {
                folder,
                present,
                needed,
            } => {
                let needed = needed.map(|bytes| format!(", more than {}", bytes_text(bytes)));
                let (needed, present) = (needed.unwrap_or_default(), bytes_text(*present));
                let text = format!("A higher memory limit of /{folder}{needed}; now {present}.");
                vec![text.as_str().into()]
            }
            Self::FreeMemory => vec!["No setting. Stop or move other programs.".into()],
        }
    }
}

impl NextStart {
    fn text(self) -> &'static str {
        match self {
            Self::SmallPages => {
                "At the next start, for this program only: hugewise exec --policy thp=never -- CMD"
            }
            Self::CompactFirst => {
                "Before the next start, for huge pages without the delay: echo 1 > \
                 /proc/sys/vm/compact_memory"
            }
        }
    }
}

/// The setting, its reason, and the way at the next start.
fn set(remedy: &Remedy) -> Section {
    let mut section = Section::titled("Set");
    for block in remedy.setting.blocks() {
        section.push(block);
    }
    section.push(because(&remedy.because));
    if let Some(next) = remedy.next_start {
        section.push(next.text());
    }
    section
}

fn because(because: &Because) -> String {
    match because {
        Because::HugeFaults {
            share,
            huge_attempts,
            success,
        } => {
            let success = success.map_or_else(String::new, |share| {
                format!("; {} of compactions succeed", whole_percent(Some(share)))
            });
            format!(
                "Reason: {} of the time in compaction and reclaim; {} of the attempts are for huge pages{success}.",
                whole_percent(Some(*share)),
                whole_percent(Some(*huge_attempts))
            )
        }
        Because::AtLimit { share } => format!(
            "Reason: {} of the time in reclaim at the limit.",
            whole_percent(Some(*share))
        ),
        Because::MachineFull { share } => format!(
            "Reason: {} of the time in direct reclaim, and not for huge pages.",
            whole_percent(Some(*share))
        ),
    }
}

fn part_name(part: ProgressPart) -> &'static str {
    match part {
        ProgressPart::Compaction => "time in compaction",
        ProgressPart::Reclaim => "time in reclaim",
        ProgressPart::LimitReclaim => "time in reclaim at a limit",
        ProgressPart::Attempts => "attempts of compaction",
        ProgressPart::Mappings => "share of huge pages, and the target from the mappings",
    }
}

const HEADING: [&str; 17] = [
    "from_seconds",
    "to_seconds",
    "memory_bytes",
    "grown_bytes",
    "huge_share",
    "compaction_share",
    "reclaim_share",
    "limit_reclaim_share",
    "user_share",
    "kernel_share",
    "machine_stalls",
    "machine_succeeded",
    "machine_failed",
    "state",
    "left_seconds",
    "left_low",
    "left_high",
];

/// The heading of the CSV.
#[must_use]
pub fn csv_head() -> String {
    Csv::new(&HEADING).into_text()
}

fn csv_row(interval: &ProgressInterval) -> Vec<String> {
    let (work, machine) = (&interval.work, &interval.machine);
    let (left, low, high) = match interval.forecast {
        TimeLeft::Known { seconds, low, high } => (Some(seconds), Some(low), high),
        TimeLeft::Unknown { .. } => (None, None, None),
    };
    vec![
        interval.from_seconds.to_string(),
        interval.to_seconds.to_string(),
        interval.memory_bytes.to_string(),
        interval.grown_bytes.to_string(),
        optional(interval.huge_share),
        optional(work.compaction),
        optional(work.reclaim),
        optional(work.limit_reclaim),
        work.user.to_string(),
        work.kernel.to_string(),
        machine.stalls.to_string(),
        machine.succeeded.to_string(),
        machine.failed.to_string(),
        interval.state.name().to_owned(),
        optional(left),
        optional(low),
        optional(high),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::progress::{Compactions, Pace, Work};
    use hugewise_base::missing::Missing;
    use hugewise_text::wrap::display_width;
    use hugewise_text::{Style, to_text};

    fn interval() -> ProgressInterval {
        ProgressInterval {
            from_seconds: 0.0,
            to_seconds: 7200.0,
            memory_bytes: 212 << 30,
            grown_bytes: 200 << 30,
            huge_share: Some(0.12),
            work: Work {
                compaction: Some(0.96),
                reclaim: Some(0.01),
                limit_reclaim: None,
                user: 0.01,
                kernel: 0.98,
                active: 1.0,
            },
            machine: Compactions {
                stalls: 1000,
                succeeded: 80,
                failed: 920,
            },
            state: FillState::Compacting,
            pace: Some(Pace {
                bytes_per_second: 3.6e7,
                low: 3.1e7,
                high: 4.1e7,
            }),
            target: Some(FillTarget {
                bytes: 300 << 30,
                source: TargetSource::Mappings,
            }),
            forecast: TimeLeft::Known {
                seconds: 2460.0,
                low: 1980.0,
                high: None,
            },
            ..ProgressInterval::default()
        }
    }

    #[test]
    fn a_line_fits_a_terminal_and_its_heading() {
        let mut wide = interval();
        wide.grown_bytes = -(1 << 40);
        wide.forecast = TimeLeft::Unknown {
            why: Unknown::NotSteady { before: 1.0 },
        };
        for text in [lines_head(), line(&interval()), line(&wide)] {
            assert!(display_width(text.trim_end()) <= 80, "{text}");
        }
        let cells: Vec<String> = line(&interval())
            .split("  ")
            .map(|cell| cell.trim().to_owned())
            .filter(|cell| !cell.is_empty())
            .collect();
        assert_eq!(cells.last().map(String::as_str), Some("compacting 41 min"));
    }

    #[test]
    fn all_that_was_read_or_not_is_in_the_report() {
        let progress = Progress {
            format: super::super::FORMAT.to_owned(),
            kernel: "6.18".to_owned(),
            pid: 7,
            command: "server".to_owned(),
            started_unix_ms: 0,
            interval_seconds: 1.0,
            settings: super::super::DelaySettings::default(),
            intervals: vec![interval()],
            total: interval(),
            missing: vec![super::super::MissingPart {
                part: ProgressPart::LimitReclaim,
                why: Missing::not_permitted("CAP_BPF"),
            }],
        };
        let text = to_text(&progress.document(), &Style::default());
        for part in [
            "212 GiB of 300 GiB",
            "96 %",
            "8 % succeeded",
            "41 min",
            "33 min to no end",
            "CAP_BPF",
        ] {
            assert!(text.contains(part), "{part}: {text}");
        }
        let rows = csv_head() + &progress.csv();
        let widths: Vec<usize> = rows.lines().map(|row| row.split(',').count()).collect();
        assert_eq!(widths, [HEADING.len(); 2]);
    }
}
