//! What a program can be told itself, beside a report whose policies did not reach its pages.

use hugewise_model::advise::knowledge::Knowledge;
use hugewise_model::run::report::Report;

/// The report with the program's own setting, where one is known and no policy could be tried.
pub fn beside_own_setting(report: Report<'_>) -> Report<'_> {
    report.with_own_setting(|program| Knowledge::compiled().ok()?.own_setting(program))
}
