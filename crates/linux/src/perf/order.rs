use hugewise_observe::faults;

/// Sorts the events of several rings by time.
///
/// One ring is in order, but several are not: a thread that moves to another processor begins a fault in one ring and
/// ends it in another. Records written before one pass over all rings began have been read when the next pass is over.
/// So all events up to the start of the previous pass can be passed on. (This waits one pass longer than seems
/// necessary: a record gets its time a moment before it becomes readable.)
#[derive(Debug)]
pub(crate) struct Order<E> {
    held: Vec<E>,
    /// When the previous pass began, in nanoseconds of the monotonic clock.
    horizon_ns: u64,
}

/// An event with a time.
pub(crate) trait Timed {
    /// Returns its time, if it has one. Losses have none, and their position among the others has no meaning.
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
    /// Starts with the events known before.
    pub(crate) fn begin(&mut self, known: Vec<E>) {
        self.held = known;
    }

    pub(crate) fn hold(&mut self, event: Option<E>) {
        self.held.extend(event);
    }

    /// Passes on the events old enough; the pass over the rings began at `pass_ns`.
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
