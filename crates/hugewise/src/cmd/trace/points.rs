//! The kernel points to trace.

use anyhow::Result;
use hugewise_linux::proc::kallsyms::Functions;
use hugewise_observe::trace::points::{Hook, Point, Preset, of_function, points};

use crate::exit;
use crate::program::running;
use hugewise_text::suggest::{hint, nearest};

/// The points for these words, each once, in table order.
pub(super) fn chosen(words: &[String], functions: &Functions) -> Result<Vec<Point>> {
    let mut presets: Vec<Preset> = Vec::new();
    let mut own = Vec::new();
    for word in words {
        match Preset::named(word) {
            Some(preset) => presets.push(preset),
            None if word == "all" => presets.extend(Preset::NAMED),
            None => own.push(named_function(word, functions)?),
        }
    }
    if words.is_empty() {
        presets.extend(Preset::RARE);
    }
    let mut all = points();
    all.retain(|point| presets.contains(&point.preset));
    for point in own {
        if !all.iter().any(|known| known.name == point.name) {
            all.push(point);
        }
    }
    Ok(all)
}

fn named_function(word: &str, functions: &Functions) -> Result<Point> {
    if let Some(pid) = running(word) {
        return Err(exit::usage(format!(
            "{pid} is a process, not a point of the kernel; write: -p {pid}"
        )));
    }
    let point = of_function(word);
    let names = point.means.iter().flat_map(|means| match means {
        Hook::Function { names, .. } => names.clone(),
        _ => Vec::new(),
    });
    if functions.is_empty() || functions.find(names).is_some() {
        return Ok(point);
    }
    let presets = Preset::NAMED.iter().map(|preset| preset.name());
    let hint = match (nearest(word, presets), functions.like(word)) {
        (Some(preset), _) => format!("did you mean `{preset}`?"),
        (None, similar) if similar.is_empty() => "it may be inlined into its callers".to_owned(),
        (None, similar) => hint(word, similar),
    };
    Err(exit::usage(format!(
        "`{word}` is neither a preset nor a function of this kernel; {hint}"
    )))
}
