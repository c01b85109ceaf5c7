use std::fmt;

use super::event::{Conditions, Symbol};
use super::shape::Shape;
use hugewise_base::units::{Unit, bytes_text};
use hugewise_text::number::{count, percent, quantity};

impl fmt::Display for Symbol {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.place {
            Some(place) => write!(f, "{} ({place})", self.name),
            None => write!(f, "{}", self.name),
        }
    }
}

impl Symbol {
    /// The function name without its modules, and the place.
    #[must_use]
    pub fn short(&self) -> String {
        let name = if self.name.contains('<') {
            self.name.clone()
        } else {
            let parts: Vec<&str> = self.name.split("::").collect();
            parts[parts.len().saturating_sub(2)..].join("::")
        };
        match &self.place {
            Some(place) => format!("{name} ({place})"),
            None => name,
        }
    }
}

/// Formats a duration with a suitable prefix.
#[expect(clippy::cast_precision_loss, reason = "shown with three digits")]
pub(super) fn duration(nanoseconds: u64) -> String {
    quantity(&Unit::Seconds, nanoseconds as f64 * 1e-9)
}

/// Formats a part of a whole as a percentage.
#[expect(clippy::cast_precision_loss, reason = "shown with one decimal")]
pub(super) fn share(part: u64, whole: u64) -> String {
    if whole == 0 {
        return "~".to_owned();
    }
    format!("{} %", percent(part as f64 / whole as f64))
}

impl Shape {
    /// The title of the shape.
    #[must_use]
    pub fn title(&self) -> &'static str {
        match self {
            Self::DoubleFault { .. } => "Double faults",
            Self::BrokenUp { .. } => "Huge zero pages split",
            Self::SmallInsteadOfHuge { .. } => "Blocks of small pages",
            Self::CopiesAfterFork { .. } => "Copies after fork",
            Self::TwoHumps { .. } => "Two latency peaks",
        }
    }

    /// Returns true if the conclusion of a summary already covers the shape.
    #[must_use]
    pub fn is_in_conclusion(&self) -> bool {
        matches!(self, Self::SmallInsteadOfHuge { .. })
    }

    /// A short description.
    #[must_use]
    pub fn short(&self) -> String {
        match self {
            Self::DoubleFault { faults, .. } => format!("{} double faults", count(*faults)),
            Self::BrokenUp { huge_pages } => {
                format!("{} huge zero pages split", count(*huge_pages))
            }
            Self::SmallInsteadOfHuge { ranges, .. } => {
                format!("{} blocks of small pages", count(*ranges))
            }
            Self::CopiesAfterFork { copies, .. } => {
                format!("{} copies after fork", count(*copies))
            }
            Self::TwoHumps {
                low_ns, high_ns, ..
            } => {
                format!(
                    "latency peaks at {} and {}",
                    duration(*low_ns),
                    duration(*high_ns)
                )
            }
        }
    }

    /// The measurement, its meaning, and its limits.
    #[must_use]
    pub fn sentence(&self, conditions: &Conditions) -> String {
        match self {
            Self::DoubleFault { .. } => self.double_fault(),
            Self::BrokenUp { huge_pages } => format!(
                "The first write split {} huge zero pages, which a read had mapped; their memory \
                 then came page by page. Write before reading.",
                count(*huge_pages)
            ),
            Self::SmallInsteadOfHuge { .. } => self.small_instead_of_huge(conditions),
            Self::CopiesAfterFork { .. } => self.copies_after_fork(),
            Self::TwoHumps { .. } => self.two_humps(conditions),
        }
    }

    fn copies_after_fork(&self) -> String {
        let Self::CopiesAfterFork {
            forks,
            copies,
            time_ns,
            largest,
            span_ns,
        } = self
        else {
            return String::new();
        };
        let (copies, time, span) = (count(*copies), duration(*time_ns), duration(*span_ns));
        let what = "a copy, or reuse of the last copy";
        if *forks == 1 {
            return format!(
                "{copies} first touches of a page after a fork ({time}, within {span}): {what}."
            );
        }
        format!(
            "{copies} first touches of a page after {} forks ({time}): {what}. Most after one \
             fork: {} within {span}.",
            count(*forks),
            count(*largest)
        )
    }

    fn double_fault(&self) -> String {
        let Self::DoubleFault {
            faults,
            certain,
            time_ns,
            site,
            at_site,
        } = self
        else {
            return String::new();
        };
        let why = if certain == faults {
            "a read mapped the zero page, then a write faulted again".to_owned()
        } else {
            format!(
                "a read mapped the zero page before the write ({} for certain), or the memory \
                 was freed and used again",
                if *certain == 0 {
                    "none".to_owned()
                } else {
                    count(*certain)
                }
            )
        };
        let place = site
            .as_ref()
            .map_or_else(String::new, |site| match at_site == faults {
                true => format!(" All in {site}."),
                false => format!(
                    " {} of them in {site}, more than anywhere else.",
                    count(*at_site)
                ),
            });
        let pages = if *faults == 1 { "page" } else { "pages" };
        format!(
            "{} {pages} faulted twice (second faults: {}): {why}. Writing first saves one of the \
             two.{place}",
            count(*faults),
            duration(*time_ns)
        )
    }

    fn small_instead_of_huge(&self, conditions: &Conditions) -> String {
        let Self::SmallInsteadOfHuge {
            ranges,
            full,
            faults,
            time_ns,
            huge_p50_ns,
        } = self
        else {
            return String::new();
        };
        let huge = conditions.pmd_bytes.map_or_else(String::new, bytes_text);
        let small = bytes_text(conditions.page_bytes);
        let blocks = |ranges: u64| match ranges {
            1 => format!("1 aligned {huge} block was"),
            ranges => format!("{} aligned {huge} blocks were", count(ranges)),
        };
        let pages = format!("filled with {small} pages");
        let filled = match (*full, ranges - full) {
            (full, 0) => format!("{} {pages}", blocks(full)),
            (0, partly) => format!("{} at least half {pages}", blocks(partly)),
            (full, partly) => format!(
                "{} {pages}, {} more at least by half",
                blocks(full),
                count(partly)
            ),
        };
        let against = huge_p50_ns.map_or_else(String::new, |p50| {
            format!(
                " A huge fault took {} here (median): {} for as many.",
                duration(p50),
                duration(p50.saturating_mul(*ranges))
            )
        });
        format!(
            "{filled} ({} of the faults, {}); each could have been one huge page if THP allowed \
             it.{against}",
            count(*faults),
            duration(*time_ns)
        )
    }

    fn two_humps(&self, conditions: &Conditions) -> String {
        let Self::TwoHumps {
            kind,
            low,
            low_ns,
            high,
            high_ns,
        } = self
        else {
            return String::new();
        };
        let cause = match &conditions.hypervisor {
            Some(name) => format!(
                "On this virtual machine ({name}) the host may have to find the memory first; \
                 then a second run has only the lower peak. Compaction and reclaim make two \
                 peaks as well"
            ),
            None => "Compaction, reclaim and I/O make two peaks".to_owned(),
        };
        format!(
            "{}: {} faults near {} and {} near {}. {cause}.",
            kind.label(conditions),
            count(*low),
            duration(*low_ns),
            count(*high),
            duration(*high_ns)
        )
    }
}
