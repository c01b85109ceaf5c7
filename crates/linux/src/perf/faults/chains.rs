use hugewise_model::fault::{Event, Served};

use super::open::FEW;
use super::order::Order;

/// So many faults have their call chain taken, every one. A program of fewer faults is known
/// exactly; one of more is known by then, and the rest is for what comes later.
const ENOUGH: u64 = 20_000;

/// A call chain, as its own event tells it.
#[derive(Debug)]
pub(super) struct Chain {
    pub(super) tid: u32,
    pub(super) address: u64,
    pub(super) time_ns: u64,
    pub(super) stack: Vec<u64>,
    pub(super) of: Of,
}

/// Of which faults an event takes the chain.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Of {
    Every,
    OneInFew,
}

/// Puts call chains to their faults.
///
/// The two samples of one fault are neighbours in a ring, because the kernel writes both without
/// being interrupted by another fault; which of them comes first is its own business. A fault
/// without a chain is given out with the next one, or when a pass over its ring has ended that
/// began after it was read: no later than [`Order`] allows.
#[derive(Debug)]
pub(super) struct Chains {
    rings: Vec<Open>,
    taken: u64,
    /// Since when only few are taken, in nanoseconds of the monotonic clock.
    few_since_ns: Option<u64>,
}

/// What has come of a fault in a ring, until the other half is there.
#[derive(Debug, Default)]
struct Open {
    end: Option<Box<Served>>,
    /// Whether the end came in an earlier pass.
    end_is_old: bool,
    chain: Option<Chain>,
}

impl Chains {
    pub(super) fn of(rings: usize) -> Self {
        Self {
            rings: (0..rings).map(|_| Open::default()).collect(),
            taken: 0,
            few_since_ns: None,
        }
    }

    /// A pass over a ring begins.
    pub(super) fn begin(&mut self, ring: usize) {
        if let Some(open) = self.rings.get_mut(ring) {
            open.end_is_old = open.end.is_some();
        }
    }

    /// The end of a fault; one without a chain may yet get it.
    pub(super) fn end(&mut self, ring: usize, end: Box<Served>, order: &mut Order) {
        let Some(open) = self.rings.get_mut(ring) else {
            return;
        };
        if end.stands_for > 0 {
            order.hold(Some(Event::End(end)));
            return;
        }
        open.give(order);
        open.end = Some(end);
        open.end_is_old = false;
        open.join(order);
    }

    /// A chain.
    pub(super) fn chain(&mut self, ring: usize, chain: Chain, order: &mut Order) {
        let wanted = match chain.of {
            Of::Every => {
                self.taken += 1;
                true
            }
            Of::OneInFew => self
                .few_since_ns
                .is_some_and(|since| chain.time_ns >= since),
        };
        if let Some(open) = self.rings.get_mut(ring).filter(|_| wanted) {
            open.chain = Some(chain);
            open.join(order);
        }
    }

    /// A pass over a ring is over.
    pub(super) fn pause(&mut self, ring: usize, order: &mut Order) {
        if let Some(open) = self.rings.get_mut(ring).filter(|open| open.end_is_old) {
            open.give(order);
        }
    }

    /// Nothing more comes.
    pub(super) fn finish(&mut self, order: &mut Order) {
        self.rings.iter_mut().for_each(|open| open.give(order));
    }

    /// Whether the chains of all faults need not be taken any more.
    pub(super) fn are_enough(&self) -> bool {
        self.taken >= ENOUGH && self.few_since_ns.is_none()
    }

    /// From now on there are few only.
    pub(super) fn few_since(&mut self, time_ns: u64) {
        self.few_since_ns = Some(time_ns);
    }
}

impl Open {
    fn give(&mut self, order: &mut Order) {
        order.hold(self.end.take().map(Event::End));
    }

    /// Puts the two halves together where both are there, and gives the fault out.
    fn join(&mut self, order: &mut Order) {
        let (Some(end), Some(chain)) = (&mut self.end, &mut self.chain) else {
            return;
        };
        if (end.tid, end.address) == (chain.tid, chain.address) {
            end.stack = std::mem::take(&mut chain.stack);
            end.stands_for = match chain.of {
                Of::Every => 1,
                Of::OneInFew => FEW,
            };
            self.give(order);
        }
        // Of another fault, whose end was lost or is lost.
        self.chain = None;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use hugewise_model::fault::Weight;

    fn end(address: u64) -> Box<Served> {
        Box::new(Served {
            time_ns: address,
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

    fn chain(address: u64, of: Of) -> Chain {
        Chain {
            tid: 1,
            address,
            time_ns: address,
            stack: vec![address],
            of,
        }
    }

    /// What came out, address, frames and weight.
    fn given(order: &mut Order) -> Vec<(u64, usize, u64)> {
        let mut given = Vec::new();
        order.release_all(|event| match event {
            Event::End(served) => {
                given.push((served.address, served.stack.len(), served.stands_for));
            }
            other => panic!("{other:?}"),
        });
        given
    }

    #[test]
    fn the_two_halves_meet_whichever_comes_first() {
        let (mut chains, mut order) = (Chains::of(1), Order::default());
        chains.end(0, end(1), &mut order);
        chains.chain(0, chain(1, Of::Every), &mut order);
        chains.chain(0, chain(2, Of::Every), &mut order);
        chains.end(0, end(2), &mut order);
        // Its chain was lost, and then the end of a chain.
        chains.end(0, end(3), &mut order);
        chains.end(0, end(4), &mut order);
        chains.chain(0, chain(5, Of::Every), &mut order);
        chains.end(0, end(6), &mut order);
        chains.finish(&mut order);
        let expected = [(1, 1, 1), (2, 1, 1), (3, 0, 0), (4, 0, 0), (6, 0, 0)];
        assert_eq!(given(&mut order), expected);
    }

    #[test]
    fn a_fault_waits_for_its_chain_over_one_pass_and_no_longer() {
        let (mut chains, mut order) = (Chains::of(2), Order::default());
        chains.begin(0);
        chains.end(0, end(1), &mut order);
        chains.pause(0, &mut order);
        assert_eq!(given(&mut order), []);
        // What another ring says is of another processor.
        chains.chain(1, chain(1, Of::Every), &mut order);
        chains.begin(0);
        chains.pause(0, &mut order);
        assert_eq!(given(&mut order), [(1, 0, 0)]);
        chains.begin(0);
        chains.end(0, end(2), &mut order);
        chains.pause(0, &mut order);
        chains.begin(0);
        chains.chain(0, chain(2, Of::Every), &mut order);
        chains.pause(0, &mut order);
        assert_eq!(given(&mut order), [(2, 1, 1)]);
    }

    #[test]
    fn few_count_from_the_moment_that_all_are_not_taken() {
        let (mut chains, mut order) = (Chains::of(1), Order::default());
        for address in 0..ENOUGH {
            assert!(!chains.are_enough());
            chains.chain(0, chain(address, Of::OneInFew), &mut order);
            chains.chain(0, chain(address, Of::Every), &mut order);
            chains.end(0, end(address), &mut order);
        }
        assert!(chains.are_enough());
        chains.few_since(ENOUGH + 1);
        assert!(!chains.are_enough());
        assert!(given(&mut order).iter().all(|&(_, _, weight)| weight == 1));
        for address in ENOUGH..ENOUGH + 3 {
            chains.end(0, end(address), &mut order);
            chains.chain(0, chain(address, Of::OneInFew), &mut order);
        }
        chains.finish(&mut order);
        let weights: Vec<u64> = given(&mut order).iter().map(|one| one.2).collect();
        assert_eq!(weights, [0, FEW, FEW]);
    }
}
