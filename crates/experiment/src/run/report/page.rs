//! The report as a page.

use super::Report;
use super::figures::OTHER_METRICS;
use crate::run::record::Header;
use crate::text::Verbosity;
use crate::text::document::{Block, Field, Section};
use crate::text::figure::Figure;
use crate::text::page::{Page, command_in_title, to_page};
use crate::text::wrap::plain;

/// Draws the page; `record` is the bytes of the record's file.
pub(super) fn page(report: &Report<'_>, figures: Vec<Figure>, record: &[u8]) -> String {
    let header = &report.record.header;
    // Tables have no line limit in a page.
    let mut document = report.document(usize::MAX, Verbosity::Verbose);
    document.push(circumstances("How it was measured", &report.record.header));
    if let Some(other) = &report.other {
        let title = "How the second record was measured";
        document.push(circumstances(title, &other.record.header));
    }
    let (figures, further): (Vec<Figure>, Vec<Figure>) =
        figures.into_iter().partition(|it| it.id != OTHER_METRICS);
    let records = match report.other {
        None => "",
        Some(_) => ", two records",
    };
    let title = match &header.plan.bench {
        Some(bench) => format!("hugewise bench {}{records}", plain(&bench.suite)),
        None => format!(
            "hugewise: {}{records}",
            command_in_title(&header.plan.command)
        ),
    };
    to_page(&Page {
        title: &title,
        document: &document,
        figures: &figures,
        further: &further,
        source: record,
        again: match report.other {
            None => "hugewise report",
            Some(_) => "hugewise report --across",
        },
    })
}

/// The tools and the machine of the measurement.
fn circumstances(title: &str, header: &Header) -> Section {
    let host = &header.host;
    let fields = [
        ("Command", header.plan.command.join(" ")),
        ("Measured by", header.made_by.join(" ")),
        ("Version", header.program.clone()),
        ("Kernel", format!("{} {}", host.kernel, host.arch)),
        (
            "Processor",
            format!("{}, {} CPUs", host.cpu_model, host.cpus),
        ),
    ];
    let fields = fields.map(|(label, text)| Field::new(label, plain(&text)));
    Section::titled(title).with(Block::Fields(fields.to_vec()))
}
