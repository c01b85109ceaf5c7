//! The file of chosen sites: `attribute --sites` writes it, and `exec --sites` applies it.

use serde::{Deserialize, Serialize};

use super::Attribution;
use hugewise_experiment::run::site::SiteChoice;

/// Kind and version of the file.
const FORMAT: &str = "hugewise-sites 1";

/// The sites of a program to make huge.
#[derive(Clone, Debug, Serialize, Deserialize, PartialEq, Eq)]
#[serde(deny_unknown_fields)]
pub struct SitesFile {
    /// Kind and version.
    format: String,
    /// The sites to make huge; all others are kept small.
    pub sites: SiteChoice,
    /// The command for which they were chosen.
    pub command: Vec<String>,
    /// The places that map them, in the same order, as far as known.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub places: Vec<String>,
}

impl SitesFile {
    /// The best sites, at most `most`, at which huge pages were shown to help; `None` if there are none.
    #[must_use]
    pub fn of(attribution: &Attribution, most: usize) -> Option<Self> {
        let sites = attribution.best(most)?;
        let huge = attribution.sites.iter().filter(|it| sites.has(it.site));
        let mut places: Vec<_> = huge.map(|it| (it.site, it.place.clone())).collect();
        places.sort();
        Some(Self {
            format: FORMAT.to_owned(),
            sites,
            command: attribution.command.clone(),
            places: places.into_iter().filter_map(|(_, place)| place).collect(),
        })
    }

    /// Parses the text of such a file.
    ///
    /// # Errors
    /// It is no such file; the error names the position and the expected content.
    pub fn parse(text: &str) -> Result<Self, String> {
        let file: Self = serde_json::from_str(text).map_err(|error| {
            format!("it is no file that `hugewise attribute --sites` writes: {error}")
        })?;
        match file.format.as_str() {
            FORMAT => Ok(file),
            other => Err(format!(
                "`{other}` is another kind of file; expected {FORMAT}"
            )),
        }
    }
}
