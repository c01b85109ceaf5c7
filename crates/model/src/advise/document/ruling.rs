//! One rule: its row on the first screen, and all that is known of it.

use crate::advise::measured::Belief;
use crate::advise::ruling::{Ruling, Standing};
use crate::advise::settings::Settings;
use crate::text::Tone;
use crate::text::document::{Field, Paragraph};
use crate::text::grid::Cell;

impl Ruling {
    pub(super) fn tone(&self) -> Tone {
        match self.standing {
            Standing::Breaks | Standing::NotFollowed => Tone::Bad,
            Standing::Followed => Tone::Good,
            _ => Tone::Plain,
        }
    }

    pub(super) fn row(&self) -> Vec<Cell> {
        vec![
            Cell::plain(self.standing.words()).tone(self.tone()),
            Cell::plain(format!("{} [{}]", self.words(), self.authority())),
        ]
    }

    /// Reason, means and test below its row.
    pub(super) fn brief(&self) -> Vec<Vec<Cell>> {
        let means = self
            .set
            .as_ref()
            .and_then(|set| means(set).into_iter().next());
        let lines = [Some(self.why.clone()), means, self.evidence(), self.test()];
        let lines = lines.into_iter().flatten();
        lines
            .map(|line| vec![Cell::plain(""), Cell::plain(line)])
            .collect()
    }

    /// What was measured of it: here, else elsewhere.
    fn evidence(&self) -> Option<String> {
        if let Some(measured) = self.measured_words() {
            return Some(format!("Measured here: {measured}"));
        }
        let tried = self.tested.first()?;
        Some(format!("Measured elsewhere, {}", tried.words()))
    }

    fn test(&self) -> Option<String> {
        Some(format!("To test it: {}", self.experiment.as_ref()?))
    }

    pub(super) fn paragraph(&self) -> Paragraph {
        let standing = match &self.missing {
            Some(fact) => format!("{}, {fact} is not known", self.standing.words()),
            None => self.standing.words().to_owned(),
        };
        Paragraph::new(format!("{} ({standing}; {})", self.says, self.id)).tone(Tone::Strong)
    }

    pub(super) fn fields(&self) -> Vec<Field> {
        let mut fields = vec![Field::new("Why", &self.why)];
        let mut add = |label: &str, text: Option<String>| {
            fields.extend(text.map(|text| Field::new(label, text)));
        };
        // What is no longer said is not to be followed.
        let set = self
            .set
            .as_ref()
            .filter(|_| self.standing != Standing::Past);
        let set = set.map(means).unwrap_or_default();
        for (place, means) in set.into_iter().enumerate() {
            add(if place == 0 { "How" } else { "or" }, Some(means));
        }
        add("Costs", self.costs.clone());
        add(
            "Changes",
            Some(self.effects.words()).filter(|words| !words.is_empty()),
        );
        add("Measured here", self.measured_words());
        if self.tested.is_empty() {
            add("Tried", Some("never by us".to_owned()));
        }
        for tried in &self.tested {
            let test = &tried.test;
            let machine = tried.machine.as_deref().unwrap_or("another machine");
            let place = format!("{machine}, {} ({})", test.date, test.record);
            add(
                "Measured elsewhere",
                Some(format!("{}; {place}", tried.words())),
            );
        }
        add("Test", self.experiment.clone());
        add("Said by", Some(self.authority()));
        add("Compared", Some(self.comparison()));
        add("Now", self.superseded_by.clone());
        add("Source", Some(self.sources.join(" ")));
        fields
    }

    /// With what it was compared and when, or why it was not.
    fn comparison(&self) -> String {
        let day = &self.checked;
        match (&self.compared, &self.uncompared) {
            (Some(with), _) => format!("on {day}, with {with}"),
            (None, Some(why)) => format!("not with its source: {why}"),
            (None, None) => format!("not said; its source was read on {day}"),
        }
    }

    fn measured_words(&self) -> Option<String> {
        let measured = self.measured.as_ref()?;
        let belief = match self.belief {
            Some(Belief::Confirmed) => "confirms it: ",
            Some(Belief::Refuted) => "refutes it: ",
            None => "",
        };
        Some(format!(
            "{belief}{} ({})",
            measured.words(),
            measured.record
        ))
    }
}

/// Where the settings of transparent huge pages are.
const THP: &str = "/sys/kernel/mm/transparent_hugepage";

/// The settings of the machine as one command line; they are needed together.
fn machine_wide(set: &Settings) -> Option<String> {
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
    (!parts.is_empty()).then(|| format!("whole machine: {}", parts.join(" && ")))
}

/// How to follow a rule, each a way of its own, what reaches the process alone first.
fn means(set: &Settings) -> Vec<String> {
    let mut means = Vec::new();
    if let Some(conf) = &set.conf {
        means.push(format!("in {}: {}", conf.file, conf.line));
    }
    let env = set.env.iter();
    let env: Vec<_> = env.map(|(name, value)| format!("{name}={value}")).collect();
    if !env.is_empty() {
        means.push(format!("environment: {}", env.join(" ")));
    }
    if !set.args.is_empty() {
        means.push(format!("arguments: {}", set.args.join(" ")));
    }
    if let Some(policy) = set.own_policy() {
        means.push(format!(
            "this process alone: hugewise exec --policy {policy} -- COMMAND"
        ));
    }
    means.extend(machine_wide(set));
    if let Some(policy) = set.machine_policy() {
        means.push(format!(
            "whole machine, for one command: hugewise exec --system --policy {policy} -- COMMAND"
        ));
    }
    means.extend(set.action.clone());
    means
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
            "environment: A=1 B=2",
            "whole machine: (cd /sys/kernel/mm/transparent_hugepage && echo always > enabled && \
             echo 0 > khugepaged/max_ptes_none) && sysctl -w vm.overcommit_memory=1",
            "whole machine, for one command: hugewise exec --system --policy \
             thp=always,defrag=defer+madvise -- COMMAND",
        ];
        assert_eq!(means(&set), expected);
        let one: Settings = toml::from_str(r#"thp = { defrag = "never" }"#).unwrap();
        let expected = "whole machine: echo never > /sys/kernel/mm/transparent_hugepage/defrag";
        assert_eq!(means(&one), [expected]);
    }
}
