//! The TLB with all memory in pages of one size.

use super::outcome::{PageColumn, Streams, Tally};
use super::{Buffer, Kind, MemoryAccess, Paging, Processor, Shape, Walker, shape_of};
use hugewise_base::tlb::Holds;

/// The TLB of a processor with all memory in pages of one size.
#[derive(Debug)]
pub struct Column {
    page_bytes: u64,
    shift: u32,
    native: bool,
    data: First,
    stores: Option<First>,
    code: First,
    second: Second,
    walker: Walker,
    counts: Streams,
}

/// An L1 TLB and the page of its last look-up.
#[derive(Debug)]
struct First {
    buffer: Option<Buffer>,
    last: Option<u64>,
}

/// The second level.
#[derive(Debug)]
enum Second {
    /// The processor has none for this page size.
    Absent,
    /// Shared by instructions and data.
    Shared(Buffer),
    /// Separate for each, or missing.
    Apart {
        data: Option<Buffer>,
        code: Option<Buffer>,
    },
}

impl Column {
    /// Creates an empty TLB. A page size without entries is simulated with those of base pages.
    #[must_use]
    pub fn new(processor: &Processor, paging: Paging, page_bytes: u64) -> Self {
        let holds = |size| {
            let data = [Holds::Data, Holds::Both];
            (1..=2).any(|level| shape_of(&processor.tlb, level, &data, size).is_some())
        };
        let native = holds(page_bytes);
        let size = if native {
            page_bytes
        } else {
            paging.base_bytes()
        };
        let shape = |level, kinds: &[Holds]| shape_of(&processor.tlb, level, kinds, size);
        let stores = shape(1, &[Holds::Stores]);
        let page_bytes = page_bytes.max(2);
        Self {
            page_bytes,
            shift: page_bytes.ilog2(),
            native,
            data: First::new(shape(1, &[Holds::Data, Holds::Both])),
            stores: stores.map(|shape| First::new(Some(shape))),
            code: First::new(shape(1, &[Holds::Instructions, Holds::Both])),
            second: Second::new(shape),
            walker: Walker::new(paging, page_bytes, processor.walk_cache),
            counts: Streams::default(),
        }
    }

    /// Simulates one access, and returns its number of walks. Bytes in two pages cause two look-ups.
    pub fn access(&mut self, access: MemoryAccess) -> u64 {
        let last_byte = access
            .address
            .saturating_add(access.bytes.saturating_sub(1));
        let (from, to) = (access.address >> self.shift, last_byte >> self.shift);
        self.tally(access.kind).accesses += 1;
        let walks = self.ask(access.kind, from);
        if to == from {
            return walks;
        }
        walks + self.ask(access.kind, to)
    }

    /// The counts so far.
    #[must_use]
    pub fn counts(&self) -> PageColumn {
        PageColumn {
            page_bytes: self.page_bytes,
            native: self.native,
            streams: self.counts,
        }
    }

    fn tally(&mut self, kind: Kind) -> &mut Tally {
        match kind {
            Kind::Fetch => &mut self.counts.code,
            Kind::Load | Kind::Store => &mut self.counts.data,
        }
    }

    /// Looks up a page; returns 1 if that took a walk.
    fn ask(&mut self, kind: Kind, page: u64) -> u64 {
        let first = match (kind, &mut self.stores) {
            (Kind::Fetch, _) => &mut self.code,
            (Kind::Store, Some(stores)) => stores,
            (Kind::Load | Kind::Store, _) => &mut self.data,
        };
        if first.touch(page) {
            return 0;
        }
        self.tally(kind).first_level_misses += 1;
        if self.second.touch(kind, page) {
            return 0;
        }
        let read = self.walker.walk(page << self.shift);
        let tally = self.tally(kind);
        tally.walks += 1;
        tally.walk_references.least += read.least;
        tally.walk_references.most += read.most;
        1
    }
}

impl First {
    fn new(shape: Option<Shape>) -> Self {
        Self {
            buffer: shape.map(Buffer::new),
            last: None,
        }
    }

    /// The page of the last look-up is first in its set. Looking it up again, as most accesses do, changes nothing.
    fn touch(&mut self, page: u64) -> bool {
        let Some(buffer) = &mut self.buffer else {
            return false;
        };
        if self.last == Some(page) {
            return true;
        }
        self.last = Some(page);
        buffer.touch(page)
    }
}

impl Second {
    fn new(shape: impl Fn(u8, &[Holds]) -> Option<Shape>) -> Self {
        if let Some(shared) = shape(2, &[Holds::Both]) {
            return Self::Shared(Buffer::new(shared));
        }
        let own = |holds| shape(2, &[holds]).map(Buffer::new);
        match (own(Holds::Data), own(Holds::Instructions)) {
            (None, None) => Self::Absent,
            (data, code) => Self::Apart { data, code },
        }
    }

    fn touch(&mut self, kind: Kind, page: u64) -> bool {
        let buffer = match (self, kind) {
            (Self::Absent, _) => None,
            (Self::Shared(buffer), _) => Some(buffer),
            (Self::Apart { code, .. }, Kind::Fetch) => code.as_mut(),
            (Self::Apart { data, .. }, _) => data.as_mut(),
        };
        buffer.is_some_and(|buffer| buffer.touch(page))
    }
}
