//! Samples of this machine. A separate thread takes them, so that a blocked file delays neither scrapes nor the end of
//! the program.

use std::sync::Arc;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use hugewise_linux::observe::export::Collector;
use hugewise_monitor::export::exposition::Family;
use hugewise_monitor::export::{families, mark_overdue};
use tokio::sync::watch;

use super::sources::Sources;
use crate::interrupt::Interrupt;

/// Scrapes within this time share one sample.
const FRESH: Duration = Duration::from_secs(1);
/// The time limit for a sample; Prometheus gives up after 10 s.
const PATIENCE: Duration = Duration::from_secs(4);
/// Polling interval for callers that cannot wait for a sample and a signal at once.
const LOOK: Duration = Duration::from_millis(5);

/// The metric families at one moment.
#[derive(Debug)]
struct Sample {
    taken: Instant,
    families: Vec<Family>,
}

type Known = Option<Arc<Sample>>;

/// The handle of the sampling thread.
#[derive(Clone, Debug)]
pub(super) struct Sampler {
    wanted: SyncSender<()>,
    known: watch::Receiver<Known>,
}

impl Sampler {
    /// Starts the thread, which runs until the program ends.
    pub(super) fn begin(collector: Collector, sources: Sources) -> Result<Self> {
        // A queue of one is enough, because all waiters share the sample.
        let (wanted, orders) = sync_channel(1);
        let (sender, known) = watch::channel(None);
        let take = move || work(&orders, &sender, &collector, sources);
        let thread = thread::Builder::new().name("samples".to_owned());
        thread
            .spawn(take)
            .context("starting the thread of samples")?;
        Ok(Self { wanted, known })
    }

    /// The families of a new sample, or of the last one if it is fresh. If the sample takes too long, returns the last
    /// values with a mark.
    pub(super) async fn families(&mut self) -> Vec<Family> {
        if !is_fresh(&self.known.borrow()) {
            self.ask();
            let next = self.known.wait_for(is_fresh);
            // After a timeout the last sample is shown.
            let _ = tokio::time::timeout(PATIENCE, next).await;
        }
        shown(&self.known.borrow())
    }

    /// The same, for callers that also wait for a signal.
    pub(super) fn families_or_signal(&self, interrupt: &Interrupt) -> Vec<Family> {
        let began = Instant::now();
        while !is_fresh(&self.known.borrow()) && began.elapsed() < PATIENCE && !interrupt.asked() {
            self.ask();
            interrupt.wait(LOOK);
        }
        shown(&self.known.borrow())
    }

    /// The families of the first sample, however long it takes.
    pub(super) fn first(&self) -> Vec<Family> {
        while !is_fresh(&self.known.borrow()) {
            self.ask();
            thread::sleep(LOOK);
        }
        shown(&self.known.borrow())
    }

    fn ask(&self) {
        // A pending order is enough.
        let _ = self.wanted.try_send(());
    }
}

/// Takes a sample for each order.
fn work(
    orders: &Receiver<()>,
    sender: &watch::Sender<Known>,
    collector: &Collector,
    mut sources: Sources,
) {
    while orders.recv().is_ok() {
        if is_fresh(&sender.borrow()) {
            continue;
        }
        let extras = sources.read();
        let sample = Sample {
            families: families(&collector.sample(), &extras),
            taken: Instant::now(),
        };
        if sender.send(Some(Arc::new(sample))).is_err() {
            return;
        }
    }
}

fn is_fresh(known: &Known) -> bool {
    known
        .as_ref()
        .is_some_and(|sample| sample.taken.elapsed() < FRESH)
}

/// Returns the last values, marked if they are old.
fn shown(known: &Known) -> Vec<Family> {
    let last = known.as_ref().map(|sample| sample.families.clone());
    let mut families = last.unwrap_or_default();
    if !is_fresh(known) {
        mark_overdue(&mut families);
    }
    families
}

#[cfg(test)]
mod tests {
    use hugewise_monitor::export::exposition::Value;

    use super::*;

    /// Returns the mark of an overdue sample.
    fn overdue(families: &[Family]) -> Option<f64> {
        let all = families.iter().flat_map(|family| &family.series);
        let mut own = all.filter(|one| one.labels.contains(&("collector", "sample".to_owned())));
        match own.next()?.value {
            Value::Number(number) => Some(number),
            Value::Histogram { .. } => None,
        }
    }

    /// A thread that never takes a sample, and the channel that keeps it waiting.
    fn stuck() -> (Sampler, Receiver<()>, watch::Sender<Known>) {
        let (wanted, orders) = sync_channel(1);
        let (sender, known) = watch::channel(None);
        (Sampler { wanted, known }, orders, sender)
    }

    #[test]
    fn a_sample_that_does_not_come_is_marked() {
        let (mut sampler, _orders, sender) = stuck();
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_time()
            .build()
            .expect("a runtime");
        let began = Instant::now();
        let families = runtime.block_on(sampler.families());
        assert_eq!(overdue(&families), Some(0.0));
        assert!(began.elapsed() >= PATIENCE);
        let sample = Sample {
            taken: Instant::now(),
            families: Vec::new(),
        };
        sender.send(Some(Arc::new(sample))).expect("a reader");
        let families = runtime.block_on(sampler.families());
        assert_eq!(overdue(&families), None);
    }
}
