//! The result as test cases, for formats that know passed, failed and skipped.

use super::Report;
use crate::run::answer::Word;
use crate::run::gate::{Gate, Judgement};
use crate::text::{Style, to_text};

/// One test case.
pub(super) struct Case {
    /// `answer`, or the condition.
    pub(super) name: String,
    /// Its result.
    pub(super) result: CaseResult,
}

/// The result of a case. A reason is one line.
pub(super) enum CaseResult {
    Passed,
    Failed(String),
    Skipped(&'static str),
}

const NOT_DECIDED: &str = "not decided";

/// The answer, then each condition.
pub(super) fn cases(report: &Report<'_>, gates: &[Gate]) -> Vec<Case> {
    let answer = Case {
        name: "answer".to_owned(),
        result: of_word(report.answer().word),
    };
    let conditions = gates.iter().map(|gate| Case {
        name: gate.to_string(),
        result: match gate.judge(report.answer()) {
            Judgement::Open => CaseResult::Passed,
            Judgement::Closed(arms) => CaseResult::Failed(format!("holds for {}", arms.join(", "))),
            Judgement::CannotTell(_) => CaseResult::Skipped(NOT_DECIDED),
        },
    });
    std::iter::once(answer).chain(conditions).collect()
}

/// The report, which belongs to the case of the answer.
pub(super) fn report_text(report: &Report<'_>) -> String {
    let style = Style::default();
    to_text(&report.document(style.width, style.verbose), &style)
}

fn of_word(word: Word) -> CaseResult {
    match word {
        Word::Failed => CaseResult::Failed("nothing was measured".to_owned()),
        Word::CouldNotTry => CaseResult::Skipped("could not be tried"),
        Word::Open | Word::TooFewRounds => CaseResult::Skipped(NOT_DECIDED),
        Word::Help
        | Word::Hurt
        | Word::RareSlow
        | Word::Mixed
        | Word::DependsOnOrder
        | Word::NoDifference
        | Word::Little
        | Word::SamePages
        | Word::NotAboutPages
        | Word::Measured
        | Word::Compared => CaseResult::Passed,
    }
}
