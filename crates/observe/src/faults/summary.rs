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

/// Everything that is said about the faults of a program.
#[derive(Clone, Debug, Serialize, Deserialize, PartialEq)]
pub struct FaultSummary {
    /// [`FORMAT`].
    pub format: String,
    /// How and where it was watched.
    pub conditions: Conditions,
    /// Counts from other sources, and how it ended.
    pub closing: Closing,
    /// What was counted, sampled, accounted for and lost, side by side.
    pub books: Books,
    /// Programs whose events the kernel took away at their exec.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub unwatched: Vec<Unwatched>,
    /// Threads that faulted.
    pub threads: u64,
    /// All latencies.
    pub total: Row,
    /// By kind, the most time first.
    pub kinds: Vec<KindRow>,
    /// By the way in which the memory came.
    pub growth: Vec<NamedRow>,
    /// By mapping, the most time first.
    pub mappings: Vec<NamedRow>,
    /// By the innermost function and its caller, the most time first.
    pub sites: Vec<SiteRow>,
    /// Faults whose call chain is one frame long or empty: code without frame pointers.
    pub shallow: u64,
    /// Faults whose call chain was taken. Where these are fewer than all, `sites` and `shallow`
    /// are estimates from them.
    pub chains: u64,
    /// Small faults whose folio was gone before it could be asked for; they count as pages.
    pub folios_missed: u64,
    /// Patterns that have a name.
    pub shapes: Vec<Shape>,
}

/// Faults, their latencies and their time.
#[derive(Clone, Debug, Serialize, Deserialize, PartialEq)]
pub struct Row {
    /// Faults served.
    pub faults: u64,
    /// Those whose beginning was seen too, so that they have a latency.
    pub timed: u64,
    /// Time in them, in nanoseconds.
    pub time_ns: u64,
    /// Their latencies; `None` where none was timed.
    pub latency: Option<Quantiles>,
    /// By powers of two.
    pub histogram: Vec<Bar>,
}

/// Faults of one kind.
#[derive(Clone, Debug, Serialize, Deserialize, PartialEq)]
pub struct KindRow {
    /// The kind.
    pub kind: FaultKind,
    /// What people call it, with as much doubt as there is.
    pub label: String,
    /// The numbers.
    #[serde(flatten)]
    pub row: Row,
}

/// Faults under a name.
#[derive(Clone, Debug, Serialize, Deserialize, PartialEq, Eq)]
pub struct NamedRow {
    /// The name.
    pub name: String,
    /// Faults.
    pub faults: u64,
    /// Time in them, in nanoseconds.
    pub time_ns: u64,
}

/// Faults of a place in the code.
#[derive(Clone, Debug, Serialize, Deserialize, PartialEq, Eq)]
pub struct SiteRow {
    /// The innermost function.
    pub function: Symbol,
    /// The nearest caller that has another name.
    pub caller: Option<Symbol>,
    /// Faults.
    pub faults: u64,
    /// Time in them, in nanoseconds.
    pub time_ns: u64,
}

impl Analysis {
    /// What there is to say, once the [`Closing`] has come; `None` before.
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

    /// Call chains for flame graphs: functions from the outermost, and a weight.
    #[must_use]
    pub fn folded(&self, weigh: Weigh) -> BTreeMap<String, u64> {
        self.processes.code.folded(weigh)
    }

    /// Sums by the name that a mapping is given, the most time first.
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
        // A median of few means little, and with huge zero pages among them it means nothing.
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
            // Where only one in N was looked at, no range is known to be full.
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
    /// Whether the kernel took the events away before the first fault: there is no answer.
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

/// The way in which the memory of a mapping came.
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

/// What a mapping is called in a list: memory without a name by its place and size.
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
