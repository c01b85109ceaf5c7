//! `advise` on this machine, with real servers: each has the version that it reports itself, and the advice about it is
//! true. Servers that are not installed are skipped.

use std::fs;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use serde_json::Value;

use super::json;
use crate::harness::{Case, NOBODY, is_root, skip, thp_mode, wait_until};

/// A server that ends with the test.
struct Server {
    name: &'static str,
    /// The name of its main part in `advise`.
    subject: &'static str,
    /// The version that it reports.
    version: String,
    child: Child,
}

impl Drop for Server {
    fn drop(&mut self) {
        self.child.kill().ok();
        self.child.wait().ok();
    }
}

fn start(
    name: &'static str,
    subject: &'static str,
    version: &mut Command,
    server: &mut Command,
) -> Option<Server> {
    let said = version.output().ok()?;
    let said = [said.stdout, said.stderr].concat();
    let child = server.stdout(Stdio::null()).stderr(Stdio::null()).spawn();
    Some(Server {
        name,
        subject,
        version: String::from_utf8_lossy(&said).into_owned(),
        child: child.ok()?,
    })
}

fn redis(case: &Case) -> Option<Server> {
    let mut server = Command::new("redis-server");
    server.args(["--port", "0", "--save", "", "--unixsocket"]);
    server.arg(case.path("redis")).current_dir(case.path(""));
    let mut version = Command::new("redis-server");
    start(
        "redis-server",
        "redis",
        version.arg("--version"),
        &mut server,
    )
}

/// A heap of 300 MiB, touched at the start.
fn jvm(case: &Case) -> Option<Server> {
    let source = case.path("Wait.java");
    let text = "class Wait { public static void main(String[] words) throws Exception { Thread.sleep(600_000); } }";
    fs::write(&source, text).expect("a program");
    let mut server = Command::new("java");
    server
        .args(["-Xms300m", "-Xmx300m", "-XX:+AlwaysPreTouch"])
        .arg(&source);
    server
        .env_remove("JDK_JAVA_OPTIONS")
        .env_remove("JAVA_TOOL_OPTIONS");
    start(
        "java",
        "jdk",
        Command::new("java").arg("-version"),
        &mut server,
    )
}

fn go(case: &Case) -> Option<Server> {
    fs::write(case.path("go.mod"), "module waiting\ngo 1.20\n").expect("a module");
    let text = "package main\nimport \"time\"\nfunc main() { time.Sleep(10 * time.Minute) }\n";
    fs::write(case.path("main.go"), text).expect("a program");
    let built = Command::new("go")
        .args(["build", "-o", "waiting", "."])
        .current_dir(case.path(""))
        .status();
    built.ok()?.success().then_some(())?;
    let mut server = Command::new(case.path("waiting"));
    start(
        "waiting",
        "go",
        Command::new("go").arg("version"),
        &mut server,
    )
}

/// PostgreSQL refuses to run as root.
fn postgres(case: &Case) -> Option<Server> {
    let folder = newest("/usr/lib/postgresql")?.join("bin");
    let data = case.path("data");
    let as_nobody = |program: &str| {
        let mut command = Command::new(folder.join(program));
        command.arg("-D").arg(&data).current_dir("/");
        if is_root() {
            command.uid(NOBODY).gid(NOBODY);
        }
        command
    };
    let made = as_nobody("initdb").args(["-A", "trust"]).output();
    made.ok()?.status.success().then_some(())?;
    let mut server = as_nobody("postgres");
    server
        .args(["-c", "listen_addresses=", "-k"])
        .arg(case.path(""));
    let mut version = Command::new(folder.join("postgres"));
    start(
        "postgres",
        "postgresql",
        version.arg("--version"),
        &mut server,
    )
}

fn newest(folder: &str) -> Option<PathBuf> {
    let entries = fs::read_dir(folder).ok()?.flatten();
    entries.map(|entry| entry.path()).max()
}

fn servers(case: &Case) -> Vec<Server> {
    let all = [
        ("redis-server", redis(case)),
        ("java", jvm(case)),
        ("go", go(case)),
        ("postgres", postgres(case)),
    ];
    for (name, server) in &all {
        if server.is_none() {
            skip(
                "advise beside real servers",
                &format!("{name} cannot be started here"),
            );
        }
    }
    all.into_iter().filter_map(|(_, server)| server).collect()
}

/// Waits until the server has loaded its memory and read its settings.
fn wait_for(case: &Case, server: &Server) {
    let pid = server.child.id();
    let status = || fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
    let kib = |text: &str| -> u64 {
        let line = text.lines().find_map(|line| line.strip_prefix("RssAnon:"));
        let number = line.and_then(|line| line.split_whitespace().next()?.parse().ok());
        number.unwrap_or(0)
    };
    wait_until(server.name, || match server.subject {
        "jdk" => kib(&status()) > 300 << 10,
        "redis" => case.path("redis").exists(),
        "postgresql" => case.path("data/postmaster.pid").exists(),
        _ => kib(&status()) > 0,
    });
}

/// The standing of a rule in a server's advice; `None` if it does not apply.
fn standing<'a>(program: &'a Value, rule: &str) -> Option<&'a str> {
    let mut rulings = program["rulings"].as_array().expect("rulings").iter();
    rulings.find(|it| it["id"] == rule)?["standing"].as_str()
}

/// Checks one rule for each server, and its standing in the mode of this machine.
fn check(program: &Value, subject: &str, mode: &str) {
    let pool = Path::new("/sys/kernel/mm/hugepages/hugepages-2048kB/nr_hugepages");
    let has_pool = fs::read_to_string(pool).is_ok_and(|pages| pages.trim() != "0");
    let (rule, expected) = match (subject, mode) {
        ("redis", _) => ("redis-disable-thp", Some("followed")),
        ("jdk", "madvise") => ("jdk-heap-needs-flag", Some("not_followed")),
        ("jdk", "always") => ("jdk-heap-needs-flag", Some("followed")),
        ("jdk", _) => ("jdk-heap-needs-flag", None),
        ("go", "always") => ("go-small-heap-off", Some("not_followed")),
        ("go", _) => ("go-small-heap-off", Some("followed")),
        _ if has_pool => return,
        _ => ("postgresql-try-is-silent", Some("information")),
    };
    assert_eq!(standing(program, rule), expected, "{program:#}");
}

#[test]
fn real_servers_have_their_versions_and_true_sentences() {
    let case = Case::new();
    let servers = servers(&case);
    for server in &servers {
        wait_for(&case, server);
    }
    let shown = case
        .hugewise()
        .args(["advise", "--all", "--format", "json"])
        .assert();
    let advice = json(&shown.success());
    let programs = advice["programs"].as_array().unwrap();
    for server in &servers {
        let pid = u64::from(server.child.id());
        let mut own = programs.iter().filter(|one| one["pid"] == pid);
        let own = own
            .next()
            .unwrap_or_else(|| panic!("{} is not listed", server.name));
        assert_eq!(own["name"], server.name);
        let parts = own["parts"].as_array().unwrap();
        let part = parts.iter().find(|part| part["subject"] == server.subject);
        let version = part.unwrap()["version"].as_str().unwrap();
        let number = version.split(':').next_back().unwrap();
        let number = number.split(['-', '+']).next().unwrap();
        assert!(
            server.version.contains(number),
            "{number} is not in {}",
            server.version
        );
        check(own, server.subject, &thp_mode());
    }
}

#[test]
fn an_ordinary_user_hears_of_real_servers() {
    if !is_root() {
        skip(
            "advise of nobody",
            "needs root, to start servers of another user",
        );
        return;
    }
    let case = Case::new();
    let servers = [redis(&case), jvm(&case)];
    let servers: Vec<_> = servers.into_iter().flatten().collect();
    for server in &servers {
        wait_for(&case, server);
    }
    let shown = case
        .hugewise_as_nobody()
        .args(["advise", "--all", "--format", "json"])
        .assert();
    let advice = json(&shown.success());
    for server in &servers {
        let mut programs = advice["programs"].as_array().unwrap().iter();
        let own = programs.find(|one| one["pid"] == u64::from(server.child.id()));
        let own = own.unwrap_or_else(|| panic!("{} is not listed", server.name));
        assert_eq!(own["access"], "closed", "{own:#}");
        // Unreadable data prove nothing.
        assert_ne!(standing(own, "jdk-heap-needs-flag"), Some("not_followed"));
    }
}
