//! What `hugewise inspect` says about the planted memory.

use std::collections::BTreeSet;
use std::os::unix::process::CommandExt;
use std::process::Command;

use hugewise_model::reason::{Certainty, Code, Judgement};
use serde_json::Value;

use crate::ground::{Beds, NOBODY, Role};
use crate::raised::Raised;

/// What was said about every piece of the planted memory, each once.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Answer {
    /// Why it is not huge.
    pub why: BTreeSet<Said>,
    /// Why it is still not.
    pub still: BTreeSet<Said>,
}

/// One reason, and those that could not be told from it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Said {
    /// The reason given.
    pub code: Code,
    /// The others that what was read allows too; `None` where it decides nothing.
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

    /// Whether it is this reason and no other.
    pub fn is_proved(&self) -> bool {
        self.others.as_ref().is_some_and(Vec::is_empty)
    }

    /// Whether the reason is the one given or among those allowed.
    pub fn allows(&self, code: Code) -> bool {
        self.code == code || self.others.as_ref().is_some_and(|all| all.contains(&code))
    }
}

impl Answer {
    /// Asks about the whole process, as the same user, and keeps what concerns the plant.
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
        let whole: Value = serde_json::from_slice(&output.stdout).expect("JSON");
        let judgements = find_judgements(&whole).expect("judgements");
        Self::from(
            judgements
                .iter()
                .filter(|each| each.start < raised.end && raised.start < each.end),
        )
    }

    fn from<'a>(judgements: impl Iterator<Item = &'a Judgement>) -> Self {
        let mut answer = Self {
            why: BTreeSet::new(),
            still: BTreeSet::new(),
        };
        for each in judgements {
            answer.why.insert(Said::of(each.code, &each.certainty));
            let still = each.still.iter();
            answer
                .still
                .extend(still.map(|still| Said::of(still.code, &still.certainty)));
        }
        if answer.why.is_empty() {
            // Holes are not listed: that nothing is said of the addresses is the answer.
            answer
                .why
                .insert(Said::of(Code::NotMapped, &Certainty::Proved));
        }
        answer
    }
}

/// The one list of judgements in the document, wherever it stands.
fn find_judgements(value: &Value) -> Option<Vec<Judgement>> {
    match value {
        Value::Object(members) => match members.get("judgements") {
            Some(list) => serde_json::from_value(list.clone()).ok(),
            None => members.values().find_map(find_judgements),
        },
        Value::Array(items) => items.iter().find_map(find_judgements),
        _ => None,
    }
}
