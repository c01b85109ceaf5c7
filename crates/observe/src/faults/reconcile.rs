use serde::{Deserialize, Serialize};

use super::analysis::Analysis;
use super::event::{Closing, Conditions, Modes};
use super::unwatched::explanation;
use hugewise_text::number;

/// Counts of the same faults from several sources, and explanations of their differences.
#[derive(Clone, Debug, Serialize, Deserialize, PartialEq, Eq)]
pub struct Books {
    /// Faults served, by the perf counters.
    pub counted: u64,
    /// Faults served, by the received samples.
    pub sampled: u64,
    /// Faults with a start and an end.
    pub timed: u64,
    /// Lost samples, by the kernel's own count or by the counters.
    pub lost: u64,
    /// Faults that began and were never served, by the events or by the counters. They ended in a signal, or their end
    /// was lost.
    pub unserved: u64,
    /// Faults in the kernel's accounting without an event; negative if there are more events than accounted faults.
    /// `None` without accounting.
    pub without_event: Option<i64>,
    /// Explanations of the differences, one sentence each.
    pub remarks: Vec<String>,
}

/// Compares the counts.
pub(super) fn reconcile(analysis: &Analysis, closing: &Closing) -> Books {
    let (book, conditions) = (&analysis.book, &analysis.conditions);
    let sampled = book.minor + book.major;
    let counted = closing.counted.served();
    let missing = if conditions.every == 1 {
        counted.saturating_sub(sampled)
    } else {
        0
    };
    // The kernel counts lost starts as well as lost ends.
    let lost = missing.max(closing.counted.lost.unwrap_or(book.lost));
    let accounted = closing.accounted.as_ref().ok();
    let without_event = accounted.map(|accounted| {
        let all = i64::try_from(accounted.minor + accounted.major).unwrap_or(i64::MAX);
        all - i64::try_from(counted).unwrap_or(i64::MAX)
    });
    let mut books = Books {
        counted,
        sampled,
        timed: book.paired,
        lost,
        unserved: book
            .unserved
            .max(closing.counted.starts.saturating_sub(counted)),
        without_event,
        remarks: Vec::new(),
    };
    books.remarks = remarks(&books, conditions, missing);
    books.remarks.extend(unseen(&books, analysis));
    books.remarks.extend(
        closing
            .accounted
            .as_ref()
            .err()
            .map(|missing| format!("Kernel accounting: {missing}.")),
    );
    books
}

fn remarks(books: &Books, conditions: &Conditions, missing: u64) -> Vec<String> {
    let mut remarks = Vec::new();
    let untimed = books.sampled.saturating_sub(books.timed);
    if conditions.every > 1 {
        remarks.push(format!(
            "One fault in {} was sampled ({} of {}); sampled faults have no latency.",
            conditions.every, books.sampled, books.counted
        ));
    }
    if missing > 0 {
        let share = 100.0 * missing as f64 / books.counted as f64;
        remarks.push(format!(
            "{missing} of {} faults ({share:.1} %) found the ring full and are only counted; \
             sample fewer with --every N.",
            books.counted
        ));
    } else if books.lost > 0 {
        remarks.push(format!(
            "{} faults have no latency: their first sample found the ring full.",
            books.lost
        ));
    } else if conditions.every == 1 && untimed > 0 {
        remarks.push(format!(
            "No latency is known of {}: the beginning was not seen.",
            number::counted(untimed, "fault")
        ));
    }
    remarks
}

/// Explains the difference between the events and the kernel's accounting. Each cause explains at most as many faults
/// as it can produce.
fn unseen(books: &Books, analysis: &Analysis) -> Option<String> {
    let unwatched = explanation(&analysis.processes.unwatched(), "faults");
    let difference = books.without_event.unwrap_or(0);
    let more = match u64::try_from(difference) {
        Ok(0) => return unwatched,
        Ok(more) => more,
        Err(_) => {
            return Some(format!(
                "The kernel accounts {} fewer faults: it leaves out new processes and those that \
                 nobody waited for.",
                difference.unsigned_abs()
            ));
        }
    };
    let accounts = format!("The kernel accounts {more} more faults");
    if let Some(unwatched) = unwatched {
        return Some(format!("{accounts}. {unwatched}"));
    }
    let mapped = analysis.processes.mapped_pages();
    Some(match analysis.conditions.modes {
        Modes::User => format!(
            "{accounts}: those in kernel mode need CAP_PERFMON, MAP_POPULATE and exec have no \
             event."
        ),
        Modes::All if more <= mapped => {
            format!("{accounts}: MAP_POPULATE and exec fault without an event.")
        }
        Modes::All => format!(
            "{accounts}, and the reason is not known: MAP_POPULATE and exec explain at most \
             {mapped} of them, one for each page that was mapped."
        ),
    })
}
