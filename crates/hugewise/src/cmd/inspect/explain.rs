//! `--explain`: explains a reason.

use anyhow::Result;
use hugewise_observe::inspect::reasons::Code;
use hugewise_text::{Style, to_text};

use crate::exit::{self, Exit};
use crate::output;
use hugewise_text::suggest::nearest;

/// Explains a reason, or lists all.
pub(super) fn explain(name: &str) -> Result<Exit> {
    if name.is_empty() {
        output::print(&to_text(&Code::list(), &Style::default()))?;
        return Ok(Exit::Done);
    }
    let near = nearest(name, Code::all().map(Code::name));
    let code = Code::named(name).ok_or_else(|| {
        exit::usage(format!(
            "--explain {name}: there is no such reason; {}--explain without a name lists them",
            near.map_or_else(String::new, |near| format!("did you mean `{near}`? "))
        ))
    })?;
    output::print(&to_text(&code.explained(), &Style::default()))?;
    Ok(Exit::Done)
}
