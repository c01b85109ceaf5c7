use hugewise_base::host::Host;
use hugewise_base::missing::Missing;
use hugewise_observe::faults::{Conditions, Known, Modes, Served};

use super::FULL_GRANT;
use super::folio::Folios;
use super::huge_zero::HugeZero;
use crate::perf::access::SampleAccess;

/// Looks up facts about a fault by its physical address.
#[derive(Debug)]
pub(super) struct PhysicalLookup {
    /// Folio sizes, or why they are unknown; `None` if there is only one size.
    folios: Option<Result<Folios, Missing>>,
    /// The huge zero page, or why it is unknown; `None` if there is none.
    huge_zero: Option<Result<HugeZero, Missing>>,
    /// Size of a huge page, in bytes; 1 if there are none.
    pmd_bytes: u64,
}

impl PhysicalLookup {
    pub(super) fn on(host: &Host, access: SampleAccess) -> Self {
        Self {
            folios: folios(host, access),
            huge_zero: huge_zero(host, access),
            pmd_bytes: host.pmd_bytes().unwrap_or(1).max(1),
        }
    }

    /// Returns true if faults must be read soon.
    pub(super) fn asks_for_folios(&self) -> bool {
        matches!(self.folios, Some(Ok(_)))
    }

    pub(super) fn describe(&self, conditions: &mut Conditions) {
        conditions.folios = known(self.folios.as_ref());
        conditions.huge_zero = known(self.huge_zero.as_ref());
    }

    /// Fills in the facts that the sample does not contain.
    pub(super) fn complete(&self, served: &mut Served) {
        let Some(physical) = served.physical.filter(|&address| address > 0) else {
            return;
        };
        if served
            .page_bytes
            .is_some_and(|bytes| bytes >= self.pmd_bytes)
        {
            if let Some(Ok(zero)) = &self.huge_zero
                && zero.is_at(physical, self.pmd_bytes)
            {
                served.physical = Some(0);
            }
        } else if let Some(Ok(folios)) = &self.folios {
            served.folio_bytes = folios.bytes_at(physical);
        }
    }
}

fn known<T>(answer: Option<&Result<T, Missing>>) -> Known {
    match answer {
        Some(Err(missing)) => Known::No(missing.clone()),
        Some(Ok(_)) | None => Known::Yes,
    }
}

fn not_permitted() -> Missing {
    Missing::not_permitted(FULL_GRANT)
}

fn folios(host: &Host, access: SampleAccess) -> Option<Result<Folios, Missing>> {
    let pmd_bytes = host.pmd_bytes()?;
    if host.folio_sizes().is_empty() {
        return None;
    }
    Some(match access.modes {
        Modes::User => Err(not_permitted()),
        Modes::All => Folios::open(host.page_bytes, pmd_bytes),
    })
}

fn huge_zero(host: &Host, access: SampleAccess) -> Option<Result<HugeZero, Missing>> {
    let thp = host.thp.as_ref().ok()?;
    if !thp.zero_page || thp.effective_pmd_mode() == "never" {
        return None;
    }
    if access.modes == Modes::User {
        return Some(Err(not_permitted()));
    }
    let mapped = HugeZero::map(access, host.page_bytes, thp.pmd_bytes);
    Some(
        mapped.ok_or_else(|| {
            Missing::not_supported("a huge zero page in this process to compare with")
        }),
    )
}
