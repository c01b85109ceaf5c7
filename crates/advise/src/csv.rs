//! The advice as a table for programs.

use super::advice::Advice;
use hugewise_text::csv::Csv;

impl Advice {
    /// One row per program and rule.
    #[must_use]
    pub fn csv(&self) -> String {
        let mut csv = Csv::new(&[
            "pid", "program", "subject", "version", "rule", "standing", "missing", "by", "said",
            "says",
        ]);
        for program in &self.programs {
            for ruling in &program.rulings {
                let part = program
                    .parts
                    .iter()
                    .find(|part| part.subject == ruling.subject);
                csv.row([
                    program.pid.map(|pid| pid.to_string()).unwrap_or_default(),
                    program.name.clone(),
                    ruling.subject.clone(),
                    part.and_then(|part| part.version.clone())
                        .unwrap_or_default(),
                    ruling.id.clone(),
                    ruling.standing.words().to_owned(),
                    ruling.missing.clone().unwrap_or_default(),
                    ruling.by.to_string(),
                    ruling.said.clone(),
                    ruling.says.clone(),
                ]);
            }
        }
        csv.into_text()
    }
}
