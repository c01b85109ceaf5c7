use std::collections::VecDeque;

use hugewise_observe::faults::{Event, Served};

use super::open::FEW;
use crate::perf::order::Order;

/// The number of call chains taken of all faults, before sampling starts. A program of fewer faults is known exactly;
/// one of more is known by then, and the rest is for what comes later.
const ENOUGH: u64 = 10_000;

/// The largest difference between the timestamps of the two samples of one fault, in ns. Some kernels give both the
/// same timestamp; a virtual processor may be stopped between the two.
const APART_NS: u64 = 1_000_000;

/// A call chain, as recorded by its own event.
#[derive(Debug)]
pub(super) struct Chain {
    pub(super) tid: u32,
    pub(super) address: u64,
    pub(super) time_ns: u64,
    pub(super) stack: Vec<u64>,
}

/// Assigns call chains to their faults.
///
/// The events that take chains write to separate rings. They cannot share a ring with the ends of faults: newer kernels
/// (seen on 6.18) prepare one set of data for all events that one fault triggers, including the identity of the first
/// event (`perf_prepare_sample`, kernel/events/core.c). Only the ring then shows which event a sample belongs to.
#[derive(Debug)]
pub(super) struct Chains {
    cpus: Vec<Halves>,
    taken: u64,
    mode: Mode,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Mode {
    Every,
    OneInFew,
}

/// Samples of one processor, in order.
#[derive(Debug, Default)]
struct Halves {
    ends: VecDeque<Box<Served>>,
    chains: VecDeque<(Chain, u64)>,
    /// How many of each were waiting when this pass over the rings began.
    old_ends: usize,
    old_chains: usize,
}

impl Chains {
    pub(super) fn of(cpus: usize) -> Self {
        Self {
            cpus: (0..cpus).map(|_| Halves::default()).collect(),
            taken: 0,
            mode: Mode::Every,
        }
    }

    /// Adds the end of a fault, without its chain.
    pub(super) fn end(&mut self, cpu: usize, end: Box<Served>) {
        if let Some(halves) = self.cpus.get_mut(cpu) {
            halves.ends.push_back(end);
        }
    }

    /// Adds a chain.
    pub(super) fn chain(&mut self, cpu: usize, chain: Chain) {
        self.taken += 1;
        let stands_for = match self.mode {
            Mode::Every => 1,
            Mode::OneInFew => FEW,
        };
        if let Some(halves) = self.cpus.get_mut(cpu) {
            halves.chains.push_back((chain, stands_for));
        }
    }

    /// Ends a pass over the rings of a processor, which reads the ring of ends before the ring of chains. Samples
    /// without a match wait for one more pass, no longer than [`Order`] allows.
    pub(super) fn join(&mut self, cpu: usize, order: &mut Order<Event>) {
        if let Some(halves) = self.cpus.get_mut(cpu) {
            halves.join(order);
        }
    }

    /// Hands over the remaining ends; no more samples follow.
    pub(super) fn finish(&mut self, order: &mut Order<Event>) {
        let ends = self
            .cpus
            .iter_mut()
            .flat_map(|halves| halves.ends.drain(..));
        ends.for_each(|end| order.hold(Some(Event::End(end))));
    }

    /// Returns true if there are enough call chains of all faults, and sampling can start.
    pub(super) fn are_enough(&self) -> bool {
        self.taken >= ENOUGH && self.mode == Mode::Every
    }

    /// Makes each later chain count for [`FEW`] faults.
    pub(super) fn are_few(&mut self) {
        self.mode = Mode::OneInFew;
    }
}

impl Halves {
    fn join(&mut self, order: &mut Order<Event>) {
        let mut done = 0;
        let mut alone = VecDeque::new();
        for (index, (chain, stands_for)) in self.chains.drain(..).enumerate() {
            if let Some(place) = place_of(&chain, &self.ends, done) {
                let end = &mut self.ends[place];
                end.stack = chain.stack;
                end.stands_for = stands_for;
                done = place + 1;
            } else if index >= self.old_chains {
                alone.push_back((chain, stands_for));
            }
        }
        self.chains = alone;
        let given = self.ends.drain(..done.max(self.old_ends));
        given.for_each(|end| order.hold(Some(Event::End(end))));
        self.old_ends = self.ends.len();
        self.old_chains = self.chains.len();
    }
}

/// Finds the fault that a chain belongs to, starting at an index.
fn place_of(chain: &Chain, ends: &VecDeque<Box<Served>>, from: usize) -> Option<usize> {
    let latest = chain.time_ns.saturating_add(APART_NS);
    let mut near = ends.iter().enumerate().skip(from);
    let (place, _) = near
        .by_ref()
        .take_while(|(_, end)| end.time_ns <= latest)
        .find(|(_, end)| {
            (end.tid, end.address) == (chain.tid, chain.address)
                && end.time_ns.saturating_add(APART_NS) >= chain.time_ns
        })?;
    Some(place)
}

#[cfg(test)]
mod tests {
    use super::*;
    use hugewise_observe::faults::Weight;

    fn end(time_ns: u64, address: u64) -> Box<Served> {
        Box::new(Served {
            time_ns,
            pid: 1,
            tid: 1,
            address,
            weight: Weight::Minor,
            page_bytes: None,
            physical: None,
            folio_bytes: None,
            stack: Vec::new(),
            stands_for: 0,
        })
    }

    fn chain(time_ns: u64, address: u64) -> Chain {
        Chain {
            tid: 1,
            address,
            time_ns,
            stack: vec![time_ns],
        }
    }

    /// Returns the results: the time, and the chain's time with its weight.
    fn given(order: &mut Order<Event>) -> Vec<(u64, Option<u64>, u64)> {
        let mut given = Vec::new();
        order.release_all(|event| match event {
            Event::End(end) => {
                given.push((end.time_ns, end.stack.first().copied(), end.stands_for));
            }
            other => panic!("{other:?}"),
        });
        given
    }

    #[test]
    fn each_chain_finds_its_fault_and_none_another() {
        let (mut chains, mut order) = (Chains::of(1), Order::default());
        // The same page three times; the chain of the second fault and the end of the last were lost.
        for time_ns in [10, 20_000_000, 40_000_000] {
            chains.end(0, end(time_ns, 7));
        }
        for time_ns in [11, 40_000_001, 60_000_000] {
            chains.chain(0, chain(time_ns, 7));
        }
        chains.join(0, &mut order);
        let expected = [(10, Some(11), 1), (20_000_000, None, 0)];
        assert_eq!(given(&mut order)[..2], expected);
        chains.end(0, end(80_000_000, 8));
        chains.chain(0, chain(80_000_000, 9));
        chains.join(0, &mut order);
        chains.join(0, &mut order);
        assert_eq!(given(&mut order), [(80_000_000, None, 0)]);
    }

    #[test]
    fn the_two_halves_meet_over_one_pass_and_no_more() {
        let (mut chains, mut order) = (Chains::of(2), Order::default());
        chains.end(0, end(1, 7));
        // Samples from another processor belong to other faults.
        chains.chain(1, chain(1, 7));
        chains.join(0, &mut order);
        assert_eq!(given(&mut order), []);
        chains.chain(0, chain(2, 7));
        chains.join(0, &mut order);
        assert_eq!(given(&mut order), [(1, Some(2), 1)]);
        chains.chain(0, chain(3, 7));
        chains.join(0, &mut order);
        chains.end(0, end(4, 7));
        chains.join(0, &mut order);
        assert_eq!(given(&mut order), [(4, Some(3), 1)]);
        // Each waits only once.
        chains.end(0, end(5, 7));
        chains.join(0, &mut order);
        chains.join(0, &mut order);
        assert_eq!(given(&mut order), [(5, None, 0)]);
        chains.chain(0, chain(6, 7));
        chains.join(0, &mut order);
        chains.join(0, &mut order);
        chains.end(0, end(6, 7));
        chains.finish(&mut order);
        assert_eq!(given(&mut order), [(6, None, 0)]);
    }

    #[test]
    fn few_stand_for_many() {
        let (mut chains, mut order) = (Chains::of(1), Order::default());
        for time_ns in 0..ENOUGH {
            assert!(!chains.are_enough());
            chains.chain(0, chain(time_ns, 7));
            chains.end(0, end(time_ns, 7));
        }
        assert!(chains.are_enough());
        chains.are_few();
        assert!(!chains.are_enough());
        chains.chain(0, chain(ENOUGH, 7));
        chains.end(0, end(ENOUGH, 7));
        chains.join(0, &mut order);
        let weights: Vec<u64> = given(&mut order).iter().map(|one| one.2).collect();
        let enough = usize::try_from(ENOUGH).unwrap();
        assert!(weights[..enough].iter().all(|&weight| weight == 1));
        assert_eq!(weights[enough..], [FEW]);
    }
}
