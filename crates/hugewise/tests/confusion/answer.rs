//! The report of `hugewise inspect` about the planted memory.

use std::collections::BTreeSet;
use std::os::unix::process::CommandExt;
use std::process::Command;

use hugewise_observe::inspect::reasons::{Certainty, Code, Judgement};
use hugewise_observe::inspect::view::Inspection;

use crate::ground::{Beds, NOBODY, Role};
use crate::raised::Raised;

/// The reasons reported for every part of the planted memory, without duplicates.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Answer {
    /// Why it is not huge.
    pub why: BTreeSet<Said>,
    /// Why it is still not huge.
    pub still: BTreeSet<Said>,
    /// True if its mapping was recognised as grown in small steps.
    pub growth: bool,
}

/// One reason, and those that it could not be distinguished from.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Said {
    /// The reason given.
    pub code: Code,
    /// The other reasons that the readings also allow; `None` if they decide nothing.
    pub others: Option<Vec<Code>>,
}

impl Said {
    fn of(code: Code, certainty: &Certainty) -> Self {
        let others = match certainty {
            Certainty::Proved => Some(Vec::new()),
            Certainty::OneOf(all) => {
                Some(all.iter().copied().filter(|&other| other != code).collect())
            }
            Certainty::Unknown => None,
        };
        Self { code, others }
    }

    /// Returns true if it is this reason and no other.
    pub fn is_proved(&self) -> bool {
        self.others.as_ref().is_some_and(Vec::is_empty)
    }

    /// Returns true if the reason is the reported one or among the allowed ones.
    pub fn allows(&self, code: Code) -> bool {
        self.code == code || self.others.as_ref().is_some_and(|all| all.contains(&code))
    }
}

impl Answer {
    /// Inspects the whole process, as the same user, and keeps the part about the plant.
    pub fn about(beds: &Beds, raised: &Raised, role: Role) -> Self {
        let mut command = Command::new(beds.hugewise());
        command
            .args(["inspect", "--format", "json", "--quiet"])
            .arg(raised.pid.to_string());
        if role == Role::Nobody {
            command.uid(NOBODY).gid(NOBODY);
        }
        let output = command.output().expect("hugewise");
        let told = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "inspect failed: {told}");
        let inspection = serde_json::from_slice(&output.stdout).expect("an inspection");
        Self::within(&inspection, raised.start, raised.end)
    }

    fn within(inspection: &Inspection, start: u64, end: u64) -> Self {
        let concerns = |each: &&Judgement| each.start < end && start < each.end;
        let mut answer = Self::from(inspection.judgements.iter().filter(concerns));
        let mapping = |index: usize| &inspection.space.mappings[index];
        answer.growth = inspection.growth.iter().any(|growth| {
            let grown = mapping(growth.mapping);
            grown.start < end && start < grown.end
        });
        answer
    }

    fn from<'a>(judgements: impl Iterator<Item = &'a Judgement>) -> Self {
        let mut answer = Self {
            why: BTreeSet::new(),
            still: BTreeSet::new(),
            growth: false,
        };
        for each in judgements {
            answer.why.insert(Said::of(each.code, &each.certainty));
            let still = each.still.iter();
            answer
                .still
                .extend(still.map(|still| Said::of(still.code, &still.certainty)));
        }
        if answer.why.is_empty() {
            // Holes are not listed: an empty answer for their addresses is correct.
            answer
                .why
                .insert(Said::of(Code::NotMapped, &Certainty::Proved));
        }
        answer
    }
}
