//! The words in the rows of a table appear only there.

use std::fs;
use std::path::{Path, PathBuf};

use hugewise_base::counter::{Counter, File, Place};
use hugewise_experiment::run::metric::{MetricId, measured};
use hugewise_experiment::run::policy::Acts;
use hugewise_experiment::run::policy::keys::KEYS;
use hugewise_fleet::period::better;
use hugewise_observe::stat::is_reading;

/// The sources of the central modules, of the collectors and of the program.
fn sources() -> Vec<(PathBuf, String)> {
    sources_of(&[
        "experiment/src/run",
        "attribute/src",
        "linux/src",
        "hugewise/src",
    ])
}

/// The sources of some modules, each without its tests.
fn sources_of(rooms: &[&str]) -> Vec<(PathBuf, String)> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let mut folders: Vec<PathBuf> = rooms
        .iter()
        .map(|room| root.join("crates").join(room))
        .collect();
    let mut sources = Vec::new();
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).expect("a folder of the checkout") {
            let path = entry.expect("an entry").path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|ext| ext == "rs") {
                let text = fs::read_to_string(&path).expect("UTF-8");
                let code = text.split("#[cfg(test)]").next().unwrap_or_default();
                sources.push((path, code.to_owned()));
            }
        }
    }
    sources.retain(|(path, _)| {
        let is_test = |part: &std::ffi::OsStr| part == "tests" || part == "tests.rs";
        !path.iter().any(is_test)
    });
    assert!(sources.len() > 20, "{} files", sources.len());
    sources
}

/// The files that contain one of the texts.
fn holders<'a>(sources: &'a [(PathBuf, String)], texts: &[String]) -> Vec<&'a Path> {
    let holds = |code: &str| texts.iter().any(|text| code.contains(text));
    let holders = sources.iter().filter(|(_, code)| holds(code));
    holders.map(|(path, _)| path.as_path()).collect()
}

#[test]
fn a_metric_is_spelled_in_its_table_alone() {
    let mut sources = sources();
    sources.extend(sources_of(&["base/src"]));
    assert!(sources.len() > 300, "{} files", sources.len());
    for id in MetricId::all() {
        let table = match id {
            MetricId::Counter(_) => "counter/table.rs",
            _ => "run/metric/table.rs",
        };
        let mut files = holders(&sources, &[format!("\"{id}\"")]);
        files.retain(|path| !path.ends_with("run/metric/cells.rs"));
        assert_eq!(files.len(), 1, "{id} is spelled in {files:?}");
        assert!(files[0].ends_with(table), "{id}: {files:?}");
    }
}

/// A new metric, if only its collection needs it, is a row and a match arm.
#[test]
fn a_metric_is_added_in_two_files() {
    let sources = sources();
    let id = MetricId::InvoluntarySwitchesTotal;
    let texts = [format!("\"{id}\""), format!("::{id:?}")];
    assert_eq!(holders(&sources, &texts).len(), 2);
}

/// A counter of the kernel is a row: the kernel's name for it appears only there. `smaps` has fields with the names of
/// `/proc/meminfo`, and `memory.events` of a cgroup (`spawn/cgroup.rs`) has `oom_kill`: these are not counters of the
/// machine.
#[test]
fn a_counter_is_added_in_one_file() {
    let users = sources_of(&[
        "base/src",
        "experiment/src",
        "fleet/src",
        "linux/src",
        "monitor/src",
        "observe/src",
    ]);
    let products = sources_of(&["fleet/src", "monitor/src"]);
    for counter in Counter::all() {
        let row = counter.row();
        let (sources, own) = match row.file {
            File::Vmstat | File::VmstatAndGroups => (&users, 1),
            File::Meminfo | File::SizeStats => (&products, 0),
            File::Khugepaged => continue,
        };
        for field in row.fields {
            let mut files = holders(sources, &[format!("\"{field}\"")]);
            files.retain(|path| !path.ends_with("spawn/cgroup.rs"));
            assert_eq!(files.len(), own, "{field} is spelled in {files:?}");
        }
    }
}

/// A counter is in each part of the program named by its row, and in no other; `export` and `watch` have separate
/// tests. A cgroup's anonymous memory is not a counter of the machine.
#[test]
fn a_counter_is_where_its_row_says() {
    for row in Counter::all().map(Counter::row) {
        let there = [
            (Place::Trial, measured(row.name).is_some()),
            (Place::Stat, is_reading(row.name)),
        ];
        for (place, is_there) in there.into_iter().filter(|_| row.file != File::Meminfo) {
            assert_eq!(
                is_there,
                row.places.contains(&place),
                "{place:?}: {}",
                row.name
            );
        }
        if let Some(metric) = row.fleet {
            assert_eq!(better(metric), row.better, "{metric}");
        }
    }
}

/// A key whose value is written to a file: its row, the fact of the host, and its reader.
#[test]
fn a_policy_key_is_added_in_three_files() {
    let sources = sources();
    let plain = |name: &str| !name.contains('.');
    let keys = KEYS.iter().filter(|key| key.acts == Acts::Making);
    for key in keys.filter(|key| plain(key.name)) {
        let name = key.name;
        let texts = [
            format!("\"{name}\""),
            format!("settings.{name}"),
            format!("`{name}=`"),
        ];
        let files = holders(&sources, &texts);
        assert!(files.len() <= 3, "{name} is spelled in {files:?}");
    }
}
