//! One rule: its row on the first screen, and its details.

use std::iter::{once, repeat};

use super::howto::{Way, ways};
use crate::command::{Command, PLACE};
use crate::condition::unknown;
use crate::measured::Belief;
use crate::ruling::{Ruling, Standing};
use crate::settings::Settings;
use crate::subject::SubjectKind;
use hugewise_experiment::run::plan::arguments::holds;
use hugewise_experiment::run::policy::Policy;
use hugewise_text::Tone;
use hugewise_text::document::{Field, Paragraph};
use hugewise_text::grid::Cell;
use hugewise_text::wrap::{capitalised, quoted};

/// The commands that can be run repeatedly.
const COMMANDS: &str = "if the command exits (a server: hugewise run --service)";

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
            Cell::plain(format!(
                "{}{}{} [{}]",
                self.words(),
                self.reason(),
                self.trial_here(),
                self.authority()
            )),
        ]
    }

    /// The reason for its standing: the differences, or the unknown facts.
    fn reason(&self) -> String {
        match (self.standing, &self.missing, &self.differs[..]) {
            (Standing::Open, Some(fact), _) => {
                format!(" {}", unknown(fact))
            }
            (Standing::NotFollowed, _, [_, ..]) => format!(" Here {}.", self.differs.join(", ")),
            _ => String::new(),
        }
    }

    /// The result on this machine, if it is undecided whether the rule applies. Other rules have the result below their
    /// row.
    fn trial_here(&self) -> String {
        let measured = self.measured.as_ref();
        match measured.filter(|_| self.standing == Standing::Unknown) {
            Some(measured) => format!(" Tried here: {}.", measured.verdict()),
            None => String::new(),
        }
    }

    /// Reason, mechanism and test, below its row.
    pub(super) fn brief(&self, command: Option<&Command>) -> Vec<Vec<Cell>> {
        let set = self.set.as_ref();
        let means = set.and_then(|set| ways(set).into_iter().next());
        let means = means.map(|way| way.for_command(command));
        let test = self.test(command).map(|way| way.titled("To test it"));
        let evidence = self.evidence().map(Way::sentence);
        let ways = [Some(Way::sentence(self.why.clone())), means, evidence, test];
        let cells = ways.into_iter().flatten().flat_map(Way::cells);
        cells.map(|cell| vec![Cell::plain(""), cell]).collect()
    }

    /// The line that tries its arguments, if only a measurement can decide whether it applies. Applications with kept
    /// rules serve requests, while runtimes start commands.
    pub(super) fn trial(
        &self,
        command: Option<&Command>,
        kind: Option<SubjectKind>,
    ) -> Vec<Vec<Cell>> {
        let set = self
            .set
            .as_ref()
            .filter(|_| self.standing == Standing::Unknown);
        let has_them =
            |policy: &Policy| command.is_some_and(|it| holds(&it.words, &policy.settings.args));
        let policy = set.and_then(Settings::arguments_policy);
        let Some(policy) = policy.filter(|policy| !has_them(policy)) else {
            return Vec::new();
        };
        let flag = quoted(&format!("--policy={policy}"));
        let way = match (kind, command) {
            (Some(SubjectKind::Application), Some(command)) => Way::new(
                "with your load for LOAD",
                format!(
                    "hugewise run {flag} --load LOAD --service {}",
                    quoted(&command.line())
                ),
            ),
            _ => Way::new(COMMANDS, format!("hugewise run {flag} -- {PLACE}")),
        };
        let cells = way.titled("To test it").for_command(command).cells();
        let rows = cells.into_iter().map(|cell| vec![Cell::plain(""), cell]);
        rows.collect()
    }

    /// The measured evidence: on this machine, or else by the project on other machines.
    fn evidence(&self) -> Option<String> {
        if let Some(measured) = self.measured_words() {
            return Some(format!("Tried here: {measured}"));
        }
        let tried = self.tested.first()?;
        Some(format!("Tried by us, {}", tried.words()))
    }

    /// The command line that tests it, and its requirements.
    fn test(&self, command: Option<&Command>) -> Option<Way> {
        let line = self.experiment.as_ref()?;
        let text = match line {
            line if line.contains(" examples/") => "in the folder of hugewise's sources",
            line if !line.ends_with(PLACE) => "",
            _ if command.is_none() => "with your command for CMD, which has to exit",
            _ => COMMANDS,
        };
        let way = Way {
            text: text.to_owned(),
            line: Some(line.clone()),
        };
        Some(way.for_command(command))
    }

    pub(super) fn paragraph(&self) -> Paragraph {
        let text = format!(
            "{}: {}{} (rule {})",
            capitalised(self.standing.words()),
            self.words(),
            self.reason(),
            self.id
        );
        Paragraph::new(text).tone(Tone::Strong)
    }

    pub(super) fn fields(&self, command: Option<&Command>) -> Vec<Field> {
        let said = |label: &str, text: Option<String>| text.map(|text| Field::new(label, text));
        let here = Some(self.here.join("; ")).filter(|words| !words.is_empty());
        let mut fields = vec![Field::new("Why", &self.why)];
        fields.extend(said("Here", here));
        // A setting that is already active need not be set.
        if self.standing != Standing::Followed {
            fields.extend(self.means(command));
        }
        fields.extend(said("Costs", self.costs.clone()));
        fields.extend(said("Effect", self.claim()));
        fields.extend(said("Tried here", self.measured_words()));
        if self.tested.is_empty() {
            fields.push(Field::new("Tried", "never by us"));
        }
        let tried = self
            .tested
            .iter()
            .map(|it| Field::new("Tried", it.account()));
        fields.extend(tried);
        let test = self.test(command).map(|way| way.fields("Test"));
        fields.extend(test.unwrap_or_default());
        fields.push(Field::new("Said by", self.authority()));
        fields.push(Field::new("Checked", self.comparison()));
        fields.extend(said("Replaced by", self.superseded_by.clone()));
        let labels = once("Source").chain(repeat(""));
        let sources = labels.zip(&self.sources);
        fields.extend(sources.map(|(label, source)| Field::whole(label, source)));
        fields
    }

    /// How to follow it; empty for a rule that is no longer valid.
    fn means(&self, command: Option<&Command>) -> Vec<Field> {
        let set = self
            .set
            .as_ref()
            .filter(|_| self.standing != Standing::Past);
        let ways = set.map(ways).unwrap_or_default().into_iter();
        let labels = once("How").chain(repeat("or"));
        let fields = labels.zip(ways);
        fields
            .flat_map(|(label, way)| way.for_command(command).fields(label))
            .collect()
    }

    /// The claimed effects, and the authority.
    fn claim(&self) -> Option<String> {
        let words = self.effects.words();
        (!words.is_empty()).then(|| format!("{}: {words}", self.by.says()))
    }

    /// The source that it was compared with and the date, or why it was not.
    fn comparison(&self) -> String {
        let day = &self.checked;
        match (&self.compared, &self.uncompared) {
            (Some(with), _) => format!("on {day} against {with}"),
            (None, Some(why)) => format!("not against its source: {why}"),
            (None, None) => format!("not said; its source was read on {day}"),
        }
    }

    fn measured_words(&self) -> Option<String> {
        let measured = self.measured.as_ref()?;
        let belief = match self.belief {
            Some(Belief::Confirmed) => "confirms it: ",
            Some(Belief::Refuted) => "refutes it: ",
            None if measured.outcome.is_none() => "not decided: ",
            None => "",
        };
        Some(format!(
            "{belief}{} ({})",
            measured.words()?,
            measured.record
        ))
    }
}
