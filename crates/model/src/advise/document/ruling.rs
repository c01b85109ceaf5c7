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
        let set = self.set.as_ref().map(means).unwrap_or_default();
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

/// How to follow a rule, what reaches the process alone first.
fn means(set: &Settings) -> Vec<String> {
    let mut means = Vec::new();
    if let Some(conf) = &set.conf {
        means.push(format!("in {}: {}", conf.file, conf.line));
    }
    for (name, value) in &set.env {
        means.push(format!("environment: {name}={value}"));
    }
    if !set.args.is_empty() {
        means.push(format!("arguments: {}", set.args.join(" ")));
    }
    if let Some(policy) = set.own_policy() {
        means.push(format!(
            "this process alone: hugewise exec --policy {policy} -- COMMAND"
        ));
    }
    let thp = set.thp.iter();
    means.extend(thp.map(|(file, value)| {
        format!("whole machine: echo {value} > /sys/kernel/mm/transparent_hugepage/{file}")
    }));
    let sysctl = set.sysctl.iter();
    means.extend(sysctl.map(|(name, value)| format!("whole machine: sysctl -w {name}={value}")));
    if let Some(policy) = set.machine_policy() {
        means.push(format!(
            "whole machine, for one command: hugewise exec --system --policy {policy} -- COMMAND"
        ));
    }
    means.extend(set.action.clone());
    means
}
