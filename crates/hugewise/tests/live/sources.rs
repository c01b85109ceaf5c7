//! Each source of work on a process that works.

use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::net::{TcpListener, TcpStream};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};

use serde_json::Value;

use crate::harness::{Case, NOBODY, is_root, one_at_a_time, readings, skip, wait_until};
use crate::{Steady, assert_unchanged, obstacle};

const PROBED: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/live/probed.c");

/// Runs one short round on a process, which counts its work by a source.
fn live(case: &Case, pid: u32, source: &str) -> Output {
    let mut command = case.hugewise();
    command
        .args(["live", &pid.to_string(), "--work", source])
        .args(["--period", "200ms", "--max-rounds", "1", "--wait", "5m"])
        .args(["--format", "json"]);
    command.output().expect("hugewise")
}

/// Asserts that a source counted work in each period of a round, and returns the rates.
fn assert_counts(case: &Case, pid: u32, source: &str) -> Vec<f64> {
    let output = live(case, pid, source);
    assert!(output.status.success(), "{source}: {output:?}");
    let report: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    assert_eq!(report["plan"]["live"]["work"]["source"], source);
    let rates = ["small", "huge"].map(|policy| readings(&report, policy, "work_per_second"));
    let rates = rates.concat();
    // Three periods of each kind in the first round.
    assert_eq!(rates.len(), 6, "{source}: {rates:?}");
    assert!(rates.iter().all(|rate| *rate > 0.0), "{source}: {rates:?}");
    rates
}

/// Asserts that `live` refuses a source before it switches a page, and returns the message.
fn assert_refuses(case: &Case, steady: &Steady, source: &str) -> String {
    let before = steady.huge();
    let output = live(case, steady.child.id(), source);
    assert_eq!(output.status.code(), Some(2), "{source}: {output:?}");
    assert_eq!(steady.huge(), before);
    String::from_utf8_lossy(&output.stderr).into_owned()
}

#[test]
fn what_the_kernel_counts_grows() {
    const NAME: &str = "what_the_kernel_counts_grows";
    if let Some(why) = obstacle() {
        return skip(NAME, why);
    }
    let _turn = one_at_a_time();
    let case = Case::new();
    let steady = Steady::begin(&case, "stream", &[]);
    let pid = steady.child.id();
    let writes = assert_counts(&case, pid, "syscalls:pwrite64");
    // The count of the process is 21 bytes, and nothing else is written or read.
    let bytes = assert_counts(&case, pid, "io");
    for (bytes, writes) in bytes.iter().zip(&writes) {
        assert!((2.0..200.0).contains(&(bytes / writes)), "{bytes} {writes}");
    }
    assert_counts(&case, pid, "syscalls");
    match library_of(pid, "libc.so.6") {
        Some(libc) => {
            assert_counts(&case, pid, &format!("uprobe:{}:pwrite64", libc.display()));
            let source = format!("uprobe:{}:no_such_function", libc.display());
            assert!(assert_refuses(&case, &steady, &source).contains("no_such_function"));
        }
        None => skip(NAME, "the laboratory has no C library to probe"),
    }
    assert!(assert_refuses(&case, &steady, "syscalls:no_such_call").contains("no_such_call"));
    assert_unchanged(steady);
}

/// The file of a library that a process maps.
fn library_of(pid: u32, name: &str) -> Option<PathBuf> {
    let maps = fs::read_to_string(format!("/proc/{pid}/maps")).ok()?;
    let mut paths = maps
        .lines()
        .filter_map(|line| line.split_whitespace().nth(5));
    paths.find(|path| path.ends_with(name)).map(PathBuf::from)
}

#[test]
fn instructions_need_a_counter() {
    const NAME: &str = "instructions_need_a_counter";
    if let Some(why) = obstacle() {
        return skip(NAME, why);
    }
    let _turn = one_at_a_time();
    let case = Case::new();
    let steady = Steady::begin(&case, "stream", &[]);
    match Path::new("/sys/bus/event_source/devices/cpu").exists() {
        true => drop(assert_counts(&case, steady.child.id(), "instructions")),
        false => {
            let said = assert_refuses(&case, &steady, "instructions");
            assert!(said.contains("no such counter"), "{said}");
        }
    }
    assert_unchanged(steady);
}

/// The program passes its probe only if the kernel has raised the counter of the probe.
#[test]
fn a_static_probe_is_switched_on_and_counted() {
    const NAME: &str = "a_static_probe_is_switched_on_and_counted";
    if let Some(why) = obstacle() {
        return skip(NAME, why);
    }
    let case = Case::new();
    let program = case.path("probed");
    let mut compiler = Command::new("cc");
    compiler.args(["-O1", PROBED, "-o"]).arg(&program);
    if !compiler.status().is_ok_and(|it| it.success()) {
        return skip(NAME, "cc does not build the program");
    }
    let _turn = one_at_a_time();
    let mut child = Command::new(&program)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("the program");
    let mut ready = String::new();
    let stdout = child.stdout.take().expect("a pipe");
    BufReader::new(stdout)
        .read_line(&mut ready)
        .expect("a line");
    let source = |name: &str| format!("usdt:{}:shop:{name}", program.display());
    assert_counts(&case, child.id(), &source("sold"));
    let output = live(&case, child.id(), &source("no_such_probe"));
    assert_eq!(output.status.code(), Some(2), "{output:?}");
    drop(child.stdin.take());
    assert!(child.wait().expect("its end").success());
}

/// A page of metrics with the count of a process.
#[test]
fn a_metric_of_a_page_grows() {
    const NAME: &str = "a_metric_of_a_page_grows";
    if let Some(why) = obstacle() {
        return skip(NAME, why);
    }
    let _turn = one_at_a_time();
    let case = Case::new();
    let steady = Steady::begin(&case, "stream", &[]);
    let count = steady.count.clone();
    let address = serve(move || {
        let units = fs::read_to_string(&count).expect("the count");
        format!(
            "# TYPE units_total counter\nunits_total{{kind=\"a\"}} {}\nunits_total{{kind=\"b\"}} 7\nidle 3\n",
            units.trim()
        )
    });
    let source = |metric: &str| format!("http://{address}/metrics#{metric}");
    assert_counts(&case, steady.child.id(), &source("units_total{kind=\"a\"}"));
    let said = assert_refuses(&case, &steady, &source("no_such_metric"));
    assert!(said.contains("no_such_metric"), "{said}");
    // It is read, but it does not grow: there is nothing to compare.
    let said = live(&case, steady.child.id(), &source("idle"));
    assert_eq!(said.status.code(), Some(2), "{said:?}");
    assert_eq!(steady.huge(), 0);
    assert_unchanged(steady);
}

/// Serves a page over HTTP until the test ends.
pub(crate) fn serve(page: impl Fn() -> String + Send + 'static) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = listener.local_addr().expect("an address").to_string();
    std::thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            // A client that has gone needs no answer.
            let _ = answer(stream, &page());
        }
    });
    address
}

fn answer(mut stream: TcpStream, page: &str) -> std::io::Result<()> {
    let mut lines = BufReader::new(stream.try_clone()?).lines();
    while lines
        .next()
        .transpose()?
        .is_some_and(|line| !line.is_empty())
    {}
    let head = format!(
        "HTTP/1.1 200 OK\r\nContent-Length: {}\r\nConnection: close\r\n",
        page.len()
    );
    write!(stream, "{head}\r\n{page}")
}

/// PostgreSQL reports its transactions to psql.
#[test]
fn transactions_of_postgres_grow() {
    const NAME: &str = "transactions_of_postgres_grow";
    if let Some(why) = obstacle() {
        return skip(NAME, why);
    }
    let _turn = one_at_a_time();
    let case = Case::new();
    let Some(server) = Postgres::start(&case) else {
        return skip(NAME, "needs initdb, postgres and psql");
    };
    let steady = Steady::begin(&case, "stream", &[]);
    let mut load = server.psql();
    load.stdin(Stdio::piped()).stdout(Stdio::null());
    let mut load = load.spawn().expect("psql");
    let mut commands = load.stdin.take().expect("a pipe");
    // A session reports its transactions only after it has read a table.
    commands
        .write_all(b"SELECT count(*) FROM pg_am \\watch 0.01\n")
        .expect("psql");
    let source = format!("postgres:{}", server.connection());
    let output = case
        .hugewise()
        .args(["live", &steady.child.id().to_string(), "--work", &source])
        .args(["--period", "2500ms", "--max-rounds", "1", "--wait", "5m"])
        .args(["--format", "json"])
        .output()
        .expect("hugewise");
    end(load);
    assert!(output.status.success(), "{output:?}");
    let report: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    let rates = readings(&report, "small", "work_per_second");
    // A hundred statements a second, less on a busy machine; each session reports once a second.
    let is_right = rates.iter().all(|rate| (1.0..200.0).contains(rate));
    assert!(rates.len() == 3 && is_right, "{rates:?}");
    drop(server);
    assert_unchanged(steady);
}

fn end(mut child: Child) {
    let _ = child.kill();
    let _ = child.wait();
}

/// A new server of PostgreSQL.
struct Postgres {
    child: Child,
    folder: PathBuf,
}

impl Postgres {
    fn start(case: &Case) -> Option<Self> {
        let folder = case.path("postgres");
        let programs = programs_of_postgres()?;
        fs::create_dir(&folder).ok()?;
        std::os::unix::fs::chown(&folder, Some(NOBODY), Some(NOBODY)).ok()?;
        let data = folder.join("data");
        let run = |name: &str| {
            let mut command = Command::new(programs.join(name));
            command.current_dir(&folder).env("LC_ALL", "C");
            command.stdout(Stdio::null()).stderr(Stdio::null());
            if is_root() {
                command.uid(NOBODY).gid(NOBODY);
            }
            command
        };
        let mut made = run("initdb");
        made.args(["--no-sync", "-A", "trust", "-U", "tester", "-D"]);
        if !made.arg(&data).status().is_ok_and(|it| it.success()) {
            return None;
        }
        let mut server = run("postgres");
        server.args(["-c", "listen_addresses=", "-c", "fsync=off", "-k"]);
        server.arg(&folder).arg("-D").arg(&data);
        let child = server.spawn().ok()?;
        let server = Self { child, folder };
        wait_until("postgres answers", || {
            let mut asked = server.psql();
            asked
                .args(["-c", "SELECT 1"])
                .stdout(Stdio::null())
                .stderr(Stdio::null());
            asked.status().is_ok_and(|it| it.success())
        });
        Some(server)
    }

    fn connection(&self) -> String {
        format!("host={} user=tester dbname=postgres", self.folder.display())
    }

    fn psql(&self) -> Command {
        let mut psql = Command::new("psql");
        psql.args(["-X", "-d", &self.connection()]);
        psql
    }
}

impl Drop for Postgres {
    fn drop(&mut self) {
        // The postmaster takes this as a fast shutdown.
        let id = self.child.id().to_string();
        let _ = Command::new("kill").args(["-s", "INT", &id]).status();
        let _ = self.child.wait();
    }
}

/// The folder of the programs of the server. Debian does not put it on the path.
fn programs_of_postgres() -> Option<PathBuf> {
    Command::new("psql").arg("--version").output().ok()?;
    let versions = fs::read_dir("/usr/lib/postgresql").into_iter().flatten();
    let folders = versions.flatten().map(|it| it.path().join("bin"));
    let folders = folders.chain([PathBuf::from("/usr/bin"), PathBuf::from("/usr/local/bin")]);
    folders.into_iter().find(|it| it.join("initdb").exists())
}
