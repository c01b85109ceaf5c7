//! Settings of an application's configuration file, as far as rules ask for them.

use hugewise_model::advise::fact::Facts;
use hugewise_model::advise::knowledge::Knowledge;
use hugewise_model::advise::observed::settings;
use hugewise_model::advise::subject::Subject;

use super::process::Process;
use crate::machine::root::Root;

/// Ends of names of configuration files.
const ENDS: [&str; 6] = [".conf", ".cnf", ".cfg", ".ini", ".yml", ".yaml"];

/// `conf.NAME` of the first file that can be read, and what is so where it says nothing.
pub(super) fn facts(
    root: &Root,
    subject: &Subject,
    knowledge: &Knowledge,
    process: &Process,
) -> Facts {
    let mut facts = Facts::default();
    let configuration = subject
        .detect
        .as_ref()
        .and_then(|detect| detect.conf.as_ref());
    let Some(configuration) = configuration else {
        return facts;
    };
    for (name, value) in &configuration.defaults {
        facts.set(format!("conf.{name}"), value.as_str());
    }
    let files = configuration
        .files
        .iter()
        .filter_map(|name| path(name, process));
    let text = files.into_iter().find_map(|path| process.file(root, &path));
    let text = text.unwrap_or_default();
    for (name, value) in settings(&String::from_utf8_lossy(&text)) {
        let name = format!("conf.{name}");
        if knowledge.asks_for(&name) {
            facts.set(name, value);
        }
    }
    facts
}

/// The path that a name of the knowledge stands for in this process.
fn path(name: &str, process: &Process) -> Option<String> {
    let folder = process.folder.as_deref().unwrap_or_default();
    if name == "{arg}" {
        let words = process
            .traces
            .argv
            .iter()
            .flat_map(|word| word.split(['=', ' ']));
        let mut named = words.filter(|word| ENDS.iter().any(|end| word.ends_with(end)));
        let named = named.next()?;
        return Some(match named.starts_with('/') {
            true => named.to_owned(),
            false => format!("{folder}/{named}"),
        });
    }
    Some(name.replace("{cwd}", folder))
}
