use hugewise_observe::faults;

/// Events of several rings, put in order of time.
///
/// A ring is in order, two are not: a thread that moves to another processor begins a fault in
/// one ring and ends it in another. What was written before one pass over all rings began has
/// been read when the next pass is over, so that everything up to the beginning of the pass
/// before may be given out. (One pass more than it seems to need: a record gets its time
/// a moment before it can be read.)
#[derive(Debug)]
pub(crate) struct Order<E> {
    held: Vec<E>,
    /// When the pass before began, in nanoseconds of the monotonic clock.
    horizon_ns: u64,
}

/// Something that happened at a time.
pub(crate) trait Timed {
    /// When, where it has a time. Losses have none, and their place among the others means
    /// nothing.
    fn time_ns(&self) -> Option<u64>;
}

impl Timed for faults::Event {
    fn time_ns(&self) -> Option<u64> {
        self.time_ns()
    }
}

impl<E> Default for Order<E> {
    fn default() -> Self {
        Self {
            held: Vec::new(),
            horizon_ns: 0,
        }
    }
}

impl<E: Timed> Order<E> {
    /// Starts with what was known before.
    pub(crate) fn begin(&mut self, known: Vec<E>) {
        self.held = known;
    }

    pub(crate) fn hold(&mut self, event: Option<E>) {
        self.held.extend(event);
    }

    /// Gives out what is old enough; the pass over the rings began at `pass_ns`.
    pub(crate) fn release(&mut self, pass_ns: u64, take: impl FnMut(E)) {
        let horizon = std::mem::replace(&mut self.horizon_ns, pass_ns);
        self.sort();
        let old = self.held.partition_point(|event| time(event) <= horizon);
        self.held.drain(..old).for_each(take);
    }

    pub(crate) fn release_all(&mut self, take: impl FnMut(E)) {
        self.sort();
        self.held.drain(..).for_each(take);
    }

    fn sort(&mut self) {
        self.held.sort_by_key(time);
    }
}

fn time(event: &impl Timed) -> u64 {
    event.time_ns().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use hugewise_observe::faults::Event;

    use super::*;

    fn at(time_ns: u64) -> Option<Event> {
        Some(Event::Start {
            time_ns,
            pid: 1,
            tid: 1,
            address: 0,
        })
    }

    fn released(order: &mut Order<Event>, pass_ns: u64) -> Vec<u64> {
        let mut times = Vec::new();
        order.release(pass_ns, |event| times.push(time(&event)));
        times
    }

    #[test]
    fn nothing_comes_out_that_an_older_one_may_still_precede() {
        let mut order = Order::default();
        order.hold(at(20));
        order.hold(at(10));
        assert_eq!(released(&mut order, 15), [0; 0]);
        order.hold(at(12));
        assert_eq!(released(&mut order, 30), [10, 12]);
        order.hold(at(25));
        assert_eq!(released(&mut order, 40), [20, 25]);
        order.hold(at(39));
        let mut rest = Vec::new();
        order.release_all(|event| rest.push(time(&event)));
        assert_eq!(rest, [39]);
    }
}
