//! The verbs in groups, as the help lists them.

use std::fmt::Write as _;

use clap::Command;

/// Each group with its verbs in the order of the help. Verbs that this program is built without are left out.
const GROUPS: [(&str, &[&str]); 7] = [
    (
        "Measure",
        &["run", "live", "report", "history", "attribute"],
    ),
    (
        "Look",
        &["inspect", "stat", "faults", "trace", "simulate", "misses"],
    ),
    ("Act", &["exec", "collapse"]),
    ("Advise", &["doctor", "advise"]),
    ("Operate", &["watch", "export", "fleet"]),
    ("Laboratory", &["bench"]),
    ("Shell", &["man", "completions", "help"]),
];

/// The help of the verb that clap adds.
const HELP: &str = "Print this help, or that of a verb";

/// Lists the verbs of a command by group in its help.
pub(super) fn listed(command: Command) -> Command {
    let list = list(&command);
    let template = format!(
        "{{about}}\n{list}\
         {{usage-heading}} {{usage}}; options -h, -V. Start: hugewise run -- ./your-program{{after-help}}"
    );
    command.help_template(template)
}

fn list(command: &Command) -> String {
    let styles = command.get_styles();
    let (header, literal) = (styles.get_header(), styles.get_literal());
    let mut list = String::new();
    for (group, verbs) in GROUPS {
        let told = verbs
            .iter()
            .filter_map(|verb| Some((verb, meaning(command, verb)?)));
        for (row, (verb, meaning)) in told.enumerate() {
            let group = if row == 0 { group } else { "" };
            // Infallible: writing to a String cannot fail.
            let _ = writeln!(
                list,
                "{header}{group:<12}{header:#}{literal}{verb:<12}{literal:#}{meaning}"
            );
        }
    }
    list
}

/// Returns the line of a verb; `None` for one that this program is built without.
fn meaning(command: &Command, verb: &str) -> Option<String> {
    if verb == "help" {
        return Some(HELP.to_owned());
    }
    let about = command.find_subcommand(verb)?.get_about()?;
    Some(about.to_string())
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use clap::CommandFactory;

    use super::*;
    use crate::cli::Cli;

    #[test]
    fn each_verb_is_in_one_group() {
        let command = Cli::command();
        let mut known: Vec<&str> = command.get_subcommands().map(Command::get_name).collect();
        known.push("help");
        let grouped = GROUPS.iter().flat_map(|(_, verbs)| verbs.iter().copied());
        let grouped: Vec<&str> = grouped.filter(|verb| known.contains(verb)).collect();
        assert_eq!(grouped.len(), known.len());
        let (known, grouped): (BTreeSet<_>, BTreeSet<_>) =
            (known.into_iter().collect(), grouped.into_iter().collect());
        assert_eq!(known, grouped);
    }
}
