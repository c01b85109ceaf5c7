//! A command that is not started gets the same advice as a running process of it.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Command;

use hugewise_base::gzip::unpacked;
use predicates::prelude::*;
use predicates::str::contains;
use serde_json::Value;

use super::json;
use crate::harness::{Case, skip};

fn advise(case: &Case, words: &[&str]) -> Value {
    let mut command = case.hugewise();
    command
        .args(["advise", "--format", "json", "--"])
        .args(words);
    json(&command.assert().success())["programs"][0].clone()
}

/// The version of a subject in a program's advice.
fn version<'a>(program: &'a Value, subject: &str) -> Option<&'a str> {
    let mut parts = program["parts"].as_array()?.iter();
    parts.find(|part| part["subject"] == subject)?["version"].as_str()
}

#[test]
fn a_command_has_the_libraries_of_its_file() {
    let case = Case::new();
    let said = Command::new("ldd").arg("--version").output();
    let said = said.map(|said| String::from_utf8_lossy(&said.stdout).into_owned());
    let Some(said) = said
        .ok()
        .filter(|said| said.contains("GNU libc") || said.contains("GLIBC"))
    else {
        return skip(
            "the libraries of a command",
            "this machine has another C library",
        );
    };
    let program = advise(&case, &["/bin/sh", "-c", "true"]);
    let own = version(&program, "glibc").expect("a version of the C library");
    assert!(
        said.lines().next().unwrap().ends_with(own),
        "{own} is not in {said}"
    );
    assert_eq!(program["facts"]["process.static"], false);
    let lab = Command::new("java").arg("-version").output();
    match lab {
        Ok(said) => {
            let said = String::from_utf8_lossy(&said.stderr).into_owned();
            let program = advise(&case, &["java", "-jar", "a.jar"]);
            let own = version(&program, "jdk").expect("a version of Java");
            assert!(said.contains(own), "{own} is not in {said}");
        }
        Err(_) => skip("a command of Java", "there is no java"),
    }
}

#[test]
fn a_script_is_what_its_interpreter_is() {
    let case = Case::new();
    let script = case.path("own");
    fs::write(&script, "#!/usr/bin/env -S nosuch\n").expect("a file");
    fs::set_permissions(&script, fs::Permissions::from_mode(0o755)).expect("a mode");
    // Unknown facts are not invented.
    assert_eq!(
        advise(&case, &[&script.display().to_string()])["name"],
        "own"
    );
    if !Path::new("/usr/bin/python3").exists() {
        return skip("a script of Python", "there is no /usr/bin/python3");
    }
    fs::write(&script, "#!/usr/bin/python3\n").expect("a file");
    let program = advise(&case, &[&script.display().to_string()]);
    assert!(
        version(&program, "cpython").is_some_and(|own| own.starts_with("3.")),
        "{program:#}"
    );
}

#[test]
fn a_flag_in_a_variable_of_the_user_counts() {
    let case = Case::new();
    let shown = |variable: &str| {
        let mut command = case.hugewise();
        command
            .env_remove("JDK_JAVA_OPTIONS")
            .env("JAVA_TOOL_OPTIONS", variable);
        command.args(["advise", "--format", "json", "--", "/bin/sh", "-c", "x"]);
        json(&command.assert().success())["programs"][0]["facts"].clone()
    };
    assert_eq!(shown("")["flag."], "");
    assert_eq!(shown("-XX:+UseZGC")["flag.UseZGC"], "true");
}

/// A record of the same kernel with other words belongs to another command.
#[test]
fn what_was_measured_of_a_command_here_stands_first() {
    let case = Case::new();
    if !Path::new("/usr/bin/python3").exists() {
        return skip("a record of a command", "there is no /usr/bin/python3");
    }
    let evidence = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../evidence");
    let packed = fs::read(evidence.join("cpython-arenas-too-small.jsonl.gz")).expect("a record");
    let text = String::from_utf8(unpacked(&packed).expect("gzip").into_owned()).expect("UTF-8");
    let header: Value = serde_json::from_str(text.lines().next().expect("a header")).expect("JSON");
    let kernel = fs::read_to_string("/proc/sys/kernel/osrelease").expect("a kernel");
    let own = ["/usr/bin/python3", "prog.py"];
    // The keys of a header are ordered, which a JSON value would not keep.
    let text = [
        (&header["host"]["kernel"], Value::from(kernel.trim())),
        (&header["plan"]["command"], Value::from(&own[..])),
    ]
    .iter()
    .fold(text, |text, (old, new)| {
        text.replacen(&old.to_string(), &new.to_string(), 1)
    });
    let folder = case.path("state/hugewise");
    fs::create_dir_all(&folder).expect("a folder");
    fs::write(folder.join("20261123T100000Z-python3.jsonl"), text).expect("a record");
    let told = |words: &[&str]| {
        let mut command = case.hugewise();
        command
            .args(["advise", "--"])
            .args(words)
            .assert()
            .success()
    };
    told(&["/usr/bin/python3", "-u", "./prog.py"]).stdout(
        contains("tried here  malloc=thp,env.PYTHONMALLOC=malloc not decided, wall time")
            .and(contains("hugewise report 20261123T100000Z-python3")),
    );
    told(&["/usr/bin/python3", "other.py"]).stdout(contains("tried here").not());
}
