//! The lines of a summary for each subject: a label and a text.

use super::kind::{CYCLES, INSTRUCTIONS};
use super::live::{mark, short};
use super::{Header, StatSummary, Tally};
use hugewise_base::counter::Counter;
use hugewise_base::missing::Missing;
use hugewise_base::units::Unit;
use hugewise_base::verification::Standing;
use hugewise_text::document::Field;
use hugewise_text::number::{percent as hundredths, quantity};
use hugewise_text::wrap::plain;

/// Formats a share.
pub(super) fn percent(share: f64) -> String {
    format!("{} %", hundredths(share))
}

/// Why a value is missing.
pub(super) fn not_measured(missing: &Missing) -> String {
    format!("not measured: {}", plain(&missing.to_string()))
}

fn is_of_walk_cycles(kind: &str) -> bool {
    kind.ends_with("_walk_active") || kind.ends_with("_walk_pending")
}

/// Walks for data, of all sizes or of one.
fn is_of_data_walks(kind: &str) -> bool {
    let sides = ["dtlb_walks", "dtlb_load_walks", "dtlb_store_walks"];
    sides.iter().any(|side| kind.starts_with(side))
}

/// A summary and the data needed to read it.
pub(super) struct Fields<'a> {
    pub(super) header: &'a Header,
    pub(super) summary: &'a StatSummary,
}

impl Fields<'_> {
    fn get(&self, name: &str) -> Result<f64, Missing> {
        self.summary.reading(name)
    }

    fn field(&self, label: &str, reading: &str, text: String) -> Field {
        Field::new(format!("{label}{}", mark(self.header, reading)), text)
    }

    /// Values that every processor counts.
    pub(super) fn hardware(&self) -> Vec<Field> {
        let mut instructions = self.total(INSTRUCTIONS);
        if let Ok(value) = self.get("instructions_per_cycle") {
            instructions.push_str(&format!(", {} per cycle", short(value)));
        }
        let data = self.walks("dtlb_walks_per_kinst") + &self.sizes();
        vec![
            Field::new("cycles", self.total(CYCLES)),
            Field::new("instructions", instructions),
            Field::new(
                "page-walk cycles",
                self.remarked(self.walk_cycles(), is_of_walk_cycles),
            ),
            Field::new("page walks, data", self.remarked(data, is_of_data_walks)),
            Field::new(
                "page walks, code",
                self.remarked(self.walks("itlb_walks_per_kinst"), |kind| {
                    kind == "itlb_walks"
                }),
            ),
        ]
    }

    /// A text with the remark that an event behind it is not verified. Without an event there is nothing to remark.
    fn remarked(&self, text: String, is_used: impl Fn(&str) -> bool) -> String {
        let standing = self.header.hardware.standing(is_used);
        match standing.map_or("", Standing::remark) {
            "" => text,
            remark => format!("{text}; {remark}"),
        }
    }

    /// Values that only some processors count.
    pub(super) fn more_hardware(&self) -> Vec<Field> {
        let rates = [
            ("dtlb_l2_hits_per_kinst", "L2 TLB hits, data"),
            ("itlb_l2_hits_per_kinst", "L2 TLB hits, code"),
            ("dtlb_l1_misses_per_kinst", "L1 TLB misses, data"),
            ("walker_memory_loads_per_kinst", "walker loads from DRAM"),
        ];
        let rates = rates.into_iter().filter(|(name, _)| self.get(name).is_ok());
        let rates = rates.map(|(name, label)| Field::new(label, self.walks(name)));
        let stalls = [
            ("stall_data_ratio", "stalls, data translation"),
            ("stall_code_ratio", "stalls, code translation"),
        ];
        let stalls = stalls.into_iter().filter_map(|(name, label)| {
            let share = percent(self.get(name).ok()?);
            Some(Field::new(label, format!("{share} of cycles")))
        });
        rates.chain(stalls).collect()
    }

    /// The sum over all groups; groups never count at the same time.
    fn total(&self, kind: &str) -> String {
        let counts = self.summary.counts.iter();
        let (mut sum, mut missing) = (None, None);
        for count in counts.filter(|count| count.kind == kind) {
            match &count.tally {
                Tally::Counted { value, .. } => {
                    sum = Some(sum.unwrap_or(0_u64).saturating_add(*value));
                }
                Tally::Missing { missing: why } => missing = Some(why.clone()),
            }
        }
        match sum {
            Some(sum) => quantity(&Unit::Count, sum as f64),
            None => not_measured(
                &missing.unwrap_or_else(|| Missing::not_supported(format!("an event for {kind}"))),
            ),
        }
    }

    fn walk_cycles(&self) -> String {
        let most = match self.get("walk_cycles_at_most_ratio") {
            Ok(most) => most,
            Err(missing) => return not_measured(&missing),
        };
        let range = match self.get("walk_cycles_at_least_ratio") {
            Ok(least) if percent(least) != percent(most) => {
                format!("{} to {}", percent(least), percent(most))
            }
            Ok(_) => percent(most),
            Err(_) => format!("at most {}", percent(most)),
        };
        let sides = [
            ("data", "data_walk_cycles_ratio"),
            ("code", "code_walk_cycles_ratio"),
        ];
        let parts: Vec<String> = sides
            .into_iter()
            .filter_map(|(side, name)| Some(format!("{side} {}", percent(self.get(name).ok()?))))
            .collect();
        format!("{range} ({})", parts.join(", "))
    }

    fn walks(&self, name: &str) -> String {
        match self.get(name) {
            Ok(value) => format!("{} per 1000 instructions", short(value)),
            Err(missing) => not_measured(&missing),
        }
    }

    fn sizes(&self) -> String {
        let sizes = [
            ("4 KiB", "4k"),
            ("coalesced", "coalesced"),
            ("2 MiB", "2m"),
            ("1 GiB", "1g"),
            ("pages", "small"),
            ("blocks", "large"),
        ];
        let parts: Vec<String> = sizes
            .into_iter()
            .filter_map(|(label, size)| {
                let share = self.get(&format!("dtlb_walks_{size}_ratio")).ok()?;
                Some(format!("{label} {}", percent(share)))
            })
            .collect();
        match parts.is_empty() {
            true => String::new(),
            false => format!(": {}", parts.join(", ")),
        }
    }

    /// Values that the kernel counts.
    pub(super) fn kernel(&self) -> Vec<Field> {
        let compaction = [
            (Counter::CompactStall.name(), "stalls"),
            (Counter::CompactSuccess.name(), "succeeded"),
            (Counter::CompactFail.name(), "failed"),
        ];
        let huge = [
            (Counter::ThpFaultAlloc.name(), "huge pages"),
            (Counter::ThpFaultFallback.name(), "failed"),
        ];
        let free = [("free_huge_pages_total", "at the end")];
        let one =
            |label, parts: &[(&str, &str)]| self.field(label, parts[0].0, self.counted(parts));
        vec![
            self.field("page faults", "minor_faults_total", self.faults()),
            one("huge faults", &huge),
            self.field(
                "collapsed",
                Counter::ThpCollapseAlloc.name(),
                self.collapsed(),
            ),
            one("compaction", &compaction),
            self.field("huge memory", "huge_ratio", self.huge_memory()),
            one("free huge blocks", &free),
        ]
    }

    fn collapsed(&self) -> String {
        let pages = self.counted(&[(Counter::ThpCollapseAlloc.name(), "huge pages")]);
        match self.get("khugepaged_seconds") {
            Ok(seconds) if seconds > 0.0 => {
                format!(
                    "{pages}; khugepaged ran for {}",
                    quantity(&Unit::Seconds, seconds)
                )
            }
            _ => pages,
        }
    }

    fn faults(&self) -> String {
        let minor = match self.get("minor_faults_total") {
            Ok(minor) => minor,
            Err(missing) => return not_measured(&missing),
        };
        let count = quantity(&Unit::Count, minor);
        let major = match self.get("major_faults_total") {
            Ok(major) => format!("; major faults {}", quantity(&Unit::Count, major)),
            Err(_) => String::new(),
        };
        if self.summary.at_least.contains("minor_faults_total") {
            return format!("at least {count}{major}; those just before the end are not counted");
        }
        let seconds = self.summary.seconds();
        let rate = if seconds > 0.0 { minor / seconds } else { 0.0 };
        format!("{count} ({} per second){major}", short(rate))
    }

    fn counted(&self, parts: &[(&str, &str)]) -> String {
        let mut counts = Vec::new();
        for (name, what) in parts {
            match self.get(name) {
                Ok(value) => counts.push(format!("{} {what}", quantity(&Unit::Count, value))),
                Err(missing) if counts.is_empty() => return not_measured(&missing),
                Err(_) => {}
            }
        }
        counts.join(", ")
    }

    fn huge_memory(&self) -> String {
        let share = match self.get("huge_ratio") {
            Ok(share) => percent(share),
            Err(missing) => return not_measured(&missing),
        };
        let bytes = |name| self.get(name).map(|bytes| quantity(&Unit::Bytes, bytes));
        match (bytes("rss_bytes"), bytes("anon_bytes")) {
            (Ok(bytes), _) => format!("{share} of {bytes} at the end"),
            (_, Ok(bytes)) => format!("{share} of {bytes} anonymous memory at the end"),
            _ => format!("{share} at the end"),
        }
    }
}
