//! Whether huge pages help a process: its memory does not tell, so an inspection names who does.

use hugewise_text::document::Field;

/// A longer command does not fit a line of a terminal, and cannot be read before it is pasted.
const WIDEST: usize = 80;

/// What is known beside an inspection of the question whether huge pages help the process.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Benefit {
    /// What was measured of it on this machine.
    pub tried: Option<String>,
    /// The policy that gave it huge pages there and was better, if one was.
    pub better: Option<String>,
    /// The policies that changed no page of it there.
    pub idle: Vec<String>,
    /// Who says that huge pages hurt the program, and what: a rule of `advise`.
    pub against: Option<String>,
    /// What measures it.
    pub measure: Measure,
}

/// What measures whether huge pages help a process.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Measure {
    /// How it was started is not known, or cannot be repeated.
    #[default]
    Unknown,
    /// A command to paste.
    Command(String),
    /// It waits for connections, so it is measured under a load.
    Service,
}

/// The setting that lets the heap of glibc have huge pages, as a policy and as its variable.
const OF_MALLOC: [&str; 2] = ["malloc=thp", "glibc.malloc.hugetlb=1"];

impl Benefit {
    /// What would make memory huge, as far as a measurement does not refute it.
    pub(super) fn corrected(&self, fix: String, pid: u32) -> String {
        let [policy, variable] = OF_MALLOC;
        if !(fix.contains(variable) && self.idle.iter().any(|it| it == policy)) {
            return fix;
        }
        let did = self.better.as_ref();
        let did = did.map_or_else(String::new, |it| format!("{it} did in a run here. "));
        format!(
            "{did}{} changed no page there, probably because the memory grows in pieces smaller than a \
             huge page. Now: hugewise collapse {pid}",
            self.idle.join(", ")
        )
    }

    /// A line each of what is known, and one of how to measure.
    pub(super) fn fields(&self) -> Vec<Field> {
        let said = |label, text: &Option<String>| text.clone().map(|text| Field::new(label, text));
        let fields = [
            said("tried here", &self.tried),
            said("against it", &self.against),
            Some(self.measure.field()),
        ];
        fields.into_iter().flatten().collect()
    }
}

impl Measure {
    fn field(&self) -> Field {
        const LABEL: &str = "does it help?";
        match self {
            Self::Command(line) if line.chars().count() <= WIDEST => Field::whole(LABEL, line),
            Self::Service => Field::new(
                LABEL,
                "hugewise run --service, under a load: docs/guide/servers.md",
            ),
            Self::Unknown | Self::Command(_) => Field::new(
                LABEL,
                "hugewise run -- COMMAND; a server: hugewise run --service",
            ),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use hugewise_text::Flow;

    fn last(measure: Measure) -> Field {
        let benefit = Benefit {
            measure,
            ..Benefit::default()
        };
        benefit.fields().pop().expect("how to measure")
    }

    #[test]
    fn a_command_is_given_whole_if_it_fits_the_line() {
        let short = "hugewise run -- ./prog".to_owned();
        let field = last(Measure::Command(short.clone()));
        assert_eq!((field.text, field.flow), (short.clone(), Flow::Whole));
        let long = format!("{short} {}", "x".repeat(WIDEST));
        assert!(last(Measure::Command(long)).text.contains("-- COMMAND"));
    }

    #[test]
    fn what_changed_no_page_in_a_run_is_not_what_makes_memory_huge() {
        let benefit = Benefit {
            better: Some("args=-L".to_owned()),
            idle: vec!["malloc=thp".to_owned()],
            ..Benefit::default()
        };
        let of_malloc = "Restart it with GLIBC_TUNABLES=glibc.malloc.hugetlb=1".to_owned();
        let corrected = benefit.corrected(of_malloc.clone(), 7);
        assert!(corrected.starts_with("args=-L did in a run here. malloc=thp changed no page"));
        assert!(!corrected.contains("GLIBC_TUNABLES"), "{corrected}");
        assert_eq!(
            Benefit::default().corrected(of_malloc.clone(), 7),
            of_malloc
        );
        let other = "Restart it with X=1".to_owned();
        assert_eq!(benefit.corrected(other.clone(), 7), other);
    }

    #[test]
    fn who_speaks_against_it_is_named_before_how_to_measure() {
        let benefit = Benefit {
            against: Some("Redis: no".to_owned()),
            measure: Measure::Service,
            ..Benefit::default()
        };
        let labels = benefit.fields().into_iter().map(|it| it.label);
        let labels: Vec<String> = labels.collect();
        assert_eq!(labels, ["against it", "does it help?"]);
        assert!(benefit.fields()[1].text.contains("--service"));
    }
}
