//! `sites=`: the mapping sites with huge pages, by a tracer.

use super::Settings;
use super::key::{Pair, Value};

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
    match settings.sites.replace(pair.value.parse()?) {
        None => Ok(()),
        Some(_) => Err(format!("`{}` is set twice", pair.key)),
    }
}
