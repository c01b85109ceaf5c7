//! One way to do something: a description and a line to paste.

use crate::command::Command;
use crate::settings::{Settings, needs_machine};
use hugewise_text::document::Field;
use hugewise_text::grid::Cell;

/// A description in words, and a line for a shell or a file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Way {
    /// Where the line belongs, or a sentence; empty if the line is self-explanatory.
    pub(super) text: String,
    /// A line that is not wrapped.
    pub(super) line: Option<String>,
}

impl Way {
    pub(super) fn new(text: impl Into<String>, line: impl Into<String>) -> Self {
        Self {
            text: text.into(),
            line: Some(line.into()),
        }
    }

    /// A command under a policy.
    pub(super) fn of_policy(policy: &str) -> Self {
        match needs_machine(policy) {
            false => Self::new(
                "this process alone",
                format!("hugewise exec --policy {policy} -- CMD"),
            ),
            true => Self::new(
                "whole machine, while one command runs, as root",
                format!("hugewise exec --system --policy {policy} -- CMD"),
            ),
        }
    }

    /// A way without a line.
    pub(super) fn sentence(text: impl Into<String>) -> Self {
        Self {
            text: text.into(),
            line: None,
        }
    }

    /// Inserts the user's command, if known.
    pub(super) fn for_command(self, command: Option<&Command>) -> Self {
        let line = self.line.map(|line| match command {
            Some(command) => command.put_into(&line),
            None => line,
        });
        Self { line, ..self }
    }

    /// Puts its purpose in front.
    pub(super) fn titled(self, title: &str) -> Self {
        let text = match self.text.is_empty() {
            true => title.to_owned(),
            false => format!("{title}, {}", self.text),
        };
        Self { text, ..self }
    }

    /// The text, ending with a colon if a line follows.
    fn heading(&self) -> Option<String> {
        let end = if self.line.is_some() { ":" } else { "" };
        (!self.text.is_empty()).then(|| format!("{}{end}", self.text))
    }

    /// A cell for the text, and one for the line.
    pub(super) fn cells(self) -> Vec<Cell> {
        let heading = self.heading().map(Cell::plain);
        heading
            .into_iter()
            .chain(self.line.map(Cell::whole))
            .collect()
    }

    /// A field for the text, and one for the line; the first has the label.
    pub(super) fn fields(self, label: &str) -> Vec<Field> {
        let Some(heading) = self.heading() else {
            let line = self.line.map(|line| Field::whole(label, line));
            return line.into_iter().collect();
        };
        let line = self.line.map(|line| Field::whole("", line));
        let heading = Field::new(label, heading);
        std::iter::once(heading).chain(line).collect()
    }
}

/// The directory with the settings of transparent huge pages.
const THP: &str = "/sys/kernel/mm/transparent_hugepage";

/// The machine settings as one command line, because they are needed together.
fn machine_wide(set: &Settings) -> Option<Way> {
    let echo = |(file, value): (&String, &String)| format!("echo {value} > {file}");
    let writes: Vec<_> = set.thp.iter().map(echo).collect();
    let thp = match &writes[..] {
        [] => None,
        [one] => Some(one.replacen("> ", &format!("> {THP}/"), 1)),
        more => Some(format!("(cd {THP} && {})", more.join(" && "))),
    };
    let sysctl = set.sysctl.iter();
    let sysctl = sysctl.map(|(name, value)| format!("sysctl -w {name}={value}"));
    let parts: Vec<_> = thp.into_iter().chain(sysctl).collect();
    (!parts.is_empty()).then(|| Way::new("whole machine, as root", parts.join(" && ")))
}

/// The ways to follow a rule. Those that affect only the process come first.
pub(super) fn ways(set: &Settings) -> Vec<Way> {
    let mut ways = Vec::new();
    if let Some(conf) = &set.conf {
        ways.push(Way::new(format!("in {}", conf.file), &conf.line));
    }
    let env = set.env.iter();
    let env: Vec<_> = env.map(|(name, value)| format!("{name}={value}")).collect();
    if !env.is_empty() {
        ways.push(Way::new("in its environment", env.join(" ")));
    }
    if !set.args.is_empty() {
        ways.push(Way::new("among its arguments", set.args.join(" ")));
    }
    ways.extend(set.own_policy().map(Way::of_policy));
    ways.extend(machine_wide(set));
    ways.extend(set.machine_policy().map(Way::of_policy));
    ways.extend(set.action.as_ref().map(Way::sentence));
    ways
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_needed_together_is_one_way() {
        let text = r#"
            policy = "thp=always,defrag=defer+madvise"
            env = { A = "1", B = "2" }
            thp = { enabled = "always", "khugepaged/max_ptes_none" = "0" }
            sysctl = { "vm.overcommit_memory" = "1" }
        "#;
        let set: Settings = toml::from_str(text).unwrap();
        let expected = [
            Way::new("in its environment", "A=1 B=2"),
            Way::new(
                "whole machine, as root",
                "(cd /sys/kernel/mm/transparent_hugepage && echo always > enabled && \
                 echo 0 > khugepaged/max_ptes_none) && sysctl -w vm.overcommit_memory=1",
            ),
            Way::new(
                "whole machine, while one command runs, as root",
                "hugewise exec --system --policy thp=always,defrag=defer+madvise -- CMD",
            ),
        ];
        assert_eq!(ways(&set), expected);
        let one: Settings = toml::from_str(r#"thp = { defrag = "never" }"#).unwrap();
        let line = "echo never > /sys/kernel/mm/transparent_hugepage/defrag";
        assert_eq!(ways(&one), [Way::new("whole machine, as root", line)]);
    }
}
