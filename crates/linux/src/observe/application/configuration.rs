//! Reads the settings that rules ask for from an application's configuration files and arguments.

use std::collections::BTreeSet;

use hugewise_advise::fact::Facts;
use hugewise_advise::knowledge::Knowledge;
use hugewise_advise::observed::{settings, settings_of_words};
use hugewise_advise::subject::Subject;

use super::process::{Process, Reading};
use crate::machine::root::Root;

/// Suffixes of configuration file names.
const ENDS: [&str; 6] = [".conf", ".cnf", ".cfg", ".ini", ".yml", ".yaml"];

/// The deepest nesting of included files that is followed.
const DEEPEST: usize = 3;

/// Returns `conf.NAME` from the first file that exists, then from the files that override it, then from the arguments;
/// later values replace earlier ones. A setting that is not given gets its default, but only if all these sources could
/// be read.
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
    let paths = |names: &[String]| -> Vec<String> {
        let paths = names.iter().filter_map(|name| path(name, process));
        paths.collect()
    };
    let read = |path: &String| {
        let mut files = Files {
            root,
            process,
            read: BTreeSet::new(),
            all: Vec::new(),
        };
        files.read(path, DEEPEST);
        files.all
    };
    let own = paths(&configuration.files);
    let own = own.iter().map(read);
    let own = own
        .filter(|readings| readings[..] != [Reading::Absent])
        .take(1);
    let overrides = paths(&configuration.overrides);
    let readings: Vec<_> = own.chain(overrides.iter().map(read)).flatten().collect();
    let texts: Vec<_> = readings.iter().filter_map(Reading::text).collect();
    let is_complete = process.words().is_some() && !readings.contains(&Reading::Refused);
    if is_complete {
        for (name, value) in &configuration.defaults {
            facts.set(format!("conf.{name}"), value.as_str());
        }
    }
    let said = texts.iter().flat_map(|text| settings(text));
    let said = said.map(|(name, value)| (name.to_owned(), value.to_owned()));
    let words = process.words().unwrap_or_default();
    for (name, value) in said.chain(settings_of_words(words)) {
        let name = format!("conf.{name}");
        if knowledge.asks_for(&name) {
            facts.set(name, value);
        }
    }
    facts
}

/// The maximum number of include lines per file; a file with more is not treated as a configuration.
const MOST_INCLUDES: usize = 100;

/// A configuration file and the files that it includes.
struct Files<'a> {
    root: &'a Root,
    process: &'a Process,
    /// The files read so far, by device and inode number.
    read: BTreeSet<(u64, u64)>,
    all: Vec<Reading>,
}

impl Files<'_> {
    fn read(&mut self, path: &str, deepest: usize) {
        let reading = self.process.reading(self.root, path);
        let Reading::Read(text, identity) = &reading else {
            return self.all.push(reading);
        };
        // A file that includes itself, under any name, would never end.
        if !self.read.insert(*identity) {
            return self.all.push(Reading::Refused);
        }
        let included = self.included(path, text);
        self.all.push(reading);
        for file in included {
            match file.filter(|_| deepest > 0) {
                Some(file) => self.read(&file, deepest - 1),
                None => self.all.push(Reading::Refused),
            }
        }
    }

    /// Returns the files that a text includes; `None` for an include that is not followed.
    fn included(&self, path: &str, text: &str) -> Vec<Option<String>> {
        let folder = path.rsplit_once('/').map_or("", |(folder, _)| folder);
        let mut files = Vec::new();
        for (name, value) in settings(text) {
            let named = match value.starts_with('/') {
                true => value.to_owned(),
                false => format!("{folder}/{value}"),
            };
            match name {
                "include" | "include_if_exists" | "include_dir" if value.contains('*') => {
                    files.push(None);
                }
                "include_dir" => {
                    let below = self.process.configurations_in(self.root, &named);
                    files.extend(below.into_iter().map(Some));
                }
                "include" | "include_if_exists" => files.push(Some(named)),
                _ => {}
            }
            if files.len() > MOST_INCLUDES {
                files.truncate(MOST_INCLUDES);
                files.push(None);
                break;
            }
        }
        files
    }
}

/// Expands a file name from the knowledge base to a path of this process.
fn path(name: &str, process: &Process) -> Option<String> {
    let words = process.words().unwrap_or_default();
    if name == "{arg}" {
        let words = words.iter().flat_map(|word| word.split(['=', ' ']));
        let mut named = words.filter(|word| ENDS.iter().any(|end| word.ends_with(end)));
        return process.absolute(named.next()?);
    }
    if let Some(file) = name.strip_prefix("{data}/") {
        // A running server uses its working directory; a command names the directory with `-D` or `PGDATA`.
        let named = words.iter().position(|word| word == "-D");
        let named = named.and_then(|at| words.get(at + 1));
        let folder = match (process.pid, named) {
            (Some(_), _) => process.folder.clone()?,
            (None, Some(folder)) => process.absolute(folder)?,
            (None, None) => process.environment.as_ref()?.get("PGDATA")?.clone(),
        };
        return Some(format!("{folder}/{file}"));
    }
    Some(name.to_owned())
}

#[cfg(test)]
mod tests {
    use std::ffi::OsStr;

    use super::*;
    use crate::machine::root::machine_of;

    /// Returns `huge_pages` for a PostgreSQL command that has not been started.
    fn huge_pages(files: &[(&str, &str)], words: &[&str]) -> Option<String> {
        let all = [("usr/bin/postgres", "")]
            .into_iter()
            .chain(files.iter().copied());
        let (_folder, root) = machine_of(&all.collect::<Vec<_>>());
        let knowledge = Knowledge::compiled().expect("the knowledge is right");
        let words = words.iter().map(|&word| word.to_owned()).collect();
        let program = OsStr::new("/usr/bin/postgres");
        let process = Process::of_command(&root, &knowledge, program, words).expect("a program");
        let subject = knowledge.subject("postgresql").expect("a subject");
        let facts = facts(&root, subject, &knowledge, &process);
        facts.text("conf.huge_pages").map(str::to_owned)
    }

    #[test]
    fn what_nothing_says_has_its_default_where_all_is_known() {
        let data = &["-D", "/d"][..];
        let conf = |text| ("d/postgresql.conf", text);
        let told = |files: &[(&str, &str)]| huge_pages(files, data);
        assert_eq!(told(&[conf("port = 1\n")]).as_deref(), Some("try"));
        assert_eq!(told(&[conf("huge_pages = on\n")]).as_deref(), Some("on"));
        let auto = ("d/postgresql.auto.conf", "huge_pages = 'off'\n");
        assert_eq!(
            told(&[conf("huge_pages = on\n"), auto]).as_deref(),
            Some("off")
        );
        let words = ["-D", "/d", "-c", "huge_pages=on"];
        assert_eq!(huge_pages(&[conf(""), auto], &words).as_deref(), Some("on"));
        let more = conf("include_dir = 'conf.d'\n");
        assert_eq!(told(&[more]).as_deref(), Some("try"));
        let own = ("d/conf.d/a.conf", "huge_pages = off\n");
        assert_eq!(told(&[more, own]).as_deref(), Some("off"));
        // A directory at the path of the file cannot be read.
        assert_eq!(told(&[("d/postgresql.conf/x", "")]), None);
        assert_eq!(told(&[conf("include = 'b/*.conf'\n")]), None);
        assert_eq!(told(&[conf("include = 'postgresql.conf'\n")]), None);
    }
}
