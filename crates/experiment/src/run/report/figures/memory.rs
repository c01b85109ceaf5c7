//! Huge memory under each policy, trial by trial or second by second, with the settings as read back.

use super::super::arms::{Arm, arms};
use super::rounds::Joined;
use super::{rounds, seconds};
use crate::base::host::ThpDisable;
use crate::base::units::bytes_text;
use crate::run::compare::medians::{Medians, arm_trials};
use crate::run::metric::MetricId;
use crate::run::record::Record;
use crate::run::trial::{ReadBack, Role};
use crate::text::figure::Figure;
use crate::text::grid::{Align, Grid};
use crate::text::number::Scaler;
use crate::text::wrap::plain;

const METRIC: MetricId = MetricId::HugeAnonPeakBytes;
const TITLE: &str = "Huge memory, and the active settings";

pub(super) fn figure(record: &Record) -> Option<Figure> {
    let trials = arms(record, METRIC.name());
    let tried: Vec<Arm<'_>> = trials
        .into_iter()
        .filter(|arm| arm.role == Role::Arm)
        .collect();
    let values: Vec<f64> = tried.iter().flat_map(Arm::values).collect();
    let unit = &METRIC.metric().unit;
    let scaler = Scaler::for_row(unit, &values);
    let by_trial = || {
        let some = values.iter().any(|value| *value > 0.0);
        some.then(|| rounds::draw(&tried, unit, &scaler, Joined::Not, TITLE))
            .flatten()
    };
    let by_second = seconds::huge(record, TITLE);
    let over = match by_second {
        Some(_) => "Huge memory of the server in each second of load, the median over trials",
        None => "The most huge memory of each trial, round by round",
    };
    Some(Figure {
        id: "memory".to_owned(),
        title: TITLE.to_owned(),
        caption: format!("{over}; the table shows the kernel's settings while the program ran."),
        svg: by_second.or_else(by_trial)?,
        table: table(record, &scaler),
    })
}

fn table(record: &Record, scaler: &Scaler) -> Grid {
    let align = [Align::Left, Align::Right, Align::Wrapped];
    let heads = ["policy", "huge memory", "settings read back"];
    let mut grid = Grid::headed(&heads).aligned(&align);
    let medians = Medians::of(record);
    for policy in &record.header.plan.policies {
        let value = medians.get(&policy.name, METRIC);
        let value = value.map_or_else(|_| "–".to_owned(), |value| scaler.show(value));
        grid.push([plain(&policy.name), value, settings(record, &policy.name)]);
    }
    grid
}

/// The values read back in the trials of a policy, with the number of trials if they differ.
fn settings(record: &Record, policy: &str) -> String {
    let mut found: Vec<(String, usize)> = Vec::new();
    for trial in arm_trials(record, policy) {
        let text = words(&trial.read_back).join(", ");
        match found.iter_mut().find(|(known, _)| *known == text) {
            Some((_, count)) => *count += 1,
            None => found.push((text, 1)),
        }
    }
    let several = found.len() > 1;
    let text = |(text, count): (String, usize)| match several {
        true => format!("{count} ×: {text}"),
        false => text,
    };
    found.into_iter().map(text).collect::<Vec<_>>().join("; ")
}

fn words(read: &ReadBack) -> Vec<String> {
    let files = read.files.iter().map(|(path, value)| {
        let name = path.rsplit("kernel/mm/").next().unwrap_or(path);
        format!("{name} = {value}")
    });
    let prctl = match read.thp_disable {
        None | Some(ThpDisable::Off) => None,
        Some(_) => Some("huge pages forbidden by prctl".to_owned()),
    };
    let allocator = read.allocator.as_ref().map(|path| match path.as_str() {
        "" => "allocator not loaded".to_owned(),
        path => format!("allocator {path}"),
    });
    let runtimes = read
        .runtimes
        .iter()
        .map(|(key, value)| format!("{key} = {value}"));
    let numa = read.numa.as_ref().map(|numa| format!("NUMA {numa}"));
    let cached = read.file_cache.map(|it| {
        let [huge, all] = [it.huge_bytes, it.bytes].map(bytes_text);
        format!("{huge} of {all} of the files huge")
    });
    let tmpfs = read.tmpfs.as_ref().map(|mode| format!("tmpfs huge={mode}"));
    let all = files
        .chain(prctl)
        .chain(allocator)
        .chain(runtimes)
        .chain(numa)
        .chain(tmpfs)
        .chain(cached);
    all.map(|text| plain(&text)).collect()
}
