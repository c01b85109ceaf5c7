//! File locations: records in the user's state folder, the undo journal in the machine's.

use std::fs::DirBuilder;
use std::io;
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use hugewise_base::calendar;
use hugewise_base::host::Host;
use hugewise_experiment::run::policy::realise::Realisation;
use hugewise_linux::apply::{Machine, preload};
use hugewise_linux::machine::identity;
use hugewise_linux::machine::root::Root;
use hugewise_linux::machine::turn::{self, Settings};
use hugewise_linux::probe::{self, Environment};
use hugewise_linux::undo::{self, UndoFolder};

use crate::{exit, invoker};

/// The folder of the undo journal. The settings are system-wide, so all users share it.
pub fn machine_state() -> PathBuf {
    PathBuf::from("/var/lib/hugewise")
}

/// Prepares to write the machine's settings, and restores what an earlier experiment left. If a running process holds
/// the settings, they stay unchanged.
pub fn begin(root: &Root, settings: Settings, wanted: &[&Realisation]) -> Result<Machine> {
    wanted.iter().try_for_each(|it| install_library(it))?;
    let place = UndoFolder::new(root, &machine_state());
    let Settings::Ours(hold) = settings else {
        return Ok(Machine::held_by_others(place));
    };
    let machine = Machine::begin(hold, place, wanted).and_then(Machine::guarded);
    machine.map_err(|error| {
        exit::refused(match root_is_needed() {
            Some(needed) => format!("nothing was run: {error}; {needed}"),
            None => format!("nothing was run: {error}"),
        })
    })
}

/// Installs the library that a policy preloads, if any.
pub fn install_library(realisation: &Realisation) -> Result<()> {
    let library = realisation.library.as_deref().map(Path::new);
    let installed = library.map_or(Ok(()), preload::install);
    installed.map_err(|error| exit::refused(format!("nothing was run: {error}")))
}

/// Returns true if an experiment was cut short and its settings still have to be restored. A running experiment has a
/// journal too, but holds the settings.
pub fn is_left_over() -> bool {
    machine_state().join(undo::JOURNAL_FILE).exists() && turn::settings_holder().is_none()
}

/// The hint for an ordinary user if an experiment of root left settings changed.
pub fn root_is_needed() -> Option<&'static str> {
    (!identity::is_root() && machine_state().join(undo::JOURNAL_FILE).exists())
        .then_some("only root can restore it: sudo hugewise doctor --undo")
}

/// The environment variables that probing reads.
pub fn environment() -> Environment {
    let read = |name: &str| std::env::var(name).ok();
    Environment {
        sudo_uid: read("SUDO_UID"),
        glibc_tunables: read("GLIBC_TUNABLES"),
        program: std::env::current_exe()
            .ok()
            .map(|path| path.display().to_string()),
    }
}

/// The facts about this machine.
pub fn host(root: &Root) -> Result<Host> {
    Ok(probe::host(
        root,
        &probe::answers_without_tracing(root, environment())?,
    )?)
}

/// The laboratory program, installed in the same folder as this one.
pub fn laboratory() -> Result<PathBuf> {
    let own = std::env::current_exe()?;
    let path = own.with_file_name("hugewise-lab");
    if path.is_file() {
        return Ok(path);
    }
    Err(exit::usage(format!(
        "this needs the program hugewise-lab in the same folder, and {} does not exist (cargo \
         build -p hugewise-lab)",
        path.display()
    )))
}

/// A new path for a record in `$XDG_STATE_HOME/hugewise` or `~/.local/state/hugewise`, named after the time and the
/// program. Creates the folder with the invoking user's permissions.
pub fn new_record(program: &str, unix_ms: u64) -> Result<PathBuf> {
    let folder = records()?;
    let made = invoker::rights()?.lend(|| make_folder(&folder));
    made.map_err(|error| {
        exit::usage(format!(
            "making {} for the record: {error}; choose another place with --out FILE",
            folder.display()
        ))
    })?;
    let program = Path::new(program).file_name().map_or_else(
        || "command".to_owned(),
        |name| {
            name.to_string_lossy()
                .chars()
                .filter(|c| is_plain(*c))
                .take(40)
                .collect()
        },
    );
    let stamp = calendar::stamp(unix_ms);
    let free = (0_u32..)
        .map(|nth| match nth {
            0 => folder.join(format!("{stamp}-{program}.jsonl")),
            _ => folder.join(format!("{stamp}-{program}-{nth}.jsonl")),
        })
        .find(|path| !path.exists());
    free.context("no free name for the record")
}

/// The folder of the records that were made without `--out`.
pub fn records() -> Result<PathBuf> {
    Ok(state_home()?.join("hugewise"))
}

/// Makes a folder and its parents.
fn make_folder(folder: &Path) -> io::Result<()> {
    if folder.is_dir() {
        return Ok(());
    }
    if let Some(above) = folder.parent() {
        make_folder(above)?;
    }
    let mode = if is_temporary(folder) { 0o700 } else { 0o777 };
    DirBuilder::new().mode(mode).create(folder)
}

fn is_plain(c: char) -> bool {
    c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.')
}

/// The state folder, owned by the user: in a shared folder another user could create the names first. Under sudo it is
/// the invoking user's, who may not have access to root's home. Without a writable home, as in many containers, root
/// uses the machine's folder, and others use a private temporary folder.
fn state_home() -> Result<PathBuf> {
    let absolute = |name: &str| {
        std::env::var_os(name)
            .map(PathBuf::from)
            .filter(|path| path.is_absolute())
    };
    let rights = invoker::rights()?;
    let below = |home: PathBuf| home.join(".local/state");
    let fit = |folder: &PathBuf| rights.lend(|| Ok(can_be_made(folder))).is_ok_and(|fit| fit);
    let named = absolute("XDG_STATE_HOME").filter(|folder| !rights.are_lent() || fit(folder));
    let own = absolute("HOME").map(below).filter(fit);
    let invoking = || {
        let identity = invoker::identity().ok().flatten();
        identity.map(|who| below(who.home)).filter(fit)
    };
    match named.or(own).or_else(invoking) {
        Some(home) => Ok(home),
        None if identity::is_root() && !rights.are_lent() => Ok(PathBuf::from("/var/lib")),
        None => private_temporary(rights.uid()),
    }
}

/// Returns true if a folder is writable or could be created.
fn can_be_made(folder: &Path) -> bool {
    let mut there = folder.ancestors().filter(|folder| folder.exists());
    there.next().is_some_and(identity::may_write)
}

/// The temporary folder of a user.
fn temporary(user: u32) -> PathBuf {
    std::env::temp_dir().join(format!("hugewise-user-{user}"))
}

/// Returns true if a record is in the user's temporary folder because the user has no writable home.
pub fn is_temporary(path: &Path) -> bool {
    invoker::rights().is_ok_and(|rights| path.starts_with(temporary(rights.uid())))
}

/// An existing temporary folder that only we can enter. It is created only to write a record, never to search for one.
fn private_temporary(user: u32) -> Result<PathBuf> {
    let folder = temporary(user);
    let refused = |why: String| {
        exit::usage(format!(
            "no home folder can be written, and {} cannot be used: {why}; name a record with \
             --out FILE",
            folder.display()
        ))
    };
    let found = match folder.symlink_metadata() {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(folder),
        found => found.map_err(|error| refused(error.to_string()))?,
    };
    let is_private = found.is_dir() && found.uid() == user && found.mode() & 0o077 == 0;
    match is_private {
        true => Ok(folder),
        false => Err(refused(
            "it is another user's, or open to others".to_owned(),
        )),
    }
}
