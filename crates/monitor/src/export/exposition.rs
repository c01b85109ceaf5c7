//! Metrics as text: OpenMetrics 1.0, and the older Prometheus format, which the textfile collector of `node_exporter`
//! reads.
//!
//! Written here because no available crate writes both formats: `prometheus-client` supports only OpenMetrics, whose
//! counters the textfile collector would take for untyped values.

use std::fmt::{self, Write};

/// How a metric behaves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Grows until the machine restarts.
    Counter,
    /// Goes up and down.
    Gauge,
    /// Information in its labels; its value is 1.
    Info,
    /// Counts by size; all its values are [`Value::Histogram`].
    Histogram,
}

/// A metric with all its series.
#[derive(Clone, Debug, PartialEq)]
pub struct Family {
    /// The name without the suffix of its kind.
    pub name: String,
    /// One sentence.
    pub help: String,
    /// How it behaves.
    pub kind: Kind,
    /// Its series.
    pub series: Vec<Series>,
}

/// A value with its labels.
#[derive(Clone, Debug, PartialEq)]
pub struct Series {
    /// Names and values.
    pub labels: Vec<(&'static str, String)>,
    /// The current value.
    pub value: Value,
}

/// The value of a series, in the base unit.
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    /// One number.
    Number(f64),
    /// Classic buckets: the text formats have no others.
    Histogram {
        /// The upper bound of each bucket, and the count of values up to it.
        buckets: Vec<(f64, u64)>,
        /// The total count.
        count: u64,
        /// Their sum.
        sum: f64,
    },
}

impl Family {
    /// The number of series that a reader stores for it.
    #[must_use]
    pub fn stored(&self) -> usize {
        let stored = |series: &Series| match &series.value {
            Value::Number(_) => 1,
            Value::Histogram { buckets, .. } => buckets.len() + 3,
        };
        self.series.iter().map(stored).sum()
    }
}

/// The formats.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// OpenMetrics 1.0.
    OpenMetrics,
    /// The text format of Prometheus, version 0.0.4.
    Prometheus,
}

impl Format {
    /// Its media type.
    #[must_use]
    pub const fn media_type(self) -> &'static str {
        match self {
            Self::OpenMetrics => "application/openmetrics-text; version=1.0.0; charset=utf-8",
            Self::Prometheus => "text/plain; version=0.0.4; charset=utf-8",
        }
    }
}

/// All families as text. Families without series are left out.
#[must_use]
pub fn text(families: &[Family], format: Format) -> String {
    let mut out = String::new();
    for family in families.iter().filter(|family| !family.series.is_empty()) {
        // Writing to a String cannot fail.
        let _ = write_family(&mut out, family, format);
    }
    if format == Format::OpenMetrics {
        out.push_str("# EOF\n");
    }
    out
}

fn write_family(out: &mut String, family: &Family, format: Format) -> fmt::Result {
    let (ending, open, old) = match family.kind {
        Kind::Counter => ("_total", "counter", "counter"),
        Kind::Gauge => ("", "gauge", "gauge"),
        Kind::Info => ("_info", "info", "gauge"),
        Kind::Histogram => ("", "histogram", "histogram"),
    };
    let sample = format!("{}{ending}", family.name);
    let (described, kind) = match format {
        Format::OpenMetrics => (&family.name, open),
        Format::Prometheus => (&sample, old),
    };
    writeln!(out, "# HELP {described} {}", escaped(&family.help, format))?;
    writeln!(out, "# TYPE {described} {kind}")?;
    for series in &family.series {
        write_series(out, &sample, series)?;
    }
    Ok(())
}

fn write_series(out: &mut String, sample: &str, series: &Series) -> fmt::Result {
    let own = labels(&series.labels);
    let (buckets, count, sum) = match &series.value {
        Value::Number(value) => return writeln!(out, "{sample}{own} {value}"),
        Value::Histogram {
            buckets,
            count,
            sum,
        } => (buckets, count, sum),
    };
    let bounds = buckets
        .iter()
        .map(|(bound, below)| (bound.to_string(), below));
    for (bound, below) in bounds.chain([("+Inf".to_owned(), count)]) {
        let mut pairs = series.labels.clone();
        pairs.push(("le", bound));
        writeln!(out, "{sample}_bucket{} {below}", labels(&pairs))?;
    }
    writeln!(out, "{sample}_sum{own} {sum}")?;
    writeln!(out, "{sample}_count{own} {count}")
}

/// Line breaks and backslashes; quotes too in the newer format.
fn escaped(help: &str, format: Format) -> String {
    let help = help.replace('\\', "\\\\").replace('\n', "\\n");
    match format {
        Format::OpenMetrics => help.replace('"', "\\\""),
        Format::Prometheus => help,
    }
}

fn labels(labels: &[(&'static str, String)]) -> String {
    if labels.is_empty() {
        return String::new();
    }
    let pairs = labels.iter().map(|(name, value)| {
        let value = value.replace('\\', "\\\\").replace('"', "\\\"");
        format!("{name}=\"{}\"", value.replace('\n', "\\n"))
    });
    format!("{{{}}}", pairs.collect::<Vec<_>>().join(","))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn family(kind: Kind, label: &str) -> Family {
        Family {
            name: "x_pages".to_owned(),
            help: "Pages \\ of \"x\".".to_owned(),
            kind,
            series: vec![Series {
                labels: vec![("size", label.to_owned())],
                value: Value::Number(12_345_678_901_234.0),
            }],
        }
    }

    #[test]
    fn both_formats_name_a_counter_as_their_readers_want() {
        let counter = [family(Kind::Counter, "2M")];
        assert_eq!(
            text(&counter, Format::OpenMetrics),
            "# HELP x_pages Pages \\\\ of \\\"x\\\".\n# TYPE x_pages counter\n\
             x_pages_total{size=\"2M\"} 12345678901234\n# EOF\n"
        );
        assert_eq!(
            text(&counter, Format::Prometheus),
            "# HELP x_pages_total Pages \\\\ of \"x\".\n# TYPE x_pages_total counter\n\
             x_pages_total{size=\"2M\"} 12345678901234\n"
        );
        let info = text(&[family(Kind::Info, "2M")], Format::Prometheus);
        assert!(
            info.contains("# TYPE x_pages_info gauge\nx_pages_info{"),
            "{info}"
        );
    }

    #[test]
    fn a_histogram_is_cumulative_and_ends_with_all() {
        let mut of_points = family(Kind::Histogram, "2M");
        of_points.series[0].value = Value::Histogram {
            buckets: vec![(0.001, 2), (0.25, 5)],
            count: 6,
            sum: 1.5,
        };
        assert_eq!(of_points.stored(), 5);
        let text = text(&[of_points], Format::OpenMetrics);
        let lines: Vec<&str> = text.lines().skip(1).collect();
        assert_eq!(
            lines,
            [
                "# TYPE x_pages histogram",
                "x_pages_bucket{size=\"2M\",le=\"0.001\"} 2",
                "x_pages_bucket{size=\"2M\",le=\"0.25\"} 5",
                "x_pages_bucket{size=\"2M\",le=\"+Inf\"} 6",
                "x_pages_sum{size=\"2M\"} 1.5",
                "x_pages_count{size=\"2M\"} 6",
                "# EOF"
            ]
        );
    }

    #[test]
    fn a_family_without_series_is_left_out() {
        let empty = Family {
            series: Vec::new(),
            ..family(Kind::Gauge, "")
        };
        assert_eq!(text(&[empty], Format::OpenMetrics), "# EOF\n");
    }

    proptest! {
        /// Whatever a label contains, a series is one line with paired quotes.
        #[test]
        fn a_label_stays_in_its_line(label: String) {
            let label = label.replace('\r', "");
            let text = text(&[family(Kind::Gauge, &label)], Format::Prometheus);
            prop_assert_eq!(text.matches('\n').count(), 3);
            let bare = text.lines().nth(2).unwrap_or_default();
            let bare = bare.replace("\\\\", "").replace("\\\"", "");
            prop_assert_eq!(bare.matches('"').count(), 2);
        }
    }
}
