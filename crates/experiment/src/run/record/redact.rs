//! Removes everything that identifies the machine from a record, so that it can be shared.

use std::fmt;

use regex::{Captures, Regex};
use serde_json::{Map, Value};

use super::{Line, to_line};
use crate::base::jsonl::{LineError, lines};

/// The replacement for a host name.
const HOST: &str = "HOST";
/// The replacement for a user's folder.
const HOME: &str = "~";
/// The replacement for a value.
const VALUE: &str = "…";
/// A shorter host name would match inside too many words.
const SHORTEST: usize = 3;

/// Private names of this machine, in addition to the generic ones.
#[derive(Clone, Copy, Debug, Default)]
pub struct Private<'a> {
    /// Name of the host.
    pub host_name: &'a str,
    /// Folder of the user, if it is neither `/root` nor below `/home`.
    pub home: &'a str,
}

/// The number of removals of each kind.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Removed {
    /// Boot lines of the kernel.
    pub boot_lines: usize,
    /// Host names.
    pub host_names: usize,
    /// Folders of users, in paths.
    pub homes: usize,
    /// Values of environment variables.
    pub values: usize,
    /// Ends of stderr.
    pub stderr_tails: usize,
    /// Paths of control groups, which contain names of users, services and containers.
    pub groups: usize,
}

/// The lines of a record without the boot line, host name, user folders, path of the control group, values of
/// environment variables, and stderr of trials. Settings of policies stay, because they are what is compared.
///
/// # Errors
/// Fails if the bytes are not a record. A torn last line is dropped.
pub fn redact(bytes: &[u8], private: Private<'_>) -> Result<(Vec<u8>, Removed), LineError> {
    let mut redaction = Redaction::new(private);
    let mut redacted = Vec::new();
    for raw in lines(bytes) {
        let Some(line) = raw.read::<Line>()? else {
            break;
        };
        let mut value: Value = serde_json::from_str(&to_line(&line))
            .map_err(|error| LineError::misplaced(raw.number, error.to_string()))?;
        redaction.clean(&mut value);
        redacted.extend(value.to_string().into_bytes());
        redacted.push(b'\n');
    }
    Ok((redacted, redaction.removed))
}

struct Redaction {
    host_name: Option<Regex>,
    home: Regex,
    assignment: Regex,
    removed: Removed,
}

impl Redaction {
    fn new(private: Private<'_>) -> Self {
        let pattern = |text: &str| Regex::new(text).expect("what is not ours is escaped");
        let own = match private.home.trim_end_matches('/') {
            "" => String::new(),
            home => format!("|{}\\b", regex::escape(home)),
        };
        let named = private.host_name.len() >= SHORTEST && private.host_name != "localhost";
        let host_name = format!("\\b{}\\b", regex::escape(private.host_name));
        Self {
            host_name: named.then(|| pattern(&host_name)),
            home: pattern(&format!(
                "(^|[^A-Za-z0-9_./-])(?:/home/[^/\\s:'\"=,;]+|/root\\b{own})"
            )),
            assignment: pattern("(^|[\\s'\"])([A-Z_][A-Z0-9_]*)=([^\\s'\"]+)"),
            removed: Removed::default(),
        }
    }

    fn clean(&mut self, value: &mut Value) {
        match value {
            Value::String(text) => *text = self.cleaned(text),
            Value::Array(values) => values.iter_mut().for_each(|value| self.clean(value)),
            Value::Object(object) => {
                let whole = std::mem::take(object);
                *object = whole
                    .into_iter()
                    .filter_map(|(key, value)| self.entry(&key, value))
                    .collect::<Map<_, _>>();
            }
            Value::Null | Value::Bool(_) | Value::Number(_) => {}
        }
    }

    /// A key and its value; `None` to remove both.
    fn entry(&mut self, key: &str, mut value: Value) -> Option<(String, Value)> {
        match (key, &mut value) {
            ("boot_line", Value::String(line)) if !line.is_empty() => {
                self.removed.boot_lines += 1;
                line.clear();
            }
            ("stderr_tail", Value::String(_)) => {
                self.removed.stderr_tails += 1;
                return None;
            }
            ("environment", Value::Object(variables)) => {
                self.removed.values += variables.len();
                let variables = variables.values_mut();
                variables.for_each(|value| *value = Value::from(VALUE));
            }
            ("cgroup", Value::Object(group)) => self.hide_path(group),
            _ => self.clean(&mut value),
        }
        Some((self.cleaned(key), value))
    }

    /// The root group is the same on every machine.
    fn hide_path(&mut self, group: &mut Map<String, Value>) {
        if let Some(Value::String(path)) = group.get_mut("path")
            && path != "/"
        {
            self.removed.groups += 1;
            *path = VALUE.to_owned();
        }
    }

    fn cleaned(&mut self, text: &str) -> String {
        let removed = &mut self.removed;
        let text = self.assignment.replace_all(text, |found: &Captures<'_>| {
            removed.values += 1;
            format!("{}{}={VALUE}", &found[1], &found[2])
        });
        let text = self.home.replace_all(&text, |found: &Captures<'_>| {
            removed.homes += 1;
            format!("{}{HOME}", &found[1])
        });
        let Some(host_name) = &self.host_name else {
            return text.into_owned();
        };
        let text = host_name.replace_all(&text, |_: &Captures<'_>| {
            removed.host_names += 1;
            HOST
        });
        text.into_owned()
    }
}

impl fmt::Display for Removed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let counts = [
            (self.boot_lines, ["boot line", "boot lines"]),
            (self.host_names, ["host name", "host names"]),
            (self.homes, ["home folder", "home folders"]),
            (self.values, ["value of a variable", "values of variables"]),
            (self.stderr_tails, ["end of stderr", "ends of stderr"]),
            (
                self.groups,
                ["path of a control group", "paths of control groups"],
            ),
        ];
        let found = counts.iter().filter(|(count, _)| *count > 0);
        let found = found.map(|(count, nouns)| (count, nouns[usize::from(*count > 1)]));
        let texts: Vec<String> = found
            .map(|(count, noun)| format!("{count} {noun}"))
            .collect();
        match texts.is_empty() {
            true => f.write_str("nothing"),
            false => f.write_str(&texts.join(", ")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cleaned(text: &str) -> (String, Removed) {
        let mut redaction = Redaction::new(Private {
            host_name: "db1.example",
            home: "/srv/ann/",
        });
        (redaction.cleaned(text), redaction.removed)
    }

    #[test]
    fn folders_hosts_and_values_go_and_all_else_stays() {
        for (text, expected) in [
            ("/home/ann/bin/prog", "~/bin/prog"),
            ("/root/x:/root/y,/srv/ann/z", "~/x:~/y,~/z"),
            (
                "env TOKEN=abc ./prog --size=10",
                "env TOKEN=… ./prog --size=10",
            ),
            ("env.TOKEN=abc", "env.TOKEN=abc"),
            ("psql -h db1.example", "psql -h HOST"),
            ("/mnt/home/ann /rootfs", "/mnt/home/ann /rootfs"),
            ("thp=always", "thp=always"),
        ] {
            assert_eq!(cleaned(text).0, expected);
        }
        let counts = cleaned("A=1 /home/b/c db1.example").1;
        assert_eq!(
            counts.to_string(),
            "1 host name, 1 home folder, 1 value of a variable"
        );
        assert_eq!(cleaned("sort").1.to_string(), "nothing");
    }

    #[test]
    fn the_path_of_a_control_group_goes_unless_it_is_the_root() {
        let path = |text: &str| {
            let mut redaction = Redaction::new(Private::default());
            let mut value = serde_json::json!({"cgroup": {"version": 2, "path": text}});
            redaction.clean(&mut value);
            let left = value["cgroup"]["path"].as_str().map(str::to_owned);
            (left.expect("a path"), redaction.removed.groups)
        };
        assert_eq!(path("/user.slice/user-1000.slice"), ("…".to_owned(), 1));
        assert_eq!(path("/"), ("/".to_owned(), 0));
    }
}
