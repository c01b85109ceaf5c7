//! `sites=`: the mapping sites with huge pages, by a tracer.

use super::Settings;
use super::key::{Pair, Value};
use crate::run::site::{Site, SiteChoice};

/// The value of the key.
pub(super) const VALUE: Value = Value {
    offered: || "mapping|site|library|chunk-SIZE:all|none|SITE[+…]".to_owned(),
    is_name: str::is_empty,
    set,
    get: |settings, _| {
        let set = settings.sites.iter();
        set.map(|choice| (String::new(), choice.to_string()))
            .collect()
    },
};

fn set(settings: &mut Settings, pair: &Pair<'_>) -> Result<(), String> {
    let choice: SiteChoice = pair.value.parse()?;
    if choice.names(Site::Others) {
        return Err(format!(
            "`{}`: only `hugewise live --by mapping` has the site `others`; name the mappings",
            pair.value
        ));
    }
    match settings.sites.replace(choice) {
        None => Ok(()),
        Some(_) => Err(format!("`{}` is set twice", pair.key)),
    }
}
