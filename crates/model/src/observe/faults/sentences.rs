use std::fmt;

use super::event::{Conditions, Symbol};
use super::kind::size;
use super::shape::Shape;
use crate::base::units::Unit;
use crate::text::number::{percent, quantity};

impl fmt::Display for Symbol {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.place {
            Some(place) => write!(f, "{} ({place})", self.name),
            None => write!(f, "{}", self.name),
        }
    }
}

impl Symbol {
    /// Its name without the modules around it, and its place.
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

/// A duration with the prefix that suits it.
#[expect(clippy::cast_precision_loss, reason = "shown with three digits")]
pub(super) fn duration(nanoseconds: u64) -> String {
    quantity(&Unit::Seconds, nanoseconds as f64 * 1e-9)
}

/// A count.
#[expect(clippy::cast_precision_loss, reason = "shown with three digits")]
pub(super) fn count(number: u64) -> String {
    crate::text::number::whole(number as f64)
}

/// A share of a whole, as a percentage.
#[expect(clippy::cast_precision_loss, reason = "shown with one decimal")]
pub(super) fn share(part: u64, whole: u64) -> String {
    if whole == 0 {
        return "~".to_owned();
    }
    format!("{} %", percent(part as f64 / whole as f64))
}

impl Shape {
    /// The word for it.
    #[must_use]
    pub fn title(&self) -> &'static str {
        match self {
            Self::DoubleFault { .. } => "Double faults",
            Self::BrokenUp { .. } => "Huge zero pages broken up",
            Self::SmallInsteadOfHuge { .. } => "Small pages where a huge one fits",
            Self::CopiesAfterFork { .. } => "Copies after fork",
            Self::TwoHumps { .. } => "Two humps",
        }
    }

    /// What was seen, what it means and what it does not.
    #[must_use]
    pub fn sentence(&self, conditions: &Conditions) -> String {
        match self {
            Self::DoubleFault { .. } => self.double_fault(),
            Self::BrokenUp { huge_pages } => format!(
                "{} huge pages that one fault had mapped were broken up by the first write into \
                 each: it was the huge zero page, and what follows comes page by page. Write \
                 before reading.",
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
        let copies = count(*copies);
        let time = duration(*time_ns);
        let span = duration(*span_ns);
        if *forks == 1 {
            return format!(
                "{copies} pages were touched for the first time since a fork ({time} in all), \
                 within {span}: copies, or the taking over of a last copy."
            );
        }
        format!(
            "{copies} pages were touched for the first time since one of {} forks ({time} in \
             all): copies, or the taking over of a last copy. The most after one fork: {} within \
             {span}.",
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
            "a read had mapped the zero page, and then a write came. Writing first saves one of \
             the two faults"
                .to_owned()
        } else {
            format!(
                "{} of them certainly because a read had mapped the zero page before the write; \
                 the others may also have been given back and used again. Writing first saves \
                 one of the two faults",
                if *certain == 0 {
                    "none".to_owned()
                } else {
                    count(*certain)
                }
            )
        };
        let place = site.as_ref().map_or_else(String::new, |site| {
            if at_site == faults {
                return format!(" All of that is in {site}.");
            }
            format!(
                " {} of the second ones are in {site}, more than anywhere else.",
                count(*at_site)
            )
        });
        let pages = if *faults == 1 { "page" } else { "pages" };
        format!(
            "{} {pages} faulted a second time ({} for the second alone): {why}.{place}",
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
        let huge = conditions.pmd_bytes.map_or_else(String::new, size);
        let against = huge_p50_ns.map_or_else(String::new, |p50| {
            format!(
                " One huge fault took {} here in the median; as many ranges would take {}.",
                duration(p50),
                duration(p50.saturating_mul(*ranges))
            )
        });
        format!(
            "{} aligned ranges of {huge} came at least half in small pages, {} of them wholly: \
             {} faults, {}.{against} By place and length one huge page would have fitted; \
             whether the settings allow it is not seen here.",
            count(*ranges),
            count(*full),
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
                "On this virtual machine ({name}) that fits memory which the host has to find \
                 first; compaction and reclaim make such humps too, and are told apart by a \
                 second run: host-cold memory is warm then"
            ),
            None => "Compaction, reclaim and I/O make such humps".to_owned(),
        };
        format!(
            "{}: {} faults around {} and {} around {}, with a gap between. {cause}.",
            kind.label(conditions),
            count(*low),
            duration(*low_ns),
            count(*high),
            duration(*high_ns)
        )
    }
}
