//! The input of a verb, in any size.

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use anyhow::{Context, Result};
use hugewise_fleet::simulate::Fleet;
use serde_json::Value;

use super::super::inspect::Subject as Held;
use super::super::watched::Folder;

/// Where things are.
pub struct Place<'a> {
    pub program: PathBuf,
    pub lab: PathBuf,
    pub folder: &'a Folder,
}

/// A command line with environment variables.
pub struct Words {
    pub line: Vec<String>,
    pub environment: Vec<(String, String)>,
}

/// One measured command, and the objects that must live during it.
pub struct Subject {
    pub command: Words,
    _held: Option<Held>,
    _crowd: Crowd,
}

/// A growing quantity, and the verb that reads it.
pub struct Axis {
    pub what: &'static str,
    pub verb: &'static str,
    /// The first is almost nothing.
    pub sizes: &'static [u64],
    /// The resource that each unit needs.
    pub takes: Takes,
    pub make: fn(&Place<'_>, u64) -> Result<Subject>,
}

/// The resource that one more unit needs, if a machine can lack it for the largest sizes.
#[derive(Clone, Copy)]
pub enum Takes {
    Little,
    Bytes(u64),
    /// On each processor.
    Descriptors(u64),
}

/// All measurements.
pub const AXES: &[Axis] = &[
    Axis {
        what: "mappings",
        verb: "inspect PID",
        sizes: &[1, 1000, 4000, 16_000, 60_000],
        takes: Takes::Little,
        make: mappings,
    },
    Axis {
        what: "resident MiB in small pages",
        verb: "inspect PID",
        sizes: &[1, 1024, 2048, 4096, 8192, 16_384],
        takes: Takes::Bytes(1 << 20),
        make: |place, mib| resident(place, mib, &["inspect"]),
    },
    Axis {
        what: "processes",
        verb: "inspect --all",
        sizes: &[1, 250, 1000, 4000],
        takes: Takes::Little,
        make: |place, count| crowd(place, count, &["inspect", "--all"]),
    },
    Axis {
        what: "processes",
        verb: "advise --all",
        sizes: &[1, 250, 1000, 4000],
        takes: Takes::Little,
        make: |place, count| crowd(place, count, &["advise", "--all"]),
    },
    Axis {
        what: "processes",
        verb: "doctor",
        sizes: &[1, 250, 1000, 4000],
        takes: Takes::Little,
        make: |place, count| crowd(place, count, &["doctor"]),
    },
    Axis {
        what: "processes",
        verb: "export --once --group",
        sizes: &[1, 250, 1000, 4000],
        takes: Takes::Little,
        make: |place, count| crowd(place, count, &["export", "--once", "--group", "all=*"]),
    },
    Axis {
        what: "resident MiB in small pages",
        verb: "collapse --dry-run PID",
        sizes: &[1, 1024, 2048, 4096, 8192, 16_384],
        takes: Takes::Bytes(1 << 20),
        make: |place, mib| resident(place, mib, &["collapse", "--dry-run"]),
    },
    Axis {
        what: "threads",
        verb: "stat -p PID",
        sizes: &[1, 100, 300, 1000, 3000],
        takes: Takes::Little,
        make: |place, count| watched(place, count, "stat"),
    },
    Axis {
        what: "threads",
        verb: "faults -p PID",
        sizes: &[1, 100, 300, 900, 1800, 3000],
        takes: Takes::Descriptors(5),
        make: |place, count| watched(place, count, "faults"),
    },
    Axis {
        what: "page faults in one run",
        verb: "faults -- COMMAND",
        sizes: &[1, 50_000, 200_000, 800_000],
        takes: Takes::Little,
        make: faults,
    },
    Axis {
        what: "trials of a record",
        verb: "report FILE",
        sizes: &[40, 1000, 3000, 10_000, 30_000],
        takes: Takes::Little,
        make: trials,
    },
    Axis {
        what: "records in the folder",
        verb: "report",
        sizes: &[1, 100, 1000, 10_000],
        takes: Takes::Little,
        make: |place, count| records(place, count, "report"),
    },
    Axis {
        what: "records in the folder",
        verb: "history",
        sizes: &[1, 100, 1000, 3000],
        takes: Takes::Little,
        make: |place, count| records(place, count, "history"),
    },
    Axis {
        what: "hosts with 8 rows each",
        verb: "fleet analyse ROWS",
        sizes: &[10, 100, 1000, 10_000],
        takes: Takes::Little,
        make: fleet,
    },
];

impl Place<'_> {
    fn subject(&self, words: &[&str], held: Option<Held>) -> Subject {
        let words = words.iter().map(|&word| word.to_owned());
        Subject {
            command: Words {
                line: std::iter::once(self.program.display().to_string())
                    .chain(words)
                    .collect(),
                environment: Vec::new(),
            },
            _held: held,
            _crowd: Crowd(Vec::new()),
        }
    }

    fn held(&self, options: &[(&str, u64)]) -> Result<(String, Held)> {
        let held = Held::start(&self.lab, options)?;
        Ok((held.pid().to_string(), held))
    }
}

fn mappings(place: &Place<'_>, count: u64) -> Result<Subject> {
    let (pid, held) = place.held(&[("--count", count)])?;
    Ok(place.subject(&["inspect", &pid], Some(held)))
}

/// A verb that reads the small pages of a process.
fn resident(place: &Place<'_>, mib: u64, words: &[&str]) -> Result<Subject> {
    let pages = mib * 256;
    let (pid, held) = place.held(&[("--count", 0), ("--pages", pages), ("--touch", pages)])?;
    Ok(place.subject(&[words, &[&pid]].concat(), Some(held)))
}

/// A verb that reads all processes, with this number of idle ones.
fn crowd(place: &Place<'_>, count: u64, words: &[&str]) -> Result<Subject> {
    let mut crowd = Crowd(Vec::new());
    for _ in 0..count {
        let mut sleep = Command::new("sleep");
        let sleep = sleep.arg("3600").stdin(Stdio::null()).stdout(Stdio::null());
        crowd.0.push(sleep.spawn().context("starting sleep")?);
    }
    Ok(Subject {
        _crowd: crowd,
        ..place.subject(words, None)
    })
}

/// A verb that opens events of each thread.
fn watched(place: &Place<'_>, count: u64, verb: &str) -> Result<Subject> {
    let (pid, held) = place.held(&[("--count", 0), ("--threads", count)])?;
    let words = [verb, "--quiet", "--duration", "100ms", "-p", &pid];
    let mut subject = place.subject(&words, Some(held));
    // Each thread needs file descriptors, more than the usual initial limit.
    let raised = ["sh", "-c", "ulimit -n $(ulimit -H -n); exec \"$@\"", "sh"];
    let raised = raised.map(str::to_owned);
    subject.command.line.splice(0..0, raised);
    Ok(subject)
}

fn faults(place: &Place<'_>, count: u64) -> Result<Subject> {
    let (lab, pages) = (place.lab.display().to_string(), count.to_string());
    let words = ["faults", "--quiet", "--", &lab, "touch", "--pages", &pages];
    Ok(place.subject(&words, None))
}

/// The rounds of a real record, repeated with all readings of a trial.
fn trials(place: &Place<'_>, count: u64) -> Result<Subject> {
    let path = place.folder.file("trials.jsonl");
    fs::write(
        &path,
        repeated(Path::new("docs/records/python-dict.jsonl"), count)?,
    )?;
    Ok(place.subject(&["report", &path], None))
}

/// Extends a record of a few trials to this number of trials.
fn repeated(record: &Path, count: u64) -> Result<String> {
    let text = fs::read_to_string(record)?;
    let lines: Result<Vec<Value>, _> = text.lines().map(serde_json::from_str).collect();
    let lines = lines?;
    let trials: Vec<&Value> = lines
        .iter()
        .filter(|line| line["line"] == "trial")
        .collect();
    let rounds = trials
        .iter()
        .filter_map(|trial| trial["round"].as_u64())
        .max();
    let rounds = rounds.context("a record without trials")? + 1;
    let mut all = format!("{}\n", lines.first().context("an empty record")?);
    for index in 0..count {
        let (again, place) = (index / trials.len() as u64, index % trials.len() as u64);
        let mut trial = trials[usize::try_from(place)?].clone();
        let round = trial["round"].as_u64().context("a trial without a round")?;
        trial["round"] = (again * rounds + round).into();
        trial["index"] = index.into();
        writeln!(all, "{trial}")?;
    }
    writeln!(all, "{}", lines.last().context("an empty record")?)?;
    Ok(all)
}

fn records(place: &Place<'_>, count: u64, verb: &str) -> Result<Subject> {
    let state = place.folder.file("state");
    let folder = Path::new(&state).join("hugewise");
    fs::create_dir_all(&folder)?;
    let record = fs::read("fixtures/runs/two-policies.jsonl")?;
    for index in 0..count {
        fs::write(folder.join(format!("{index}.jsonl")), &record)?;
    }
    let mut subject = place.subject(&[verb], None);
    let variable = ("XDG_STATE_HOME".to_owned(), state);
    subject.command.environment.push(variable);
    Ok(subject)
}

/// The rows of a simulated fleet.
fn fleet(place: &Place<'_>, hosts: u64) -> Result<Subject> {
    let fleet = Fleet {
        hosts: usize::try_from(hosts)?,
        ..Fleet::quiet()
    };
    let mut text = String::new();
    for row in fleet.rows(1) {
        writeln!(text, "{}", serde_json::to_string(&row)?)?;
    }
    let path = place.folder.file("rows.jsonl");
    fs::write(&path, text)?;
    Ok(place.subject(&["fleet", "analyse", &path], None))
}

/// Processes that are ended on drop.
struct Crowd(Vec<Child>);

impl Drop for Crowd {
    fn drop(&mut self) {
        for child in &mut self.0 {
            let _ = child.kill();
        }
        for child in &mut self.0 {
            let _ = child.wait();
        }
    }
}
