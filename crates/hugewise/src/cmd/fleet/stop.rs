//! The emergency stop of this host.

use std::io::ErrorKind;
use std::path::Path;

use hugewise_fleet::stop::{STOP_FILE, STOP_VARIABLE, stops};
use hugewise_linux::file::read::{CONFIGURATION, read_regular};

/// Returns why an experiment must stop here; `None` if it may continue. A stop file that cannot be read also stops it,
/// because somebody meant to stop something.
pub(super) fn found(experiment: &str) -> Option<String> {
    if let Some(text) = std::env::var_os(STOP_VARIABLE)
        && stops(&text.to_string_lossy(), experiment)
    {
        return Some(format!("the variable {STOP_VARIABLE}"));
    }
    let is_stopped = match read_regular(Path::new(STOP_FILE), CONFIGURATION) {
        Ok(text) => stops(&String::from_utf8_lossy(&text), experiment),
        Err(error) => !matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory),
    };
    is_stopped.then(|| format!("the file {STOP_FILE}"))
}
