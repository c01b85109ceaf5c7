//! Finds a process by its PID or by the name of its program.

use hugewise_linux::machine::root::Root;
use hugewise_linux::observe::address_space::{find_named, list_processes};
use hugewise_linux::proc::process::read_command_line;
use hugewise_text::suggest::suggestion;
use hugewise_text::wrap::{plain, shortened};

/// Maximum width of a command line in a list of processes.
const COMMAND: usize = 60;

/// The single process that a word selects, for a flag such as `-p`.
pub fn parse_process(word: &str) -> Result<u32, String> {
    let root = Root::real();
    match named(&root, word)?[..] {
        [pid] => Ok(pid),
        ref pids => Err(several(&root, pids)),
    }
}

/// The processes that a word selects: the one with that PID, which may have ended, or all with that name. A name never
/// selects this program.
pub fn named(root: &Root, word: &str) -> Result<Vec<u32>, String> {
    if let Ok(pid) = word.parse() {
        return Ok(vec![pid]);
    }
    let own = std::process::id();
    let mut pids = find_named(root, word).map_err(|error| error.to_string())?;
    pids.retain(|&pid| pid != own);
    if pids.is_empty() {
        return Err(format!("no process has that name{}", alike(root, word)));
    }
    Ok(pids)
}

/// A similar process name, as a hint.
fn alike(root: &Root, word: &str) -> String {
    let pids = list_processes(root).unwrap_or_default();
    let names = pids.iter();
    let names = names.filter_map(|pid| root.read_trimmed(format!("proc/{pid}/comm")).ok());
    let names: Vec<String> = names.collect();
    match suggestion(word, names.iter().map(String::as_str)) {
        near if near.is_empty() => "; use a PID or the name that ps shows".to_owned(),
        near => near,
    }
}

fn several(root: &Root, pids: &[u32]) -> String {
    let lines = pids.iter().map(|&pid| {
        let command = plain(&read_command_line(root, pid));
        format!("\n  {pid}  {}", shortened(&command, COMMAND))
            .trim_end()
            .to_owned()
    });
    let lines: String = lines.collect();
    format!("{} processes have that name; use a PID:{lines}", pids.len())
}
