//! Commands to paste into a shell. All words from a record are quoted here.

use crate::base::shell;
use crate::run::answer::{Command, ManualStep};
use crate::run::plan::service::CommandLine;
use crate::run::policy::realise::{
    EnvChange, FileWrite, MemoryLimits, Realisation, ThpPrctl, TreeTracer,
};
use crate::run::policy::{FilePages, Numa, Settings, Text, Tmpfs, environment};
use crate::run::record::{Header, Record};
use crate::text::wrap::{plain, quoted, quoted_words};

/// Longer workloads are replaced by a placeholder.
const WORKLOAD_WIDTH: usize = 200;

/// The placeholder for a workload.
const WORKLOAD: &str = "COMMAND";

impl Command {
    /// A line without effects other than those of the program it starts.
    pub(super) fn new(line: String) -> Self {
        Self {
            line,
            as_root: false,
            machine_wide: false,
        }
    }
}

/// The commands that apply a policy by hand, and the steps that have no command.
pub(super) fn by_hand(
    record: &Record,
    realisation: &Realisation,
) -> (Vec<Command>, Vec<ManualStep>) {
    let files = realisation.files.iter().map(of_machine);
    let arguments = &realisation.arguments;
    let placed = (!arguments.is_empty())
        .then(|| written(record, arguments))
        .flatten();
    let left = (placed.is_none() && !arguments.is_empty())
        .then(|| ManualStep::Arguments(quoted_words(arguments)));
    let variables = environment(&realisation.environment, |_| None);
    let mut words = shell::environment(variables.iter().map(|(name, value)| (&**name, &**value)));
    let has_command = !words.is_empty() || placed.is_some();
    words.push(workload(record, arguments));
    let command = (has_command && !realisation.is_traced()).then(|| Command::new(words.join(" ")));
    let call = prctl(realisation.prctl).map(|call| ManualStep::Call(call.to_owned()));
    let steps = call
        .into_iter()
        .chain(surroundings(realisation))
        .chain(left);
    (files.chain(command).collect(), steps.collect())
}

/// The command that writes a system-wide setting.
pub(super) fn of_machine(file: &FileWrite) -> Command {
    Command {
        line: write(file),
        as_root: true,
        machine_wide: true,
    }
}

/// The command that runs the workload under a policy by `hugewise exec`; `None` if arguments alone are enough.
pub(super) fn exec(record: &Record, policy: &str, needs_system: bool) -> Option<Command> {
    let plan = &record.header.plan;
    let policy = plan.policies.iter().find(|known| known.name == policy)?;
    let workload = workload(record, &policy.settings.args);
    let settings = Settings {
        args: Vec::new(),
        ..policy.settings.clone()
    };
    if settings == Settings::default() {
        return None;
    }
    let system = match needs_system {
        true => "--system ",
        false => "",
    };
    Some(Command {
        line: format!(
            "hugewise exec {system}--policy {} -- {workload}",
            quoted(&settings.to_string())
        ),
        as_root: needs_system,
        machine_wide: needs_system,
    })
}

/// The workload with the arguments of a policy, quoted for a shell.
pub(super) fn workload(record: &Record, arguments: &[String]) -> String {
    written(record, arguments).unwrap_or_else(|| WORKLOAD.to_owned())
}

/// A command quoted for a shell, with its input; `None` if it is too long.
fn written(record: &Record, arguments: &[String]) -> Option<String> {
    let header = &record.header;
    let command = header.command_with(arguments);
    let line = command.first().filter(|_| header.plan.shell);
    // A line that begins with its program is pasted unchanged.
    let is_plain = |line: &&String| {
        CommandLine::Line((*line).clone()).program().is_some() && plain(line) == **line
    };
    let mut words = match (line.filter(is_plain), header.plan.shell) {
        (Some(line), _) => line.clone(),
        (None, true) => format!("/bin/sh -c {}", quoted_words(&command)),
        (None, false) => quoted_words(&command),
    };
    if let Some(input) = input(header) {
        words = format!("{words} < {input}");
    }
    if header.plan.service.is_some() {
        words = with_blanks(&words);
    }
    (words.chars().count() <= WORKLOAD_WIDTH).then_some(words)
}

/// The stdin of each trial: the file of `--stdin`, or a stdin without a known name.
fn input(header: &Header) -> Option<String> {
    let mut words = header.made_by.iter().take_while(|word| *word != "--");
    let file = words.find_map(|word| match word.strip_prefix("--stdin") {
        Some("") => Some(None),
        Some(path) => Some(path.strip_prefix('=').map(str::to_owned)),
        None => None,
    });
    match file {
        Some(Some(path)) => Some(quoted(&path)),
        Some(None) => words.next().map(|path| quoted(path)),
        None => header.stdin_bytes.map(|_| "INPUT".to_owned()),
    }
}

/// A command that measures again, with the same stdin as the first one.
pub(super) fn with_input(header: &Header, line: String) -> Command {
    let has_flag = header
        .made_by
        .iter()
        .any(|word| word.starts_with("--stdin"));
    let input = input(header).filter(|_| header.stdin_bytes.is_some() && !has_flag);
    Command::new(match input {
        Some(input) => format!("{line} < {input}"),
        None => line,
    })
}

/// `-p PORT` for `-p {port}`: each server has a different one, so the reader fills it in.
fn with_blanks(line: &str) -> String {
    let mut pieces = line.split('{');
    let mut filled = pieces.next().unwrap_or_default().to_owned();
    for piece in pieces {
        let place = piece.split_once('}');
        let place = place.filter(|(name, _)| name.chars().all(|c| c.is_ascii_lowercase()));
        match place {
            Some((name, rest)) => filled.extend([&name.to_ascii_uppercase(), rest]),
            None => filled.extend(["{", piece]),
        }
    }
    filled
}

fn write(file: &FileWrite) -> String {
    shell::write(&file.path, &file.value)
}

/// How a policy is applied by hand, in the order of the steps, one sentence each.
#[must_use]
pub fn describe(realisation: &Realisation) -> Vec<String> {
    let mut steps: Vec<String> = prctl(realisation.prctl)
        .into_iter()
        .chain(tracer(&realisation.tracer))
        .map(str::to_owned)
        .collect();
    steps.extend(surroundings(realisation).map(|step| match step {
        ManualStep::CgroupLimits(limits) => format!(
            "a separate cgroup, as by systemd-run --scope -p {}",
            limits.join(" -p ")
        ),
        ManualStep::Mount(line) => format!("for all programs {line} (as root)"),
        ManualStep::Call(text) | ManualStep::Prefix(text) | ManualStep::Arguments(text) => text,
    }));
    steps.extend(later(realisation));
    steps.extend(realisation.environment.iter().map(variable));
    let arguments = &realisation.arguments;
    let among = || format!("{} among its arguments", quoted_words(arguments));
    steps.extend((!arguments.is_empty()).then(among));
    steps.extend(
        realisation
            .files
            .iter()
            .map(|file| format!("{} (as root)", write(file))),
    );
    steps
}

/// The limits of the program's memory, its nodes, its files and its shared memory.
fn surroundings(realisation: &Realisation) -> impl Iterator<Item = ManualStep> {
    let MemoryLimits {
        max_bytes,
        high_bytes,
    } = realisation.limits;
    let max = max_bytes.map(|bytes| format!("MemoryMax={bytes}"));
    let high = high_bytes.map(|bytes| format!("MemoryHigh={bytes}"));
    let limits: Vec<String> = [max, high].into_iter().flatten().collect();
    let group = (!limits.is_empty()).then_some(ManualStep::CgroupLimits(limits));
    let numa = realisation
        .numa
        .as_ref()
        .map(Numa::numactl)
        .map(ManualStep::Prefix);
    let mount = realisation.tmpfs.as_ref().map(Tmpfs::remount);
    let calls = realisation.file.as_ref().map(FilePages::calls);
    group
        .into_iter()
        .chain(calls.map(ManualStep::Call))
        .chain(numa)
        .chain(mount.map(ManualStep::Mount))
}

fn prctl(prctl: ThpPrctl) -> Option<&'static str> {
    match prctl {
        ThpPrctl::Leave => None,
        ThpPrctl::Clear => {
            Some("prctl(PR_SET_THP_DISABLE, 0, 0, 0, 0) before exec, if a parent set it")
        }
        ThpPrctl::Disable => Some("prctl(PR_SET_THP_DISABLE, 1, 0, 0, 0) before exec"),
        ThpPrctl::ExceptAdvised => {
            Some("prctl(PR_SET_THP_DISABLE, 1, PR_THP_DISABLE_EXCEPT_ADVISED, 0, 0) before exec")
        }
    }
}

fn tracer(tracer: &TreeTracer) -> Option<&'static str> {
    match tracer {
        TreeTracer::None => None,
        TreeTracer::Idle => Some("madvise(MADV_NORMAL) after each large mmap, by a tracer"),
        TreeTracer::Huge => {
            Some("madvise(MADV_HUGEPAGE) after each large mmap: in the program, or by a tracer")
        }
        TreeTracer::Sites(_) => Some("madvise(2) after the mmap of each site, by a tracer"),
    }
}

/// Memory and code made huge while the program runs.
fn later(realisation: &Realisation) -> impl Iterator<Item = String> {
    let collapse = realisation.collapse.map(|when| {
        let when = when.clause();
        format!("madvise(MADV_COLLAPSE) of memory in use {when}: in the program, or by a tracer")
    });
    let text = realisation.text.map(|text| match text {
        Text::Huge => {
            "its code in huge pages: by the program itself (node --use-largepages=on), or by a tracer"
        }
        Text::File => {
            "its code in huge pages of the page cache, before each start after it left the cache: \
             by hugewise exec, or read through a mapping with MADV_HUGEPAGE"
        }
    });
    collapse.into_iter().chain(text.map(str::to_owned))
}

fn variable(change: &EnvChange) -> String {
    match change {
        EnvChange::Set { name, value } => shell::assignment(name, value),
        EnvChange::Append {
            name,
            separator,
            value,
        } => listed(name, value, "append after", *separator),
        EnvChange::Prepend {
            name,
            separator,
            value,
        } => listed(name, value, "put before it, with", *separator),
    }
}

fn listed(name: &str, value: &str, how: &str, separator: char) -> String {
    format!(
        "{} (if it is set already: {how} `{}`)",
        shell::assignment(name, value),
        plain(&separator.to_string())
    )
}
