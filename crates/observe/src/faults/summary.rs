use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::analysis::{Analysis, Sums};
use super::event::{Closing, Conditions, Sharing, Symbol};
use super::kind::FaultKind;
use super::latency::{self, Bar, Quantiles};
use super::processes::FaultedMapping;
use super::reconcile::{Books, reconcile};
use super::shape::{Shape, two_humps};
use super::stacks::{Site, Weigh};
use super::unwatched::Unwatched;
use hugewise_base::histogram::durations::Durations;
use hugewise_base::units::bytes_text;

/// Name and version of a [`FaultSummary`] as JSON.
pub const FORMAT: &str = "hugewise-faults-summary 1";

/// The complete result for the faults of a program.
#[derive(Clone, Debug, Serialize, Deserialize, PartialEq)]
pub struct FaultSummary {
    /// [`FORMAT`].
    pub format: String,
    /// The machine, and how the program was watched.
    pub conditions: Conditions,
    /// Counts from other sources, and the outcome.
    pub closing: Closing,
    /// The faults as counted, sampled, accounted and lost.
    pub books: Books,
    /// Programs whose events stopped at their exec.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub unwatched: Vec<Unwatched>,
    /// Threads that faulted.
    pub threads: u64,
    /// All latencies.
    pub total: Row,
    /// By kind, sorted by time.
    pub kinds: Vec<KindRow>,
    /// By growth: how the memory was obtained.
    pub growth: Vec<NamedRow>,
    /// By mapping, sorted by time.
    pub mappings: Vec<NamedRow>,
    /// By innermost function and caller, sorted by time.
    pub sites: Vec<SiteRow>,
    /// Faults whose call chain has at most one frame, because the code has no frame pointers.
    pub shallow: u64,
    /// Faults with a sampled call chain. If these are fewer than all faults, `sites` and `shallow` are estimates.
    pub chains: u64,
    /// Small faults whose folio was gone before it could be queried; they count as pages.
    pub folios_missed: u64,
    /// Known patterns.
    pub shapes: Vec<Shape>,
}

/// Faults, their latencies and their time.
#[derive(Clone, Debug, Serialize, Deserialize, PartialEq)]
pub struct Row {
    /// Faults served.
    pub faults: u64,
    /// Faults whose start was also seen, so they have a latency.
    pub timed: u64,
    /// Time in them, in nanoseconds.
    pub time_ns: u64,
    /// Their latencies; `None` if no fault was timed.
    pub latency: Option<Quantiles>,
    /// Latencies by powers of two.
    pub histogram: Vec<Bar>,
}

/// Faults of one kind.
#[derive(Clone, Debug, Serialize, Deserialize, PartialEq)]
pub struct KindRow {
    /// The kind.
    pub kind: FaultKind,
    /// The label for people, with the necessary uncertainty.
    pub label: String,
    /// The numbers.
    #[serde(flatten)]
    pub row: Row,
}

/// Faults of one name.
#[derive(Clone, Debug, Serialize, Deserialize, PartialEq, Eq)]
pub struct NamedRow {
    /// The name.
    pub name: String,
    /// Faults.
    pub faults: u64,
    /// Time in them, in nanoseconds.
    pub time_ns: u64,
}

/// Faults of one place in the code.
#[derive(Clone, Debug, Serialize, Deserialize, PartialEq, Eq)]
pub struct SiteRow {
    /// The innermost function.
    pub function: Symbol,
    /// The nearest caller with another name.
    pub caller: Option<Symbol>,
    /// Faults.
    pub faults: u64,
    /// Time in them, in nanoseconds.
    pub time_ns: u64,
}

impl Analysis {
    /// Returns the summary, once the [`Closing`] has arrived; `None` before.
    #[must_use]
    pub fn summary(&self) -> Option<FaultSummary> {
        let closing = self.closing.clone()?;
        let mut all = Durations::new(latency::BITS);
        for tally in self.kinds.values() {
            all.merge(&tally.latencies);
        }
        let faults = self.kinds.values().map(|tally| tally.faults).sum();
        Some(FaultSummary {
            format: FORMAT.to_owned(),
            books: reconcile(self, &closing),
            unwatched: self.processes.unwatched(),
            conditions: self.conditions.clone(),
            closing,
            threads: self.threads.len() as u64,
            total: row(faults, &all),
            kinds: self.kind_rows(),
            growth: self.rows(growth),
            mappings: self.rows(title),
            sites: self.site_rows(),
            shallow: self.processes.code.shallow(),
            chains: self.book.chains,
            folios_missed: self.book.folios_missed,
            shapes: self.shapes_found(),
        })
    }

    /// Folded call chains for flame graphs: functions from the outermost, and a weight.
    #[must_use]
    pub fn folded(&self, weigh: Weigh) -> BTreeMap<String, u64> {
        self.processes.code.folded(weigh)
    }

    /// Sums by the name of the mapping, sorted by time.
    fn rows(&self, name: impl Fn(&FaultedMapping) -> String) -> Vec<NamedRow> {
        let mappings = self.processes.mappings.iter().map(name);
        let named = mappings.zip(&self.mappings);
        let mut sums: BTreeMap<String, Sums> = BTreeMap::new();
        for (name, one) in named.chain([("unknown mapping".to_owned(), &self.elsewhere)]) {
            let sum = sums.entry(name).or_default();
            sum.faults += one.faults;
            sum.time_ns += one.time_ns;
        }
        let mut rows: Vec<NamedRow> = sums
            .into_iter()
            .filter(|(_, sum)| sum.faults > 0)
            .map(|(name, Sums { faults, time_ns })| NamedRow {
                name,
                faults,
                time_ns,
            })
            .collect();
        rows.sort_by_key(|row| std::cmp::Reverse((row.time_ns, row.faults)));
        rows
    }

    fn kind_rows(&self) -> Vec<KindRow> {
        let rows = self.kinds.iter().map(|(&kind, tally)| KindRow {
            kind,
            label: kind.label(&self.conditions),
            row: row(tally.faults, &tally.latencies),
        });
        let mut rows: Vec<KindRow> = rows.collect();
        rows.sort_by_key(|one| std::cmp::Reverse((one.row.time_ns, one.row.faults)));
        rows
    }

    fn site_rows(&self) -> Vec<SiteRow> {
        let sites = self.processes.code.sites().into_iter();
        sites
            .map(|((function, caller), faults, time_ns)| SiteRow {
                function,
                caller,
                faults,
                time_ns,
            })
            .collect()
    }

    fn shapes_found(&self) -> Vec<Shape> {
        let huge = self.kinds.get(&FaultKind::Huge);
        // A median of very few faults is unreliable, and meaningless if it includes huge zero pages.
        let real = self.conditions.huge_zero.is_yes();
        let huge = huge.filter(|tally| real && tally.latencies.count() >= 10);
        let huge = huge.and_then(|tally| Quantiles::of(&tally.latencies.histogram));
        let pages = self.conditions.pmd_bytes.unwrap_or(0) / self.conditions.page_bytes.max(1);
        let humps = self.kinds.iter();
        let humps = humps.filter_map(|(&kind, tally)| {
            two_humps(kind, &latency::bars(&tally.latencies.histogram))
        });
        let small = self
            .counts
            .small_instead_of_huge(pages, huge.map(|quantiles| quantiles.p50_ns))
            // If only one fault in N is sampled, no range is known to be full.
            .filter(|_| self.conditions.every == 1 && pages > 1);
        [self.double_fault(), self.broken_up(), small]
            .into_iter()
            .chain([self.counts.copies_after_fork()])
            .flatten()
            .chain(humps)
            .collect()
    }

    fn double_fault(&self) -> Option<Shape> {
        let doubles = &self.counts.doubles;
        let most = self.processes.code.busiest(&doubles.by_chain);
        let (site, at_site) = most.unzip();
        (doubles.faults > 0).then(|| Shape::DoubleFault {
            faults: doubles.faults,
            certain: doubles.certain,
            time_ns: doubles.time_ns,
            site: site.map(|(function, caller): Site| {
                let caller = caller.map(|caller| format!(", called by {}", caller.short()));
                function.short() + &caller.unwrap_or_default()
            }),
            at_site: at_site.unwrap_or(0),
        })
    }

    fn broken_up(&self) -> Option<Shape> {
        let huge_pages = self.counts.broken_up;
        (huge_pages > 0).then_some(Shape::BrokenUp { huge_pages })
    }
}

impl FaultSummary {
    /// Returns true if the kernel stopped the events before the first fault, so there is no answer.
    #[must_use]
    pub fn is_unwatched(&self) -> bool {
        self.books.counted == 0 && !self.unwatched.is_empty()
    }
}

fn row(faults: u64, latencies: &Durations) -> Row {
    Row {
        faults,
        timed: latencies.count(),
        time_ns: latencies.total_ns,
        latency: Quantiles::of(&latencies.histogram),
        histogram: latency::bars(&latencies.histogram),
    }
}

/// How the memory of a mapping was obtained.
fn growth(mapping: &FaultedMapping) -> String {
    match (mapping.sharing, mapping.name.as_str()) {
        (_, "") => "unknown mapping",
        (Sharing::Hugetlb, _) => "mmap of hugetlb",
        (_, "[heap]") => "brk",
        (_, "[stack]") => "stack",
        (Sharing::Shared, _) if mapping.anonymous => "mmap, shared",
        (Sharing::Shared, _) => "mmap of a file, shared",
        (Sharing::Private, _) if mapping.anonymous => "mmap, anonymous",
        (Sharing::Private, _) => "mmap of a file, private",
    }
    .to_owned()
}

/// The name of a mapping in a list; memory without a name gets its address and size.
fn title(mapping: &FaultedMapping) -> String {
    match mapping.name.as_str() {
        "" => "unknown mapping".to_owned(),
        "//anon" => format!(
            "anonymous {} at {:x}, pid {}",
            rounded(mapping.end - mapping.start),
            mapping.start,
            mapping.pid
        ),
        name => name.to_owned(),
    }
}

fn rounded(bytes: u64) -> String {
    let unit = [hugewise_base::units::GIB, hugewise_base::units::MIB]
        .into_iter()
        .find(|unit| bytes >= 10 * unit);
    bytes_text(unit.map_or(bytes, |unit| bytes / unit * unit))
}
