//! What was measured here: the records of the programs that are looked at.

use hugewise_model::advise::advice::Observation;
use hugewise_model::advise::fact::Facts;
use hugewise_model::advise::measured::{Measurement, measurements};

use crate::experiment::{recorder, records};

/// Records of one look, the newest: each is compared anew.
const MOST: usize = 20;

/// The measurements of these programs, the newest first. A record that cannot be read says nothing.
pub(super) fn of(observed: &[Observation], host: &Facts) -> Vec<Measurement> {
    let kernel = host.text("kernel.version").unwrap_or_default();
    let names: Vec<_> = observed.iter().map(|one| one.name.as_str()).collect();
    let entries = records::list().unwrap_or_default();
    let entries = entries
        .iter()
        .filter(|entry| names.iter().any(|name| entry.names(name)))
        .take(MOST);
    let records = entries.filter_map(|entry| Some((entry, recorder::read(&entry.path).ok()?)));
    let found = records
        .flat_map(|(entry, record)| measurements(&record, &entry.path.display().to_string()));
    found.filter(|one| one.kernel == kernel).collect()
}
