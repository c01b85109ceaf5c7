//! `text=file`: code in huge pages of the page cache, and in small ones afterwards.

use std::ffi::OsString;
use std::io::Write;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use hugewise_linux::apply::cached_code::{CachedCode, HugeCode};
use hugewise_linux::apply::runtime::CommandContext;
use hugewise_linux::machine::identity::{Identity, is_root};
use object::{Object, ObjectSymbol};

use super::code::{BLOCK, GOOD, blocks, built, open};
use super::observing::{command, identities, nobody, observe, said, value};
use crate::skipping::skip;

const MIB: u64 = 1 << 20;

/// Finds the code of a command.
fn code(program: &Path, identity: Option<&Identity>) -> Result<CachedCode, String> {
    let words = [OsString::from(program)];
    let start = CommandContext {
        words: &words,
        environment: &[],
        identity,
        directory: None,
    };
    CachedCode::find(start, BLOCK)
}

/// A folder that everybody can enter, on the file system of this program: /tmp can be a tmpfs.
fn folder() -> tempfile::TempDir {
    let own = std::env::current_exe().unwrap();
    let folder = tempfile::tempdir_in(own.parent().unwrap()).unwrap();
    open(folder.path());
    folder
}

/// Builds the program and finds its code; reports and returns `None` if the file system has no huge pages.
fn prepared(name: &str, folder: &Path, flags: &[&str]) -> Option<(PathBuf, CachedCode)> {
    let program = built(name, folder, flags)?;
    let found = code(&program, None).unwrap();
    if let Err(why) = made_huge(&found) {
        skip(name, &why);
        return None;
    }
    found.make_small().unwrap();
    Some((program, found))
}

/// Makes all code huge; repeats it, because sometimes no huge page is free.
fn made_huge(code: &CachedCode) -> Result<HugeCode, String> {
    let mut made = code.make_huge()?;
    for _ in 0..10 {
        if made.huge == made.of {
            return Ok(made);
        }
        made = code.make_huge()?;
    }
    panic!("{made:?}");
}

/// The page tables show huge code after the policy, and none before and after its end.
pub(super) fn code_of_files_becomes_huge_and_small_again() {
    const NAME: &str = "code_of_files_becomes_huge_and_small_again";
    let folder = folder();
    let Some((program, code)) = prepared(NAME, folder.path(), &["-static"]) else {
        return;
    };
    let all = blocks(&program) * BLOCK;
    assert!(all >= 3 * BLOCK);
    let path = program.display().to_string();
    let huge = |identity: Option<Identity>| {
        let mut launch = command(&[&path, "plain", "0.3"]);
        launch.identity = identity;
        let seen = observe(&launch);
        assert_eq!(seen.outcome, GOOD, "{}", said(&seen));
        assert_eq!(said(&seen), "the same\n");
        ["huge_code_exit_bytes", "huge_file_exit_bytes"].map(|name| value(&seen, name) as u64)
    };
    for identity in identities() {
        assert_eq!(huge(identity.clone()), [0, 0]);
        let made = made_huge(&code).unwrap();
        assert_eq!((made.huge, made.of), (all, all));
        assert_eq!(huge(identity.clone()), [all, all]);
        assert_eq!(code.huge_bytes(), Ok(all));
        code.make_small().unwrap();
        assert_eq!(code.huge_bytes(), Ok(0));
        assert_eq!(huge(identity), [0, 0]);
    }
}

/// A program at a random address needs aligned segments; the refusal has the linker option.
pub(super) fn misaligned_code_is_refused() {
    const NAME: &str = "misaligned_code_is_refused";
    let folder = folder();
    let Some(program) = built(NAME, folder.path(), &["-pie", "-fPIE"]) else {
        return;
    };
    let why = code(&program, None).unwrap_err();
    assert!(why.contains("-Wl,-z,max-page-size=0x200000"), "{why}");
    let flags = ["-pie", "-fPIE", "-Wl,-z,max-page-size=0x200000"];
    let Some((program, code)) = prepared(NAME, folder.path(), &flags) else {
        return;
    };
    let made = made_huge(&code).unwrap();
    let seen = observe(&command(&[&program.display().to_string(), "plain", "0.3"]));
    assert_eq!(value(&seen, "huge_code_exit_bytes") as u64, made.of);
    code.make_small().unwrap();
}

/// Fresh writes reach the file, whatever its pages are.
pub(super) fn no_written_byte_is_lost() {
    const NAME: &str = "no_written_byte_is_lost";
    let folder = folder();
    let Some((program, code)) = prepared(NAME, folder.path(), &["-static"]) else {
        return;
    };
    let mut expected = std::fs::read(&program).unwrap();
    let mut file = std::fs::File::options()
        .append(true)
        .open(&program)
        .unwrap();
    for round in 0..6_u8 {
        let more = vec![round; 3 * MIB as usize];
        file.write_all(&more).unwrap();
        expected.extend(more);
        match round % 2 {
            0 => drop(code.make_huge()),
            _ => drop(code.make_small()),
        }
        assert!(std::fs::read(&program).unwrap() == expected, "{round}");
    }
}

/// Kills a program on drop.
struct Running(Child);

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn run(program: &Path) -> Running {
    let mut command = Command::new(program);
    let started = command.args(["plain", "30"]).stdout(Stdio::null()).spawn();
    let running = Running(started.unwrap());
    // The program has called all its functions by then.
    std::thread::sleep(std::time::Duration::from_millis(500));
    running
}

/// Pages in use cannot be replaced: the sentence names the program.
pub(super) fn files_in_use_are_refused() {
    const NAME: &str = "files_in_use_are_refused";
    let folder = folder();
    let Some((program, code)) = prepared(NAME, folder.path(), &["-static"]) else {
        return;
    };
    made_huge(&code).unwrap();
    let running = run(&program);
    let why = code.make_small().unwrap_err();
    assert!(why.contains(&format!("PID {}", running.0.id())), "{why}");
    drop(running);
    assert_eq!(code.make_small(), Ok(()));
}

/// The user of the program must be able to read it.
pub(super) fn unreadable_programs_are_refused() {
    const NAME: &str = "unreadable_programs_are_refused";
    if !is_root() {
        return skip(NAME, "needs root, to act for another user");
    }
    let folder = folder();
    let Some(program) = built(NAME, folder.path(), &["-static"]) else {
        return;
    };
    let mode = std::fs::Permissions::from_mode(0o711);
    std::fs::set_permissions(&program, mode).unwrap();
    let why = code(&program, Some(&nobody())).unwrap_err();
    assert!(why.contains("read permission"), "{why}");
    assert!(code(&program, None).is_ok());
}

/// Files in memory have no other copy to read again; their pages stay unchanged.
pub(super) fn files_in_memory_are_refused() {
    const NAME: &str = "files_in_memory_are_refused";
    const MEMORY: &str = "/dev/shm";
    let folder = folder();
    let Some(program) = built(NAME, folder.path(), &["-static"]) else {
        return;
    };
    let Ok(memory) = tempfile::tempdir_in(MEMORY) else {
        return skip(NAME, "no tmpfs here");
    };
    let copy = memory.path().join("large");
    std::fs::copy(&program, &copy).unwrap();
    let why = code(&copy, None).unwrap_err();
    assert!(why.contains("tmpfs"), "{why}");
}

/// Libraries have code too, and a small program in front of them does not hide it.
pub(super) fn scripts_and_libraries_are_followed() {
    const NAME: &str = "scripts_and_libraries_are_followed";
    let folder = folder();
    let Some(library) = built(NAME, folder.path(), &["-shared", "-fPIC"]) else {
        return;
    };
    let (source, program) = (folder.path().join("main.c"), folder.path().join("main"));
    std::fs::write(&source, "int main(void) { return 0; }\n").unwrap();
    let mut compiler = Command::new("cc");
    compiler
        .arg("-o")
        .args([&program, &source])
        .arg("-Wl,--no-as-needed")
        .arg(&library);
    assert!(compiler.status().unwrap().success());
    let script = folder.path().join("script");
    std::fs::write(&script, format!("#!{}\n", program.display())).unwrap();
    let found = code(&script, None).unwrap();
    let paths: Vec<&Path> = found.paths().collect();
    assert_eq!(paths, [library.canonicalize().unwrap()]);
}

/// perf names the functions of code in huge pages, and probes by file name act on it.
pub(super) fn symbols_and_probes_stay() {
    const NAME: &str = "symbols_and_probes_stay";
    let folder = folder();
    let Some((program, code)) = prepared(NAME, folder.path(), &["-static"]) else {
        return;
    };
    let made = made_huge(&code).unwrap();
    let named = functions_seen_by_perf(folder.path(), &program);
    let hits = probed(folder.path(), &program);
    assert_eq!(code.huge_bytes(), Ok(made.of));
    code.make_small().unwrap();
    match named {
        Some(named) => assert!(named > 10, "{named}"),
        None => skip(NAME, "perf records nothing here"),
    }
    match hits {
        Some(hits) => assert!(hits > 10, "{hits}"),
        None => skip(NAME, "no uprobe may be set here"),
    }
}

/// Returns the samples in functions of the program; `None` if perf cannot record.
fn functions_seen_by_perf(folder: &Path, program: &Path) -> Option<usize> {
    let data = folder.join("perf.data");
    let mut record = Command::new("perf");
    record
        .args(["record", "-q", "-e", "cpu-clock:u", "-o"])
        .arg(&data)
        .arg("--");
    let recorded = record.arg(program).args(["plain", "0.5"]).output().ok()?;
    recorded.status.success().then_some(())?;
    let mut script = Command::new("perf");
    let script = script
        .args(["script", "-F", "ip,sym", "-i"])
        .arg(&data)
        .output()
        .ok()?;
    let text = String::from_utf8_lossy(&script.stdout).into_owned();
    let is_function = |line: &&str| {
        let function = line.split_whitespace().nth(1);
        let number = function.and_then(|it| it.strip_prefix('f'));
        number.is_some_and(|it| it.len() == 4 && it.bytes().all(|byte| byte.is_ascii_digit()))
    };
    Some(text.lines().filter(is_function).count())
}

/// Returns how often a probe at a function was hit; `None` if none may be set.
fn probed(folder: &Path, program: &Path) -> Option<u64> {
    let bytes = std::fs::read(program).unwrap();
    let file = object::File::parse(&*bytes).unwrap();
    let function = file.symbols().find(|it| it.name() == Ok("f1500")).unwrap();
    // The whole static program is mapped at the difference of address and offset of its first segment.
    let offset = function.address() - 0x40_0000;
    let (source, probe) = (folder.join("probe.c"), folder.join("probe"));
    std::fs::write(&source, include_str!("probe.c")).unwrap();
    let mut compiler = Command::new("cc");
    assert!(
        compiler
            .arg("-o")
            .args([&probe, &source])
            .status()
            .unwrap()
            .success()
    );
    let mut counting = Command::new(&probe);
    counting
        .arg(program)
        .arg(offset.to_string())
        .args(["plain", "0.3"]);
    let said = counting.output().unwrap();
    said.status.success().then_some(())?;
    let text = String::from_utf8(said.stdout).unwrap();
    let (same, hits) = text.trim().split_once('\n').unwrap();
    assert_eq!(same, "the same");
    Some(hits.parse().unwrap())
}
