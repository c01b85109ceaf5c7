use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use super::{Rows, TimeUnit};

/// The source of latencies: a reader, and its input.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct LatencySource {
    /// How it is read.
    pub reader: Reader,
    /// The unit of its numbers, if the source does not specify it.
    pub unit: Option<TimeUnit>,
    /// The options of a table or of lines of JSON.
    pub rows: Rows,
    /// The input.
    pub place: LatencyPlace,
}

/// The input, read after every trial.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LatencyPlace {
    /// The workload's stdout.
    Stdout,
    /// Files that the trial wrote: a path, whose last component may contain `*` and `?`.
    Files(String),
}

/// The formats.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Reader {
    /// wrk.
    Wrk,
    /// wrk2, which sends at a fixed rate.
    Wrk2,
    /// redis-benchmark, as text or with `--csv`.
    RedisBenchmark,
    /// memtier_benchmark `--json-out-file`.
    Memtier,
    /// The log of transactions of `pgbench -l`.
    PgbenchLog,
    /// An interval log of HdrHistogram.
    HdrLog,
    /// A table of percentiles of HdrHistogram (`.hgrm`).
    Hgrm,
    /// JMH `-rf json`.
    Jmh,
    /// Google Benchmark `--benchmark_format=json`.
    GoogleBenchmark,
    /// `go test -bench`.
    Go,
    /// hyperfine `--export-json`.
    Hyperfine,
    /// k6 `--out csv` or `--out json`.
    K6,
    /// `vegeta encode`, to CSV or JSON.
    Vegeta,
    /// hey `-o csv`.
    Hey,
    /// oha `--output-format json`.
    Oha,
    /// locust `--csv`: the file of statistics.
    Locust,
    /// fio `--output-format=json`.
    Fio,
    /// The lines that YCSB prints at the end.
    Ycsb,
    /// A column of a table: its name in the first line, or its number from 1.
    Csv(String),
    /// A field of one JSON object in each line; `a.b` is a field within a field.
    Jsonl(String),
}

/// The readers without a field: the word of each, and the program that writes its format.
#[rustfmt::skip]
const WORDS: [(&str, Reader, &str); 18] = [
    ("wrk", Reader::Wrk, "wrk --latency"),
    ("wrk2", Reader::Wrk2, "wrk2 --latency"),
    ("redis-benchmark", Reader::RedisBenchmark, "redis-benchmark"),
    ("memtier", Reader::Memtier, "memtier_benchmark --json-out-file FILE"),
    ("pgbench-log", Reader::PgbenchLog, "pgbench -l"),
    ("hdr-log", Reader::HdrLog, "HistogramLogWriter of HdrHistogram"),
    ("hgrm", Reader::Hgrm, "outputPercentileDistribution of HdrHistogram"),
    ("jmh", Reader::Jmh, "-rf json -rff FILE of JMH"),
    ("google-benchmark", Reader::GoogleBenchmark, "--benchmark_format=json"),
    ("go", Reader::Go, "go test -bench"),
    ("hyperfine", Reader::Hyperfine, "hyperfine --export-json FILE"),
    ("k6", Reader::K6, "k6 run --out csv=FILE"),
    ("vegeta", Reader::Vegeta, "vegeta encode"),
    ("hey", Reader::Hey, "hey -o csv"),
    ("oha", Reader::Oha, "oha --output-format json"),
    ("locust", Reader::Locust, "locust --csv PREFIX"),
    ("fio", Reader::Fio, "fio --output-format=json"),
    ("ycsb", Reader::Ycsb, "ycsb run"),
];

impl Reader {
    /// The word that users type.
    #[must_use]
    pub fn word(&self) -> String {
        match self {
            Self::Csv(column) => format!("csv:{column}"),
            Self::Jsonl(field) => format!("jsonl:{field}"),
            known => WORDS
                .iter()
                .find(|(_, reader, _)| reader == known)
                .map_or_else(String::new, |(word, ..)| (*word).to_owned()),
        }
    }

    /// Returns the command or option that writes the format, if it belongs to one program.
    #[must_use]
    pub fn written_by(&self) -> Option<&'static str> {
        let found = WORDS.iter().find(|(_, reader, _)| reader == self);
        found.map(|(.., writer)| *writer)
    }

    /// Returns true if the source has named benchmarks, with one aggregate figure that decides.
    #[must_use]
    pub fn is_of_benchmarks(&self) -> bool {
        matches!(
            self,
            Self::Jmh | Self::GoogleBenchmark | Self::Go | Self::Hyperfine
        )
    }

    /// The program that sends the requests, if it is known.
    #[must_use]
    pub fn program(&self) -> String {
        match self {
            Self::PgbenchLog => "pgbench".to_owned(),
            Self::Memtier => "memtier_benchmark".to_owned(),
            other => other.word(),
        }
    }

    /// Returns true if the user can choose the unit.
    fn takes_unit(&self) -> bool {
        matches!(
            self,
            Self::HdrLog | Self::Hgrm | Self::Csv(_) | Self::Jsonl(_)
        )
    }
}

impl LatencySource {
    /// One of each reader, for code that tries them all: readers with a field use `a`, in milliseconds.
    pub fn of_each_reader() -> impl Iterator<Item = Self> {
        let field = || "a".to_owned();
        let with_field = [Reader::Csv(field()), Reader::Jsonl(field())];
        let plain = WORDS.into_iter().map(|(_, reader, _)| (reader, None));
        let with_field = with_field.map(|reader| (reader, Some(TimeUnit::Millis)));
        plain.chain(with_field).map(|(reader, unit)| Self {
            reader,
            unit,
            rows: Rows::default(),
            place: LatencyPlace::Stdout,
        })
    }

    /// The unit of the numbers: the requested one, the one in the name of the field, or the convention of the format
    /// (nanoseconds in logs, milliseconds in tables of percentiles).
    #[must_use]
    pub fn unit(&self) -> TimeUnit {
        let by_custom = match &self.reader {
            Reader::Csv(field) | Reader::Jsonl(field) => TimeUnit::of_name(field),
            Reader::Hgrm => Some(TimeUnit::Millis),
            _ => None,
        };
        self.unit.or(by_custom).unwrap_or(TimeUnit::Nanos)
    }

    /// The default verdict metric: one that the trial's length does not fix. A load of fixed duration takes that time
    /// under every policy. `None` if the source names its metrics and has no aggregate.
    #[must_use]
    pub fn verdict_metric(&self) -> Option<&'static str> {
        match self.reader {
            Reader::Wrk | Reader::Memtier | Reader::Oha | Reader::Locust | Reader::Ycsb => {
                Some("throughput_per_second")
            }
            Reader::Wrk2 => Some("latency_p99_seconds"),
            Reader::PgbenchLog
            | Reader::HdrLog
            | Reader::Hgrm
            | Reader::K6
            | Reader::Vegeta
            | Reader::Hey
            | Reader::Csv(_)
            | Reader::Jsonl(_) => Some("latency_seconds"),
            ref benchmarks if benchmarks.is_of_benchmarks() => Some("latency_seconds"),
            _ => None,
        }
    }
}

impl FromStr for LatencySource {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (word, rest) = part(text);
        let (word, rest, field) = match word {
            "csv" | "jsonl" => {
                let (field, rest) = part(rest.unwrap_or_default());
                (word, rest, field)
            }
            _ => (word, rest, word),
        };
        let (field, rows) = Rows::part_off(field)?;
        let (field, unit) = match field.split_once('@') {
            Some((field, unit)) => (field, Some(unit.parse()?)),
            None => (field, None),
        };
        let reader = match word {
            "csv" => Reader::Csv(field.to_owned()),
            "jsonl" => Reader::Jsonl(field.to_owned()),
            _ => known(field)?,
        };
        let source = Self {
            place: match rest {
                None | Some("stdout") => LatencyPlace::Stdout,
                Some(path) => LatencyPlace::Files(checked(path)?),
            },
            reader,
            unit,
            rows,
        };
        source.check(text)?;
        Ok(source)
    }
}

impl LatencySource {
    fn check(&self, text: &str) -> Result<(), String> {
        if self.unit.is_some() && !self.reader.takes_unit() {
            return Err(format!("`{text}`: {} has fixed units", self.reader.word()));
        }
        let (Reader::Csv(field) | Reader::Jsonl(field)) = &self.reader else {
            return match self.rows.is_empty() {
                false => Err(format!(
                    "`{text}`: only csv:COLUMN and jsonl:FIELD are told where times and failures \
                     stand, and which rows count"
                )),
                true => Ok(()),
            };
        };
        if field.is_empty() {
            return Err(format!(
                "`{text}` names no field; write csv:COLUMN or jsonl:FIELD"
            ));
        }
        if self.unit.is_none() && TimeUnit::of_name(field).is_none() {
            return Err(format!(
                "`{text}`: the unit of `{field}` is not known; write {}@ms (or ns, us, s)",
                self.reader.word()
            ));
        }
        Ok(())
    }
}

/// Splits at the next colon.
fn part(text: &str) -> (&str, Option<&str>) {
    match text.split_once(':') {
        Some((part, rest)) => (part, Some(rest)),
        None => (text, None),
    }
}

fn known(word: &str) -> Result<Reader, String> {
    let found = WORDS.iter().find(|(known, ..)| *known == word);
    found.map(|(_, reader, _)| reader.clone()).ok_or_else(|| {
        let words: Vec<&str> = WORDS.iter().map(|(word, ..)| *word).collect();
        format!(
            "`{word}` is no reader; there are {}, csv:COLUMN and jsonl:FIELD",
            words.join(", ")
        )
    })
}

fn checked(path: &str) -> Result<String, String> {
    let folder = path.rsplit_once('/').map_or("", |(folder, _)| folder);
    if path.is_empty() || path.ends_with('/') {
        return Err("the source names no file; write READER:FILE".to_owned());
    }
    if folder.contains(['*', '?']) {
        return Err(format!("`{path}`: only the last part may hold * and ?"));
    }
    Ok(path.to_owned())
}

impl fmt::Display for LatencySource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.reader.word())?;
        if let Some(unit) = self.unit {
            write!(f, "@{}", unit.word())?;
        }
        write!(f, "{}", self.rows)?;
        match &self.place {
            LatencyPlace::Stdout => Ok(()),
            LatencyPlace::Files(path) => write!(f, ":{path}"),
        }
    }
}

impl TryFrom<String> for LatencySource {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        text.parse()
    }
}

impl From<LatencySource> for String {
    fn from(source: LatencySource) -> Self {
        source.to_string()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn words_are_read_and_written() {
        for text in [
            "wrk",
            "hdr-log@us:/tmp/a:b.hlog",
            "csv:latency_ms",
            "csv:3@us:out-*.csv",
            "jsonl:request.took@ns:log.jsonl",
            "csv:took_us,began=at_ns",
            "jsonl:took@ms,ended=request.at@us:log.jsonl",
            "csv:elapsed@ms,where=label=Home page,ok=success:results.jtl",
            "jsonl:latency@ns,where=type=Point,where=metric=a=b,status=code",
            "csv:3@us,began=1@ns,failed=error",
        ] {
            let source: LatencySource = text.parse().expect("good");
            assert_eq!(source.to_string(), text);
        }
        let source: LatencySource = "wrk:stdout".parse().expect("good");
        assert_eq!(source.place, LatencyPlace::Stdout);
        assert_eq!(
            "csv:a_us".parse::<LatencySource>().map(|s| s.unit()),
            Ok(TimeUnit::Micros)
        );
    }

    #[test]
    fn faults_say_what_to_write() {
        for (text, word) in [
            ("wrk3", "redis-benchmark"),
            ("wrk@ms", "has fixed units"),
            ("csv", "names no field"),
            ("csv:latency", "csv:latency@ms"),
            ("csv:latency@h", "ns, us, ms or s"),
            ("csv:a_us,ended=", "names no field"),
            ("csv:a_us,ended=at", "ended=at@s"),
            ("wrk,ended=at_us", "only csv:COLUMN"),
            ("wrk,where=a=b", "only csv:COLUMN"),
            ("csv:a_us,where=a", "where=COLUMN=VALUE"),
            ("csv:a_us,failed=", "names no field"),
            ("csv:a_us,ok=a,status=b", "one thing twice"),
            ("wrk:", "names no file"),
            ("go:/tmp/*/x", "only the last part"),
        ] {
            let error = text.parse::<LatencySource>().expect_err(text);
            assert!(error.contains(word), "{text}: {error}");
        }
    }

    #[test]
    fn each_reader_is_typed_as_it_is_shown() {
        let all: Vec<LatencySource> = LatencySource::of_each_reader().collect();
        for (place, source) in all.iter().enumerate() {
            assert_eq!(source.to_string().parse().as_ref(), Ok(source));
            assert!(!all[..place].contains(source), "{source} is there twice");
        }
        assert_eq!(all.len(), WORDS.len() + 2, "csv and jsonl take a field");
    }

    proptest! {
        #[test]
        fn any_text_is_a_source_or_an_error(text in "(csv|jsonl|wrk|:|@|ms|,began=|,ended=|,where=|,ok=|,status=|=|[a-z*/]){0,8}|\\PC{0,20}") {
            if let Ok(source) = text.parse::<LatencySource>() {
                prop_assert_eq!(source.to_string().parse(), Ok(source));
            }
        }
    }
}
