//! The output of the laboratory in a bench: one line of JSON for each cell.
//!
//! ```json
//! {"cell":"copy/libc/1048576/written/1","metrics":{"rate_bytes_per_second":1.2e10},"pages":{"source":{"huge":2097152}}}
//! {"cell":"copy/avx512/1048576/written/1","missing":{"why":"not_supported","what":"AVX-512"}}
//! ```
//!
//! `metrics` are of [`metric`](hugewise_experiment::run::metric::cells). `pages` has the pages of each buffer after the
//! measurement, in bytes by kind; a missing kind is zero. If they could not be read, it is `{"missing": reason}`, with
//! a reason of [`Missing`].

use std::collections::BTreeMap;

use serde::Deserialize;

use hugewise_base::missing::Missing;
use hugewise_experiment::run::cells::{Bench, BenchCell};
use hugewise_experiment::run::metric::cells::{PageKind, is_buffer, of_cell, pages_name};
use hugewise_experiment::run::trial::Reading;

/// An invalid line.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("line {line} of the laboratory: {fault}")]
pub struct LineError {
    /// Its number, from 1.
    pub line: usize,
    /// The error in it.
    pub fault: String,
}

/// The line of one cell.
#[derive(Clone, Debug, PartialEq)]
pub struct CellLine {
    /// The cell.
    pub cell: BenchCell,
    /// The measurement, or the reason why it is missing.
    pub result: Result<Measurement, Missing>,
}

/// The measurement of one cell.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Measurement {
    /// Values by metric name.
    pub metrics: BTreeMap<String, f64>,
    /// The pages of each buffer, or the reason why they could not be read.
    pub pages: BTreeMap<String, Result<BTreeMap<PageKind, u64>, Missing>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Wire {
    cell: BenchCell,
    #[serde(default)]
    metrics: BTreeMap<String, f64>,
    #[serde(default)]
    pages: BTreeMap<String, Pages>,
    missing: Option<Missing>,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum Pages {
    Missing { missing: Missing },
    Kinds(BTreeMap<String, u64>),
}

/// Parses the output of one laboratory process.
///
/// # Errors
/// The first invalid line, with its number.
pub fn parse(bytes: &[u8]) -> Result<Vec<CellLine>, LineError> {
    let lines = bytes.split(|&byte| byte == b'\n').zip(1..);
    lines
        .filter(|(text, _)| !text.trim_ascii().is_empty())
        .map(|(text, line)| parse_line(text).map_err(|fault| LineError { line, fault }))
        .collect()
}

fn parse_line(text: &[u8]) -> Result<CellLine, String> {
    let wire: Wire = serde_json::from_slice(text).map_err(|error| error.to_string())?;
    if let Some(missing) = wire.missing {
        if !(wire.metrics.is_empty() && wire.pages.is_empty()) {
            return Err(format!("{}: measured and missing", wire.cell));
        }
        return Ok(CellLine {
            cell: wire.cell,
            result: Err(missing),
        });
    }
    if let Some(unknown) = wire.metrics.keys().find(|name| of_cell(name).is_none()) {
        return Err(format!("{}: no metric `{unknown}`", wire.cell));
    }
    let pages = wire.pages.into_iter().map(buffer).collect::<Result<_, _>>();
    Ok(CellLine {
        cell: wire.cell,
        result: Ok(Measurement {
            metrics: wire.metrics,
            pages: pages?,
        }),
    })
}

type Buffer = (String, Result<BTreeMap<PageKind, u64>, Missing>);

fn buffer((name, pages): (String, Pages)) -> Result<Buffer, String> {
    if !is_buffer(&name) {
        return Err(format!("`{name}` is no name of a buffer"));
    }
    Ok(match pages {
        Pages::Missing { missing } => (name, Err(missing)),
        Pages::Kinds(kinds) => {
            let kinds = kinds
                .into_iter()
                .map(|(kind, bytes)| Ok((kind.parse::<PageKind>()?, bytes)));
            (name, Ok(kinds.collect::<Result<_, String>>()?))
        }
    })
}

/// Returns the readings of one trial of a bench from the output of its process, by name. Every cell of the plan has at
/// least one: a measurement, or the reason why it is missing.
#[must_use]
pub fn read(bench: &Bench, output: &[u8]) -> BTreeMap<String, Reading> {
    let (lines, silence) = match parse(output) {
        Ok(lines) => (lines, Missing::NotPrinted),
        Err(error) => {
            let error = error.to_string();
            (Vec::new(), Missing::Unreadable { error })
        }
    };
    // If a cell was not measured, all its metrics get the same reason.
    let shown = bench.suite().map_or(&["time_seconds"][..], |it| it.metrics);
    let silent = |cell: &BenchCell, why: &Missing| -> Vec<(String, Reading)> {
        let each = |name: &&str| (cell.reading(name), Reading::missing(why.clone()));
        shown.iter().map(each).collect()
    };
    let cells = bench.cells.iter();
    let mut readings: BTreeMap<String, Reading> =
        cells.flat_map(|cell| silent(cell, &silence)).collect();
    for line in lines {
        // The first metric is the primary one, and is never silently absent.
        for name in shown.iter().skip(1) {
            readings.remove(&line.cell.reading(name));
        }
        readings.extend(match &line.result {
            Ok(result) => readings_of(&line.cell, result),
            Err(why) => silent(&line.cell, why),
        });
    }
    readings
}

fn readings_of(cell: &BenchCell, result: &Measurement) -> Vec<(String, Reading)> {
    let measured = result
        .metrics
        .iter()
        .map(|(name, &value)| (cell.reading(name), Reading::of(value)));
    let pages = result.pages.iter().flat_map(|(buffer, pages)| {
        let named = |kind, reading| (cell.reading(&pages_name(buffer, kind)), reading);
        match pages {
            Ok(kinds) => kinds
                .iter()
                .map(|(&kind, &bytes)| named(kind, Reading::of(bytes as f64)))
                .collect(),
            Err(missing) => vec![named(PageKind::Huge, Reading::missing(missing.clone()))],
        }
    });
    measured.chain(pages).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const CELL: &str = "copy/libc/4096/written/1";

    fn bench() -> Bench {
        Bench {
            suite: "memory".to_owned(),
            cells: vec![CELL.parse().unwrap()],
            processor: None,
            left_out: None,
        }
    }

    #[test]
    fn a_line_becomes_readings() {
        let text = format!(
            "{{\"cell\":\"{CELL}\",\"metrics\":{{\"rate_bytes_per_second\":2.5e9}},\
             \"pages\":{{\"source\":{{\"huge\":2097152,\"mthp_65536\":65536}},\
             \"destination\":{{\"missing\":{{\"why\":\"not_supported\",\"what\":\"PAGEMAP_SCAN\"}}}}}}}}\n"
        );
        let readings = read(&bench(), text.as_bytes());
        let value = |metric: &str| readings.get(&format!("bench/{CELL}/{metric}"));
        assert_eq!(value("rate_bytes_per_second"), Some(&Reading::of(2.5e9)));
        assert_eq!(value("source_huge_bytes"), Some(&Reading::of(2_097_152.0)));
        assert_eq!(
            value("source_mthp_65536_bytes"),
            Some(&Reading::of(65_536.0))
        );
        assert_eq!(
            value("destination_huge_bytes"),
            Some(&Reading::missing(Missing::not_supported("PAGEMAP_SCAN")))
        );
        assert_eq!(readings.len(), 4);
    }

    #[test]
    fn a_cell_without_a_line_says_why() {
        let name = format!("bench/{CELL}/rate_bytes_per_second");
        assert_eq!(
            read(&bench(), b"")[&name],
            Reading::missing(Missing::NotPrinted)
        );
        let Reading::Missing {
            missing: Missing::Unreadable { error },
        } = &read(&bench(), b"\n{\"cell\":\"x\",\n")[&name]
        else {
            panic!("must be unreadable")
        };
        assert!(error.starts_with("line 2 of the laboratory"), "{error}");
    }

    #[test]
    fn one_reason_is_that_of_all_that_a_suite_shows() {
        let [measured, refused] = ["store/8/1", "collapse/8/1"];
        let bench = Bench {
            suite: "prefault".to_owned(),
            cells: [measured, refused].map(|cell| cell.parse().unwrap()).into(),
            ..bench()
        };
        let text = format!(
            "{{\"cell\":\"{measured}\",\"metrics\":{{\"time_per_gib_seconds\":1}}}}\n\
             {{\"cell\":\"{refused}\",\"missing\":{{\"why\":\"not_supported\",\"what\":\"that\"}}}}\n"
        );
        let readings = read(&bench, text.as_bytes());
        let what = "that".to_owned();
        let refusal = Reading::missing(Missing::NotSupported { what });
        for name in bench.suite().unwrap().metrics {
            assert_eq!(readings[&format!("bench/{refused}/{name}")], refusal);
        }
        let first = format!("bench/{measured}/time_per_gib_seconds");
        assert_eq!(readings[&first], Reading::of(1.0));
        assert!(!readings.contains_key(&format!("bench/{measured}/faults_total")));
    }

    #[test]
    fn what_is_no_line_names_the_fault() {
        for (text, fault) in [
            (
                "{\"cell\":\"a\",\"metrics\":{\"speed\":1}}",
                "no metric `speed`",
            ),
            (
                "{\"cell\":\"a\",\"pages\":{\"s\":{\"blue\":1}}}",
                "no kind of page",
            ),
            (
                "{\"cell\":\"a\",\"pages\":{\"S_x\":{\"huge\":1}}}",
                "no name of a buffer",
            ),
            ("{\"cell\":\"A\"}", "not a cell"),
            ("{\"cell\":\"a\",\"x\":1}", "unknown field"),
            (
                "{\"cell\":\"a\",\"metrics\":{\"time_seconds\":1},\"missing\":{\"why\":\"not_asked\"}}",
                "measured and missing",
            ),
        ] {
            let error = parse(text.as_bytes()).expect_err(text);
            assert!(error.to_string().contains(fault), "{text}: {error}");
        }
    }

    proptest! {
        #[test]
        fn any_bytes_are_parsed_or_refused(bytes: Vec<u8>) {
            let _ = parse(&bytes);
            prop_assert_eq!(read(&bench(), &bytes).len(), 1);
        }

        #[test]
        fn any_damage_to_a_line_is_parsed_or_refused(at in 0_usize..90, byte: u8) {
            let mut text = format!("{{\"cell\":\"{CELL}\",\"metrics\":{{\"time_seconds\":1}},\"pages\":{{\"heap\":{{\"huge\":1}}}}}}").into_bytes();
            let place = at % text.len();
            text[place] = byte;
            let _ = parse(&text);
        }
    }
}
