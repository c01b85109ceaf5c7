//! `tmpfs=`: tries to mount it, and finds the files that it hides from the program.

use std::ffi::OsStr;
use std::path::{Path, PathBuf, absolute};

use anyhow::Result;
use hugewise_experiment::run::plan::{LatencyPlace, Program};
use hugewise_experiment::run::policy::realise::Unreachable;
use hugewise_experiment::run::policy::{Policy, Tmpfs};
use hugewise_linux::spawn::{NoTmpfs, try_tmpfs};

use crate::options::Options;
use crate::{exit, program};

/// Mounts the tmpfs of a policy once, in a process that ends at once.
///
/// # Errors
/// The obstacle.
pub fn check(policy: &Policy) -> Result<(), Unreachable> {
    let Some(tmpfs) = &policy.settings.tmpfs else {
        return Ok(());
    };
    try_tmpfs(tmpfs).map_err(|why| {
        let (problem, remedy) = words(tmpfs, &why);
        Unreachable {
            policy: policy.name.clone(),
            problem,
            remedy: remedy.to_owned(),
        }
    })
}

fn words(tmpfs: &Tmpfs, why: &NoTmpfs) -> (String, &'static str) {
    const NAME: &str = "name the mount point of a tmpfs (`hugewise doctor -v` lists them)";
    let path = tmpfs.path();
    match why {
        NoTmpfs::NoDirectory => (format!("{path} is no directory"), NAME),
        NoTmpfs::NoMountPoint => (format!("{path} is not a mount point"), NAME),
        NoTmpfs::OtherKind(kind) => (format!("{path} is {kind}, not a tmpfs"), NAME),
        NoTmpfs::Refused(error) => (
            format!("this user cannot mount a tmpfs in a private namespace: {error}"),
            "run as root, or allow user namespaces (user.max_user_namespaces above 0; on Ubuntu \
             also kernel.apparmor_restrict_unprivileged_userns=0)",
        ),
    }
}

/// The files that the program would not find, as a doubt about the policy.
pub fn doubt(policy: &Policy) -> Option<String> {
    let path = policy.settings.tmpfs.as_ref()?.path();
    let files = std::fs::read_dir(path).ok()?.count();
    let files = match files {
        0 => return None,
        1 => "the file".to_owned(),
        many => format!("the {many} files"),
    };
    Some(format!(
        "the program starts with an empty {path}, without {files} now in it"
    ))
}

/// Refuses policies whose tmpfs would hide a file that a trial needs.
///
/// # Errors
/// The first such file.
pub fn check_hidden(options: &Options, policies: &[Policy], programs: &[Program]) -> Result<()> {
    let folder = options.directory.as_deref();
    let named = programs.iter().filter_map(|it| it.command.first());
    let named = named.map(|it| OsStr::new(it).to_owned());
    let words: Vec<_> = named.chain(options.command.first().cloned()).collect();
    let mut needed = needed(folder, words.iter().map(|it| it.as_os_str()));
    if options.server.service.is_some() {
        needed.push(("the folder of the server", std::env::temp_dir()));
    }
    let latency = options.latency.as_ref().map(|source| &source.place);
    if let Some(LatencyPlace::Files(path)) = latency {
        needed.push(("the file of --latency", PathBuf::from(path)));
    }
    policies.iter().try_for_each(|it| refuse(it, &needed))
}

/// The same for one command.
///
/// # Errors
/// As above.
pub fn check_hidden_from(policy: &Policy, program: &OsStr) -> Result<()> {
    refuse(policy, &needed(None, [program]))
}

/// The working directory and the programs, with a name for each.
fn needed<'a>(
    folder: Option<&Path>,
    programs: impl IntoIterator<Item = &'a OsStr>,
) -> Vec<(&'static str, PathBuf)> {
    let directory = folder.unwrap_or(Path::new(".")).to_owned();
    let programs = programs
        .into_iter()
        .filter_map(|word| Some(("the program", program::file(word, folder)?)));
    std::iter::once(("the working directory", directory))
        .chain(programs)
        .collect()
}

fn refuse(policy: &Policy, needed: &[(&str, PathBuf)]) -> Result<()> {
    let Some(tmpfs) = &policy.settings.tmpfs else {
        return Ok(());
    };
    // A file that does not exist yet has no other name.
    let hides = |path: &PathBuf| {
        let real = path.canonicalize().or_else(|_| absolute(path));
        real.is_ok_and(|path| tmpfs.hides(&path))
    };
    match needed.iter().find(|(_, path)| hides(path)) {
        None => Ok(()),
        Some((what, path)) => Err(exit::usage(format!(
            "policy `{}`: {what} {} would be hidden by the new tmpfs; move it",
            policy.name,
            path.display()
        ))),
    }
}
