//! Why events cannot be verified here, and what would help.

use serde::Serialize;

use super::result::FORMAT;
use hugewise_base::host::Host;
use hugewise_base::missing::Missing;
use hugewise_text::Tone;
use hugewise_text::csv::Csv;
use hugewise_text::document::{Block, Document, Paragraph, Section};
use hugewise_text::wrap::plain;

/// The reason, and the remedies.
#[derive(Clone, Debug, Serialize, PartialEq, Eq)]
pub struct VerificationAbsence {
    /// Name and version of this document.
    pub format: &'static str,
    /// Why.
    pub missing: Missing,
    /// What would help.
    pub helps: Vec<String>,
}

impl VerificationAbsence {
    /// The remedies for a reason on this machine.
    #[must_use]
    pub fn on(host: &Host, missing: Missing) -> Self {
        let mut helps = match (&missing, &host.hypervisor) {
            (Missing::NotPermitted { grant }, _) => vec![format!("grant {grant}")],
            (Missing::NoHardware, Some(hypervisor)) => vec![
                format!(
                    "a virtual PMU: the host of this virtual machine ({hypervisor}) can give it one"
                ),
                "bare metal".to_owned(),
            ],
            (Missing::NoHardware, None) => {
                vec![
                    "a kernel with CONFIG_PERF_EVENTS and a driver for the PMU of this CPU"
                        .to_owned(),
                ]
            }
            _ => Vec::new(),
        };
        helps.push("TLB misses without counters: hugewise simulate -- COMMAND".to_owned());
        Self {
            format: FORMAT,
            missing,
            helps,
        }
    }

    /// The reason and the remedies.
    #[must_use]
    pub fn document(&self) -> Document {
        let why = plain(&self.missing.to_string());
        let why = format!("Cannot verify TLB events: {why}.");
        let helps = self.helps.iter().map(|help| format!("* {}", plain(help)));
        let section = Section::default()
            .with(Paragraph::new(why).tone(Tone::Strong))
            .with("What would help:")
            .with(Block::Notes(helps.collect()));
        Document::new([section])
    }

    /// The reason as a row.
    #[must_use]
    pub fn csv(&self) -> String {
        let mut csv = Csv::new(&["missing"]);
        csv.row([self.missing.to_string()]);
        csv.into_text()
    }
}
