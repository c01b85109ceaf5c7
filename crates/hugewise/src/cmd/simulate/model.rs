//! The simulated processor with pages of each size, and with the page sizes that the kernel chose.

use hugewise_linux::observe::memory_trace::TraceEnd;
use hugewise_observe::faults::Map;
use hugewise_tlb::simulation::{
    Accesses, AsMapped, Column, FORMAT, Kind as AccessKind, Mapped, MemoryAccess, Paging,
    Processor, Simulation, Tracer,
};

/// All columns, and the accesses that they count.
pub(super) struct Model {
    columns: Vec<Column>,
    mapped: Mapped,
    /// With the page sizes that the kernel chose.
    pub(super) as_mapped: AsMapped,
    /// Walks of one access, by column.
    walks: Vec<u64>,
    accesses: Accesses,
    base_page_bytes: u64,
}

impl Model {
    /// A model before the first access.
    pub(super) fn new(processor: &Processor, paging: Paging) -> Self {
        let sizes = paging.sizes().into_iter();
        let columns: Vec<Column> = sizes
            .map(|size| Column::new(processor, paging, size))
            .collect();
        Self {
            mapped: Mapped::new(paging.base_bytes(), columns.len()),
            as_mapped: AsMapped::new(processor, paging),
            walks: vec![0; columns.len()],
            columns,
            accesses: Accesses::default(),
            base_page_bytes: paging.base_bytes(),
        }
    }

    /// Simulates the next access.
    pub(super) fn access(&mut self, access: MemoryAccess, look_up: impl FnOnce() -> Vec<Map>) {
        match access.kind {
            AccessKind::Fetch => self.accesses.fetches += 1,
            AccessKind::Load => self.accesses.loads += 1,
            AccessKind::Store => self.accesses.stores += 1,
        }
        self.mapped.see(access);
        let mut walked = false;
        for (column, walks) in self.columns.iter_mut().zip(&mut self.walks) {
            *walks = column.access(access);
            walked |= *walks > 0;
        }
        if walked {
            self.mapped.walked(access.address, &self.walks, look_up);
        }
    }

    /// Returns true if there was no access.
    pub(super) fn is_empty(&self) -> bool {
        self.accesses.total() == 0
    }

    /// The counts.
    pub(super) fn finished(
        self,
        command: Vec<String>,
        processor: Processor,
        tracer: String,
        ended: TraceEnd,
    ) -> Simulation {
        Simulation {
            format: FORMAT.to_owned(),
            command,
            tracer: Tracer { name: tracer },
            processor,
            base_page_bytes: self.base_page_bytes,
            accesses: self.accesses,
            cut: ended.cut,
            columns: self.columns.iter().map(Column::counts).collect(),
            mappings: self.mapped.rows(),
            as_mapped: self.as_mapped.counts(),
            outcome: ended.outcome,
        }
    }
}
