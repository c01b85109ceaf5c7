//! Past measurements of the examined programs, from their records.

use hugewise_advise::advice::Observation;
use hugewise_advise::fact::Facts;
use hugewise_advise::measured::{Measurement, measurements};

use crate::experiment::recorder;
use crate::experiment::records::{self, Entry};

/// The number of newest records to use: each has to be compared again.
const MOST: usize = 20;

/// The measurements of these programs, newest first. Unreadable records are skipped.
pub(super) fn of(observed: &[Observation], host: &Facts) -> Vec<Measurement> {
    let kernel = host.text("kernel.version").unwrap_or_default();
    let is_of = |entry: &&Entry| observed.iter().any(|one| concerns(entry, one));
    let entries = records::list().unwrap_or_default();
    let entries = entries.iter().filter(is_of).take(MOST);
    let records =
        entries.filter_map(|entry| Some((entry, recorder::read_found(&entry.path).ok()?)));
    let found = records
        .flat_map(|(entry, record)| measurements(&record, &entry.path.display().to_string()));
    found.filter(|one| one.kernel == kernel).collect()
}

/// Returns true if the command of a record names the examined program.
fn concerns(entry: &Entry, observed: &Observation) -> bool {
    let words = observed.command.iter().flat_map(|command| &command.words);
    // The first word of a script's command can be its interpreter.
    let words = words.take(2).filter_map(|word| word.rsplit('/').next());
    let mut names = words.chain([observed.name.as_str()]);
    names.any(|name| entry.names(name))
}
