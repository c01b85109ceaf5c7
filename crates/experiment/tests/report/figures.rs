//! The figures of reports: their content, their tables, and that nothing overlaps.

use std::fmt::Write as _;
use std::sync::LazyLock;

use expect_test::expect_file;
use hugewise_base::histogram::distribution::{Distribution, Grain};
use hugewise_experiment::run::compare::{Across, Options, between, table};
use hugewise_experiment::run::record::{Record, parse};
use hugewise_experiment::run::report::{Other, Report};
use hugewise_experiment::run::trial::Reading;
use hugewise_experiment::run::trial::timeline::{Requests, Second, Timeline};
use hugewise_text::figure::Figure;
use hugewise_text::svg::{STYLE, WIDTH, text_width};
use regex::Regex;

use super::checked::golden;
use crate::sample;

fn fixture(name: &str) -> Record {
    let path = format!("{}/../../fixtures/{name}.jsonl", env!("CARGO_MANIFEST_DIR"));
    #[expect(clippy::disallowed_methods, reason = "a test reads the fixtures")]
    let bytes = std::fs::read(path).unwrap();
    parse(&bytes).unwrap()
}

fn figures(record: &Record) -> Vec<Figure> {
    let table = table(record, &Options::default()).unwrap();
    hugewise_bench::report(record, table, None).figures()
}

const RUNS: [&str; 14] = [
    "all-failed",
    "carry-over",
    "clear-win",
    "everything-missing",
    "failed-trials",
    "five-policies",
    "long-names",
    "no-effect",
    "noise",
    "ordinary-user",
    "programs",
    "single-policy",
    "two-policies",
    "win-with-a-loss",
];

const BENCHES: [&str; 6] = [
    "fork",
    "growth",
    "latency",
    "latency-cut-off",
    "memory",
    "slab",
];

/// Two servers of 20 seconds, with counted requests; one stalls twice.
fn service() -> Record {
    let mut record = sample::clear_win();
    for trial in &mut record.trials {
        let slow = if trial.policy == "thp=always" {
            0.8
        } else {
            1.0
        };
        let mut histogram = Distribution::new(Grain::Bucket, 1);
        let mut random = fastrand::Rng::with_seed(u64::from(trial.index));
        for _ in 0..2000 {
            let took = 1e5 * slow * (2.5 * random.f64().powi(4)).exp();
            histogram.add(took as u64, 1);
        }
        let reading = Reading::Histogram {
            histogram: Box::new(histogram),
        };
        trial.readings.insert("latency_seconds".to_owned(), reading);
        let seconds = (0..20).map(|at| second(at, slow));
        trial.timeline = Some(Timeline {
            seconds: seconds.collect(),
            ..Timeline::default()
        });
    }
    record
}

fn second(at: u32, slow: f64) -> Second {
    let stalled = if at == 7 || at == 13 { 0.04 } else { 0.0 };
    let stalls = [("direct_compaction_seconds".to_owned(), stalled * slow)];
    Second {
        to_seconds: f64::from(at + 1),
        minor_faults: Some(u64::from(20_000 / (at + 1))),
        resident_bytes: Some(u64::from(at.min(9) + 1) << 26),
        huge_bytes: at.is_multiple_of(3).then_some(u64::from(at.min(9)) << 25),
        stalls: stalls.into(),
        requests: Some(Requests {
            count: (1e4 / slow * (1.0 - 5.0 * stalled)) as u64,
            p50_seconds: 1e-4 * slow,
            p99_seconds: 1e-3 * slow + stalled,
            max_seconds: 5e-3 * slow + stalled,
            over_seconds: None,
        }),
    }
}

/// The figures of two records, the second on another kernel and 5 % faster.
fn of_two() -> Vec<Figure> {
    let (before, mut after) = (sample::clear_win(), sample::clear_win());
    after.header.host.kernel = "7.2.1".to_owned();
    for trial in &mut after.trials {
        let seconds = trial.value("wall_seconds").unwrap() * 0.95;
        let reading = Reading::of(seconds);
        trial.readings.insert("wall_seconds".to_owned(), reading);
    }
    let table = between(&before, &after, Across::Allowed).unwrap();
    let other = Other {
        record: &after,
        sides: ["a.jsonl", "b.jsonl"].map(|path| vec![path.to_owned()]),
    };
    Report::between(&before, other, table).figures()
}

/// By the name of the record; computed once.
static ALL: LazyLock<Vec<(String, Vec<Figure>)>> = LazyLock::new(all);

fn all() -> Vec<(String, Vec<Figure>)> {
    let runs = RUNS.map(|name| format!("runs/{name}"));
    let benches = BENCHES.map(|name| format!("benches/{name}"));
    let files = runs.into_iter().chain(benches);
    let mut all: Vec<_> = files
        .map(|name| (name.clone(), figures(&fixture(&name))))
        .collect();
    all.push(("service".to_owned(), figures(&service())));
    all.push(("two".to_owned(), of_two()));
    all
}

/// The boxes of all texts in a drawing: left, right, top, bottom.
fn boxes(svg: &str) -> Vec<(String, [f64; 4])> {
    let text = Regex::new(
        r#"<text x="([^"]+)" y="([^"]+)"(?: text-anchor="(\w+)")?(?: class="[^"]*")?>([^<]*)<"#,
    );
    let all = text.unwrap();
    let found = all.captures_iter(svg).map(|it| {
        let [x, y] = [1, 2].map(|at| it[at].parse::<f64>().unwrap());
        let plain = it[4]
            .replace("&quot;", "\"")
            .replace("&lt;", "<")
            .replace("&gt;", ">")
            .replace("&amp;", "&");
        let width = text_width(&plain);
        let left = match it.get(3).map(|it| it.as_str()) {
            Some("middle") => x - width / 2.0,
            Some("end") => x - width,
            _ => x,
        };
        (plain, [left, left + width, y - 10.0, y + 3.0])
    });
    found.collect()
}

fn check(name: &str, figure: &Figure) {
    let svg = &figure.svg;
    for wrong in [
        "NaN",
        "inf\"",
        "\"-inf",
        "width=\"-",
        "height=\"-",
        "<script",
        "style=",
    ] {
        assert!(!svg.contains(wrong), "{name}, {}: {wrong}", figure.id);
    }
    let boxes = boxes(svg);
    assert_eq!(
        boxes.len(),
        svg.matches("<text").count(),
        "{name}, {}",
        figure.id
    );
    for (index, (text, own)) in boxes.iter().enumerate() {
        assert!(
            own[0] > -0.5 && own[1] < WIDTH + 0.5,
            "{name}, {}: `{text}` is cut",
            figure.id
        );
        for (other, its) in &boxes[index + 1..] {
            let apart =
                own[1] <= its[0] || its[1] <= own[0] || own[3] <= its[2] || its[3] <= own[2];
            assert!(apart, "{name}, {}: `{text}` overlaps `{other}`", figure.id);
        }
    }
    assert!(
        figure.table.rows.len() > 1,
        "{name}, {}: an empty table",
        figure.id
    );
}

#[test]
fn no_label_overlaps_another_and_all_numbers_are_finite() {
    for (name, figures) in &*ALL {
        for figure in figures {
            check(name, figure);
        }
        let ids: std::collections::BTreeSet<&str> = figures.iter().map(|it| &*it.id).collect();
        assert_eq!(ids.len(), figures.len(), "{name}: an id twice");
    }
}

#[test]
fn figures_are_drawn_as_they_were() {
    let drawn = ["runs/clear-win", "runs/failed-trials", "service", "two"];
    for (name, figures) in &*ALL {
        let file = name.rsplit('/').next().unwrap();
        for figure in figures.iter().filter(|_| drawn.contains(&name.as_str())) {
            let path = format!("figures/{file}.{}.svg", figure.id);
            expect_file![golden(&path)].assert_eq(&figure.svg);
        }
        let mut text = String::new();
        for it in figures {
            let _ = writeln!(text, "# {}\n{}\n\n{}", it.title, it.caption, it.table);
        }
        expect_file![golden(&format!("figures/{file}.txt"))].assert_eq(&text);
    }
}

/// User-defined names are plain text, whatever they contain.
#[test]
fn hostile_names_are_text() {
    let mut record = sample::clear_win();
    let hostile = "<script>alert(\"1\")</script>&\u{1b}[31m";
    record.header.plan.policies[1].name = hostile.to_owned();
    for trial in &mut record.trials {
        if trial.policy == "thp=never" {
            trial.policy = hostile.to_owned();
        }
    }
    let figures = figures(&record);
    assert!(figures.len() > 4);
    for figure in &figures {
        check("hostile", figure);
        assert!(!figure.svg.contains('\u{1b}'), "{}", figure.id);
    }
}

#[test]
fn every_class_has_its_colour() {
    let class = Regex::new("class=\"([^\"]*)\"").unwrap();
    for (_, figures) in &*ALL {
        for figure in figures {
            for found in class.captures_iter(&figure.svg) {
                for name in found[1].split_whitespace() {
                    assert!(STYLE.contains(&format!(".{name} ")), "{name} has no style");
                }
            }
        }
    }
}
