//! `--explain`: what a reason means.

use anyhow::Result;
use hugewise_model::observe::inspect::reasons::Code;

use crate::exit::{self, Exit};
use crate::output;
use hugewise_model::text::suggest::nearest;

/// Explains a reason, or lists all.
pub(super) fn explain(name: &str) -> Result<Exit> {
    if name.is_empty() {
        let line = |code: Code| format!("{:<21}{}\n", code.name(), code.sentence());
        output::print(&Code::all().map(line).collect::<String>())?;
        return Ok(Exit::Done);
    }
    let near = nearest(name, Code::all().map(Code::name));
    let code = Code::named(name).ok_or_else(|| {
        exit::usage(format!(
            "--explain {name}: there is no such reason; {}--explain alone lists them all",
            near.map_or_else(String::new, |near| format!("did you mean `{near}`? "))
        ))
    })?;
    output::print(&code.explained(80))?;
    Ok(Exit::Done)
}
