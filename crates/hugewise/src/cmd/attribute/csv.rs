//! The sites of an attribution as rows for programs.

use hugewise_attribute::Attribution;
use hugewise_text::csv::Csv;

const HEADING: [&str; 11] = [
    "site",
    "metric",
    "change",
    "low",
    "high",
    "p",
    "mapped_bytes",
    "huge_bytes",
    "added_bytes",
    "place",
    "address",
];

/// One row for each site, the best first.
pub(super) fn rows(attribution: &Attribution) -> String {
    let mut csv = Csv::new(&HEADING);
    for site in &attribution.sites {
        let text = |number: Option<String>| number.unwrap_or_default();
        csv.row([
            site.site.to_string(),
            attribution.metric.clone(),
            site.share.change.to_string(),
            site.share.low.to_string(),
            site.share.high.to_string(),
            site.p.to_string(),
            site.mapped_bytes.to_string(),
            text(site.huge_bytes.map(|bytes| bytes.to_string())),
            text(site.added_bytes.map(|bytes| bytes.to_string())),
            site.place.clone().unwrap_or_default(),
            text(site.address.map(|it| it.to_string())),
        ]);
    }
    csv.into_text()
}
