//! `exec --policy text=file`: the code of the command in huge pages of the page cache before it starts.

use anyhow::Result;
use hugewise_base::host::Host;
use hugewise_base::units::bytes_text;
use hugewise_experiment::run::policy::realise::Realisation;
use hugewise_linux::apply::cached_code::CachedCode;
use hugewise_linux::apply::runtime::CommandContext;
use hugewise_linux::spawn::Launch;

use crate::exit;
use crate::experiment::code_pages::is_in_cache;
use crate::stderr::message;

/// Puts the code into huge pages if the policy asks for it. They stay in the page cache, for later starts too, until the
/// kernel needs the memory.
pub fn make_huge(host: &Host, realisation: &Realisation, launch: &Launch) -> Result<()> {
    if !is_in_cache(realisation) {
        return Ok(());
    }
    let refused = |why: String| exit::refused(format!("text=file: {why}"));
    let block = host.pmd_bytes();
    let block = block.ok_or_else(|| refused("this kernel has no huge pages".to_owned()))?;
    let start = CommandContext {
        words: &launch.command,
        environment: &launch.environment,
        identity: launch.identity.as_ref(),
        directory: launch.directory.as_deref(),
    };
    let code = CachedCode::find(start, block).map_err(refused)?;
    for obstacle in code.obstacles() {
        message(format_args!("text=file: {obstacle}"));
    }
    let made = code.make_huge().map_err(refused)?;
    if made.huge < made.of {
        message(format_args!(
            "text=file: {} of {} of code are in huge pages; the rest is in use by running programs, or \
             free memory is fragmented",
            bytes_text(made.huge),
            bytes_text(made.of)
        ));
    }
    Ok(())
}
