//! The whole effect: all sites huge against none, as `run` compares two policies.

use hugewise_experiment::run::compare::labels::{effect_of, label_of};
use hugewise_experiment::run::compare::{self, CompareError, Comparison, PolicyAnswer, Statistic};
use hugewise_experiment::run::record::Record;
use hugewise_experiment::run::site::Site;
use hugewise_experiment::run::trial::{MappedSite, Trial};
use hugewise_text::number::counted;

/// Whether there is an effect to split.
#[derive(Clone, Debug, PartialEq)]
pub struct WholeEffect {
    answer: PolicyAnswer,
    /// The result as a sentence.
    pub text: String,
}

impl WholeEffect {
    /// Compares the record of two policies.
    ///
    /// # Errors
    /// The record cannot be compared.
    pub fn of(record: &Record) -> Result<Self, CompareError> {
        let table = compare::table(record, &compare::Options::default())?;
        let metric = &record.header.plan.verdict_metric;
        let is_judged =
            |row: &&Comparison| row.metric == *metric && row.statistic == Statistic::Center;
        let row = table.comparisons.iter().find(is_judged);
        let answer = row.and_then(|row| table.verdict.policies.get(&row.policy));
        let label = label_of(record, metric, Statistic::Center);
        let change = row.map_or_else(|| "not measured".to_owned(), |it| effect_of(record, it));
        let interval = row.and_then(|it| Some((it.low?, it.high?)));
        let interval = interval.map(|(low, high)| {
            let [low, high] = [low, high].map(compare::labels::effect_of_ratio);
            format!(" ({low} to {high})")
        });
        let interval = interval.filter(|_| row.is_some_and(|it| it.ratio.is_some()));
        let rounds = counted(u64::from(record.rounds_run()), "round");
        Ok(Self {
            answer: answer.copied().unwrap_or(PolicyAnswer::NotDecided),
            text: format!(
                "all sites huge against none: {label} {change}{} in {rounds}",
                interval.unwrap_or_default()
            ),
        })
    }

    /// Why nothing is split, if no effect was shown.
    #[must_use]
    pub fn obstacle(&self) -> &'static str {
        match self.answer {
            PolicyAnswer::NotDecided => {
                "whether there is an effect is not decided; a longer --max-time has more rounds"
            }
            _ => "there is no effect to split",
        }
    }

    /// Returns true if an effect was shown, good or bad.
    #[must_use]
    pub fn is_shown(&self) -> bool {
        let shown = [
            PolicyAnswer::Better,
            PolicyAnswer::Worse,
            PolicyAnswer::Mixed,
            PolicyAnswer::RarelyWorse,
            PolicyAnswer::DependsOnOrder,
        ];
        shown.contains(&self.answer)
    }
}

/// The sites that became huge in a run with all of them requested, and those that could not be observed. Other sites
/// cannot have a share.
#[must_use]
pub fn that_became_huge(record: &Record, sites: &[Site]) -> Vec<Site> {
    let chosen = |trial: &&Trial| {
        let policies = record.header.plan.policies.iter();
        let own = policies.filter(|policy| policy.name == trial.policy);
        own.filter_map(|policy| policy.settings.sites.as_ref())
            .any(|choice| sites.iter().all(|&site| choice.has(site)))
    };
    let runs = record.trials.iter().filter(chosen);
    let runs = runs.filter_map(|trial| trial.read_back.tracing.as_ref());
    let mapped: Vec<&MappedSite> = runs.flat_map(|it| &it.sites).collect();
    let may_matter = |site: &&Site| {
        let own = mapped.iter().filter(|it| it.site == **site);
        own.map(|it| it.at_end)
            .any(|at_end| at_end.is_none_or(|memory| memory.huge_bytes > 0))
    };
    sites.iter().filter(may_matter).copied().collect()
}
