//! The readings for each folio size of the machine.

use std::collections::BTreeMap;

use super::readings::{Evidence, Value};

impl Evidence<'_> {
    /// Returns the metrics that exist once per folio size of the machine.
    pub(super) fn folios(&self, sizes: &[u64]) -> BTreeMap<String, Value> {
        let mut values = BTreeMap::new();
        for kib in sizes {
            values.insert(format!("mthp_{kib}kib_peak_bytes"), self.folio_peak(*kib));
            values.insert(format!("mthp_{kib}kib_exit_bytes"), self.folio_exit(*kib));
            let nothing = BTreeMap::new();
            let before = self.before.folio_events.get(kib).unwrap_or(&nothing);
            let after = self.after.folio_events.get(kib).unwrap_or(&nothing);
            for (event, now) in after {
                let then = before.get(event).copied().unwrap_or(0);
                let growth = now.saturating_sub(then) as f64;
                values.insert(format!("mthp_{kib}kib_{event}_total"), Ok(growth));
            }
        }
        values
    }

    /// Returns the largest growth of the machine's gauge in the samples, but at least the amount in the main process at
    /// its end: samples are few, and may all precede the peak.
    fn folio_peak(&self, kib: u64) -> Value {
        let growth = self.samples.folio_growth.get(&kib);
        let sampled = growth.map(|folios| folios.saturating_mul(kib * 1024) as f64);
        let childless = self.exit().is_ok_and(|exit| !exit.had_children);
        match (sampled, self.folio_exit(kib)) {
            (Some(sampled), Ok(at_exit)) => Ok(sampled.max(at_exit)),
            (Some(sampled), Err(_)) => Ok(sampled),
            (None, Ok(at_exit)) if childless => Ok(at_exit),
            (None, _) => Err(self.no_samples()),
        }
    }

    fn folio_exit(&self, kib: u64) -> Value {
        let sizes = self.exit()?.folio_bytes.as_ref().map_err(Clone::clone)?;
        Ok(sizes.get(&kib).copied().unwrap_or(0) as f64)
    }
}
