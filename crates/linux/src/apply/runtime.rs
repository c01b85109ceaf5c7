//! Asks runtimes, before a trial, whether they honour the settings of a policy: a trial with an ignored flag would have
//! tested something else.
//!
//! This applies to the program named by the command. `java` prints its flags (`-XX:+PrintFlagsFinal -version`, which
//! runs no class), the loader of the C library lists its tunables (`--list-tunables`, glibc 2.33), and a Go program
//! contains the names of the settings that its runtime supports. For a script that starts such a program, nothing is
//! checked.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use hugewise_experiment::run::policy::runtime::{
    Answers, key, parse_flags, parse_tunables, tunables_answers,
};
use hugewise_experiment::run::policy::{Runtime, Settings};

use super::executable::read_executable;
use crate::file::read::read_regular;
use crate::machine::identity::Identity;
use crate::machine::root::Root;
use crate::spawn::become_identity;
use crate::sys::tunables::read_tunables;

/// The time limit for an answer of a runtime.
const PATIENCE: Duration = Duration::from_secs(20);

/// The maximum size of a program file, in bytes.
const LARGEST_PROGRAM: u64 = 512 << 20;

/// User, working directory and environment of the command.
#[derive(Clone, Copy, Debug)]
pub struct CommandContext<'a> {
    /// The program and its arguments.
    pub words: &'a [OsString],
    /// The variables set for it in addition to the inherited ones.
    pub environment: &'a [(String, String)],
    /// Its user, if different from that of this process.
    pub identity: Option<&'a Identity>,
    /// Its working directory, if different from that of this process.
    pub directory: Option<&'a Path>,
}

/// Returns the settings as the runtimes report them, without the runtimes that cannot be queried.
#[must_use]
pub fn ask(settings: &Settings, start: CommandContext<'_>) -> Answers {
    let mut answers = Answers::new();
    for runtime in settings.runtimes.keys() {
        answers.extend(match runtime {
            Runtime::Java => ask_java(settings, start),
            Runtime::Glibc => ask_loader(settings, start),
            Runtime::Go => ask_go(settings, start),
            _ => Answers::new(),
        });
    }
    answers
}

fn ask_java(settings: &Settings, start: CommandContext<'_>) -> Answers {
    let Some((program, arguments)) = start.words.split_first() else {
        return Answers::new();
    };
    if Path::new(program).file_name() != Some(OsStr::new("java")) {
        return Answers::new();
    }
    let mut command = Command::new(program);
    command
        .args(vm_options(arguments))
        .args(["-XX:+PrintFlagsFinal", "-version"]);
    output(command, start).map_or_else(Answers::new, |output| parse_flags(&output, settings))
}

/// Returns the options of the virtual machine: those before the class, without agents, which would run, and without
/// logs, which would be overwritten.
fn vm_options(arguments: &[OsString]) -> Vec<&OsString> {
    let mut options = Vec::new();
    let mut words = arguments.iter();
    while let Some(word) = words.next() {
        let text = word.to_string_lossy();
        if !text.starts_with('-') || ["-jar", "-m", "--module", "-version"].contains(&&*text) {
            break;
        }
        let takes_word = ["-cp", "-classpath", "-p"].contains(&&*text)
            || (text.starts_with("--") && !text.contains('=') && text != "--enable-preview");
        let acts = ["-javaagent", "-agent", "-Xlog", "-Xrun", "-Xdebug"];
        if acts.iter().any(|act| text.starts_with(act)) {
            continue;
        }
        options.push(word);
        if takes_word {
            options.extend(words.next());
        }
    }
    options
}

#[cfg(target_arch = "aarch64")]
const LOADER: &str = "/lib/ld-linux-aarch64.so.1";
#[cfg(not(target_arch = "aarch64"))]
const LOADER: &str = "/lib64/ld-linux-x86-64.so.2";

/// Asks the loader of the program, or that of the machine for a script. A static program has none; its file shows later
/// whether it has tunables.
fn ask_loader(settings: &Settings, start: CommandContext<'_>) -> Answers {
    let first = start.words.first();
    let file = first.and_then(|word| find(word, start.directory));
    let executable = file.as_deref().and_then(read_executable);
    let Some(loader) = executable.map_or(Some(LOADER.to_owned()), |it| it.loader) else {
        return Answers::new();
    };
    let mut command = Command::new(loader);
    command.arg("--list-tunables");
    let Some(output) = output(command, start) else {
        return Answers::new();
    };
    let mut known = parse_tunables(&output);
    let path = file.and_then(|path| fs::canonicalize(path).ok());
    let path = path.map(|path| path.display().to_string());
    known.extend(fixed_for(path.as_deref()));
    tunables_answers(&known, settings)
}

/// Returns the tunables that the file of the machine fixes for a program. The loader does not list those of a single
/// program.
fn fixed_for(program: Option<&str>) -> BTreeMap<String, String> {
    let all = read_tunables(&Root::real(), None);
    let fixed = all.of(program).into_values().filter(|it| it.fixed);
    fixed
        .map(|it| (it.name.clone(), it.value.clone()))
        .collect()
}

/// The names of the runtime's settings appear as text in every program that supports them.
fn ask_go(settings: &Settings, start: CommandContext<'_>) -> Answers {
    let program = start
        .words
        .first()
        .and_then(|word| find(word, start.directory));
    let Some(image) = program.and_then(|path| read_program(&path)) else {
        return Answers::new();
    };
    if !holds(&image, b"Go buildinf:") {
        return Answers::new();
    }
    let names = settings.runtimes.get(&Runtime::Go).into_iter().flatten();
    names
        .map(|(name, _)| {
            let known = holds(&image, name.as_bytes());
            let said = if known {
                "known to the program"
            } else {
                "ignored: the program's runtime has no such setting"
            };
            (key(Runtime::Go, name), said.to_owned())
        })
        .collect()
}

pub(super) fn read_program(path: &Path) -> Option<Vec<u8>> {
    read_regular(path, LARGEST_PROGRAM).ok()
}

pub(super) fn holds(image: &[u8], name: &[u8]) -> bool {
    image.windows(name.len()).any(|window| window == name)
}

/// Finds the file of a program, by its path or in `PATH`.
pub(super) fn find(program: &OsStr, directory: Option<&Path>) -> Option<PathBuf> {
    let path = Path::new(program);
    if path.components().count() > 1 {
        return Some(directory.unwrap_or(Path::new("")).join(path));
    }
    let folders = std::env::var_os("PATH")?;
    std::env::split_paths(&folders)
        .map(|folder| folder.join(path))
        .find(|file| file.is_file())
}

/// Returns stdout of a query; `None` if it fails or takes too long.
pub(super) fn output(mut command: Command, start: CommandContext<'_>) -> Option<Vec<u8>> {
    let variables = start.environment.iter();
    command
        .envs(variables.map(|(name, value)| (name, value)))
        .stdin(Stdio::null())
        .stderr(Stdio::null())
        .stdout(Stdio::piped());
    if let Some(directory) = start.directory {
        command.current_dir(directory);
    }
    if let Some(identity) = start.identity {
        become_identity(&mut command, identity);
    }
    let mut child = command.spawn().ok()?;
    let reader = child.stdout.take().map(|mut pipe| {
        thread::Builder::new().spawn(move || {
            let mut bytes = Vec::new();
            std::io::Read::read_to_end(&mut pipe, &mut bytes).map(|_| bytes)
        })
    });
    // Without the thread the pipe is closed, and the program does not block on it.
    let succeeded = wait(&mut child);
    let bytes = reader?.ok()?.join().ok()?.ok()?;
    succeeded.then_some(bytes)
}

fn wait(child: &mut Child) -> bool {
    let began = Instant::now();
    loop {
        match child.try_wait() {
            Ok(Some(status)) => return status.success(),
            Ok(None) if began.elapsed() < PATIENCE => thread::sleep(Duration::from_millis(5)),
            _ => {
                let _ = child.kill();
                let _ = child.wait();
                return false;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::skipping::skip;

    fn words(line: &str) -> Vec<OsString> {
        line.split_whitespace().map(Into::into).collect()
    }

    fn answers(policy: &str, line: &str, environment: &[(&str, &str)]) -> Answers {
        let settings: Settings = policy.parse().expect("a good policy");
        let own = |(name, value): &(&str, &str)| ((*name).to_owned(), (*value).to_owned());
        let environment: Vec<_> = environment.iter().map(own).collect();
        let words = words(line);
        let start = CommandContext {
            words: &words,
            environment: &environment,
            identity: None,
            directory: None,
        };
        ask(&settings, start)
    }

    #[test]
    fn only_options_of_the_machine_are_asked_with() {
        let said = |line: &str| -> Vec<String> {
            let words = words(line);
            let options = vm_options(&words);
            options
                .iter()
                .map(|word| word.to_string_lossy().into_owned())
                .collect()
        };
        let line = "-Xmx1g -javaagent:a.jar -Xlog:gc:file=x -cp a.jar --add-modules x Main -Xms1g";
        assert_eq!(said(line), ["-Xmx1g", "-cp", "a.jar", "--add-modules", "x"]);
        assert_eq!(said("-XX:+UseZGC -jar app.jar"), ["-XX:+UseZGC"]);
    }

    #[test]
    fn who_is_not_asked_says_nothing() {
        assert_eq!(
            answers("java.UseLargePages=+", "sh run.sh", &[]),
            Answers::new()
        );
        assert_eq!(answers("go.disablethp=1", "sh run.sh", &[]), Answers::new());
        assert_eq!(answers("env.A=1", "true", &[]), Answers::new());
    }

    #[test]
    fn the_loader_knows_its_tunables() {
        let policy = "glibc.malloc.arena_max=3,glibc.no.such=1";
        let tunables = ("GLIBC_TUNABLES", "glibc.malloc.arena_max=3");
        let answers = answers(policy, "true", &[tunables]);
        if answers.is_empty() {
            return skip(
                "the_loader_knows_its_tunables",
                "no loader of glibc 2.33 here",
            );
        }
        assert_eq!(answers["glibc.malloc.arena_max"], "0x3");
        assert!(
            answers["glibc.no.such"].starts_with("ignored"),
            "{answers:?}"
        );
    }

    #[test]
    fn java_says_what_it_did_not_honour() {
        let policy = "java.AlwaysPreTouch=+,java.UseSerialGC=+";
        // The second flag is lost on the way, which must be detected.
        let flags = ("JAVA_TOOL_OPTIONS", "-XX:+AlwaysPreTouch -XX:-UseSerialGC");
        let answers = answers(policy, "java -Xmx64m Main", &[flags]);
        if answers.is_empty() {
            return skip("java_says_what_it_did_not_honour", "no java here");
        }
        assert_eq!(answers["java.AlwaysPreTouch"], "true");
        assert_eq!(answers["java.UseSerialGC"], "false");
    }

    #[test]
    fn a_program_of_go_holds_the_names_that_it_knows() {
        let go = "/usr/local/go/bin/go";
        if !Path::new(go).exists() {
            return skip(
                "a_program_of_go_holds_the_names_that_it_knows",
                "no go here",
            );
        }
        let answers = answers("go.disablethp=1,go.nosuchsetting=1", go, &[]);
        assert_eq!(answers["go.disablethp"], "known to the program");
        assert!(answers["go.nosuchsetting"].starts_with("ignored"));
    }
}
