//! Records what is known about the benefit of huge pages for a process. Memory state does not show it, so an inspection
//! names the command that measures it.

use hugewise_text::document::Field;

/// The widest command, in columns. A longer one does not fit on a terminal line and is hard to check before pasting.
const WIDEST: usize = 80;

/// Knowledge from outside the inspection about whether huge pages help the process.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Benefit {
    /// The result of an earlier measurement of the program on this machine.
    pub tried: Option<String>,
    /// A policy that gave the program huge pages in that measurement and was better.
    pub better: Option<String>,
    /// The policies that changed no page of the program in that measurement.
    pub idle: Vec<String>,
    /// A rule of `advise` that advises against huge pages for this program, with its source.
    pub against: Option<String>,
    /// How to measure the benefit.
    pub measure: Measure,
}

/// How to measure whether huge pages help a process.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Measure {
    /// The command line is not known, or cannot be repeated.
    #[default]
    Unknown,
    /// A command to paste.
    Command(String),
    /// The process waits for connections, so it has to be measured under load.
    Service,
}

/// The setting that lets the glibc heap use huge pages: as a policy, and as a tunable.
const OF_MALLOC: [&str; 2] = ["malloc=thp", "glibc.malloc.hugetlb=1"];

impl Benefit {
    /// Returns a fix for the memory. Replaces the fix if a measurement showed that it has no effect.
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

    /// Returns one line per known fact, and one line on how to measure.
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
