//! `advise` over a frozen machine with planted processes: names running programs with their versions, and finds
//! contradictions and broken states.

mod command;
mod planted;
mod running;

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::harness::{Case, can_grant};
use predicates::prelude::*;
use predicates::str::contains;
use serde_json::Value;

/// A heap of 64 MiB in small pages.
const HEAP: &str = "7f0000000000-7f0004000000 rw-p 00000000 00:00 0 \n\
    Size:              65536 kB\nKernelPageSize:        4 kB\nMMUPageSize:           4 kB\n\
    Rss:               65536 kB\nPss:               65536 kB\nAnonymous:         65536 kB\n\
    AnonHugePages:         0 kB\nShmemPmdMapped:        0 kB\nFilePmdMapped:         0 kB\n\
    Private_Hugetlb:       0 kB\nVmFlags: rd wr mr mw me ac \n";

const PACKAGES: &str = "Package: redis-server\nVersion: 5:7.0.15-1~deb12u4\n\n\
    Package: mongodb-org-server\nVersion: 8.0.4\n\n";

/// A frozen machine to which processes are added.
struct Machine {
    folder: PathBuf,
}

impl Machine {
    fn new(case: &Case, name: &str) -> Self {
        let folder = case.path("machine");
        let frozen = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/hosts");
        let copied = Command::new("cp")
            .arg("-r")
            .arg(frozen.join(name))
            .arg(&folder)
            .status();
        assert!(copied.expect("cp runs").success());
        let machine = Self { folder };
        machine.file("etc/os-release", "ID=debian\nVERSION_ID=\"12\"\n");
        machine.file("var/lib/dpkg/status", PACKAGES);
        let own = [
            ("redis-server", "redis-server"),
            ("mongodb-org-server", "mongod"),
        ];
        for (package, program) in own {
            let list = format!("/.\n/usr/bin/{program}\n");
            machine.file(&format!("var/lib/dpkg/info/{package}.list"), &list);
        }
        machine
    }

    fn file(&self, path: &str, text: &str) {
        let path = self.folder.join(path);
        fs::create_dir_all(path.parent().expect("a path below the root")).expect("a folder");
        fs::write(path, text).expect("a file");
    }

    fn process(&self, pid: u32, exe: &str, words: &str, group: &str) {
        let file = |name: &str, text: &str| self.file(&format!("proc/{pid}/{name}"), text);
        file("cmdline", &words.replace(' ', "\0"));
        file("environ", "PATH=/usr/bin\0SECRET=1\0");
        file("smaps", HEAP);
        file("cgroup", &format!("0::{group}\n"));
        let status = format!(
            "Name:\tx\nPid:\t{pid}\nPPid:\t1\nUid:\t0\t0\t0\t0\nThreads:\t2\nTHP_enabled:\t1\n"
        );
        file("status", &status);
        symlink(exe, self.folder.join(format!("proc/{pid}/exe"))).expect("a link");
    }

    /// A process of another user: only its name and its status can be read.
    fn closed(&self, pid: u32, parent: u32, words: &str) {
        let file = |name: &str, text: &str| self.file(&format!("proc/{pid}/{name}"), text);
        file("cmdline", &words.replace(' ', "\0"));
        file(
            "stat",
            &format!("{pid} (x) S {parent} {}\n", "0 ".repeat(48)),
        );
        file(
            "status",
            &format!("Name:\tx\nPid:\t{pid}\nUid:\t0\t0\t0\t0\nRssAnon:\t 8 kB\nThreads:\t1\n"),
        );
    }

    fn advise(&self, case: &Case, words: &[&str]) -> assert_cmd::assert::Assert {
        let mut command = case.hugewise();
        command.args(["advise", "--host"]).arg(&self.folder);
        command.args(words).assert()
    }
}

fn json(shown: &assert_cmd::assert::Assert) -> Value {
    serde_json::from_slice(&shown.get_output().stdout).expect("JSON")
}

/// Two servers whose vendors want different settings.
fn redis_beside_mongod(case: &Case, mongod: &str) -> Machine {
    let machine = Machine::new(case, "debian12-6.18-vm-root");
    machine.process(
        70,
        "/usr/bin/redis-server",
        "/usr/bin/redis-server *:6379",
        "/system.slice/redis-server.service",
    );
    machine.process(
        80,
        "/usr/bin/mongod",
        mongod,
        "/system.slice/mongod.service",
    );
    machine
}

#[test]
fn programs_have_versions_and_contradictions_are_solved() {
    let case = Case::new();
    let machine = redis_beside_mongod(&case, "/usr/bin/mongod --config /etc/mongod.conf");
    let advice = json(&machine.advise(&case, &["--format", "json"]).success());
    let programs = advice["programs"].as_array().unwrap();
    let version = |name: &str| {
        let program = programs.iter().find(|program| program["name"] == name);
        program.unwrap()["parts"][0]["version"]
            .as_str()
            .unwrap()
            .to_owned()
    };
    assert_eq!(version("redis-server"), "5:7.0.15-1~deb12u4");
    assert_eq!(version("mongod"), "8.0.4");
    let modes: Vec<_> = advice["contradictions"]
        .as_array()
        .unwrap()
        .iter()
        .collect();
    let mode = modes
        .iter()
        .find(|one| one["setting"] == "enabled")
        .unwrap();
    let wishes = mode["wishes"].as_array().unwrap();
    assert!(
        wishes
            .iter()
            .any(|wish| wish["program"] == "mongod" && wish["value"] == "always")
    );
    assert!(
        wishes
            .iter()
            .any(|wish| wish["program"] == "redis-server" && wish["value"] != "always")
    );
    assert!(!advice.to_string().contains("SECRET"), "{advice}");
}

#[test]
fn the_first_screen_is_one_and_details_name_source_and_means() {
    let case = Case::new();
    let machine = redis_beside_mongod(&case, "/usr/bin/mongod");
    let shown = machine.advise(&case, &[]).success();
    let text = String::from_utf8_lossy(&shown.get_output().stdout).into_owned();
    assert!(text.lines().count() <= 24, "{text}");
    assert!(
        text.lines().all(|line| line.chars().count() <= 80),
        "{text}"
    );
    machine
        .advise(&case, &["-v"])
        .success()
        .stdout(contains("https://www.mongodb.com/").and(contains("hugewise exec --policy")));
}

#[test]
fn what_a_vendor_asks_for_is_checked_and_written() {
    let case = Case::new();
    let machine = Machine::new(&case, "debian12-6.18-vm-root");
    machine.process(
        80,
        "/usr/bin/mongod",
        "/usr/bin/mongod",
        "/system.slice/mongod.service",
    );
    let folder = case.path("written");
    let path = folder.display().to_string();
    machine
        .advise(&case, &["--check", "--write", &path])
        .code(5)
        .stderr(
            contains("not followed: mongodb-80-on: Set the THP mode to always")
                .and(contains("nothing was applied")),
        )
        .stderr(contains(
            "Here, for mongod (80): defrag is madvise; max_ptes_none is 511.",
        ));
    // A gate prints why it failed, even with `--quiet`.
    machine
        .advise(&case, &["--check", "--quiet"])
        .code(5)
        .stderr(contains("not followed: mongodb-80-on: "));
    // `defrag` and `max_ptes_none` are system-wide: a unit cannot have its own values.
    let rule = folder.join("mongodb-80-on");
    let text = fs::read_to_string(rule.join("etc/tmpfiles.d/hugewise-mongodb-80-on.conf")).unwrap();
    assert!(text.contains("Rule mongodb-80-on (vendor, 2026)"), "{text}");
    assert!(
        text.contains("/khugepaged/max_ptes_none - - - - 0"),
        "{text}"
    );
    assert!(!rule.join("etc/systemd").exists());
    machine
        .advise(&case, &["--write", &path])
        .code(2)
        .stderr(contains("exists"));
}

#[test]
fn a_pool_that_a_pod_may_not_use_is_found() {
    let case = Case::new();
    let machine = Machine::new(&case, "guest-x86_64-7.2-root");
    let group = "/kubepods.slice/pod1/a";
    machine.process(
        90,
        "/usr/lib/postgresql/16/bin/postgres",
        "postgres -D /data",
        group,
    );
    machine.file(
        "sys/kernel/mm/hugepages/hugepages-2048kB/nr_hugepages",
        "512\n",
    );
    machine.file("sys/fs/cgroup/kubepods.slice/pod1/hugetlb.2MB.max", "0\n");
    machine
        .advise(&case, &["90"])
        .success()
        .stdout(contains("PostgreSQL 16").and(contains("breaks   Give the pod a hugepages limit")));
    let mut doctor = case.hugewise();
    doctor.args(["doctor", "--host"]).arg(&machine.folder);
    let found = contains("States that break programs").and(contains("postgres (90): "));
    doctor.assert().success().stdout(found);
    doctor.args(["--format", "csv"]);
    let row = contains("state,postgresql-kubernetes-sigbus,breaks,");
    doctor.assert().success().stdout(row);
    fs::remove_file(
        machine
            .folder
            .join("sys/fs/cgroup/kubepods.slice/pod1/hugetlb.2MB.max"),
    )
    .expect("the limit is there");
    let mut doctor = case.hugewise();
    doctor.args(["doctor", "--host"]).arg(&machine.folder);
    let none = contains("States that break programs").not();
    doctor.assert().success().stdout(none);
}

#[test]
fn what_may_not_be_read_is_counted_and_workers_belong_to_their_server() {
    let case = Case::new();
    let machine = Machine::new(&case, "debian12-6.18-vm-root");
    machine.closed(90, 1, "/usr/lib/postgresql/16/bin/postgres -D /data");
    machine.closed(91, 90, "postgres:_checkpointer");
    machine.closed(92, 90, "postgres:_walwriter");
    let advice = json(&machine.advise(&case, &["--format", "json"]).success());
    let programs = advice["programs"].as_array().unwrap();
    let closed: Vec<_> = programs
        .iter()
        .filter(|one| one["access"] == "closed")
        .collect();
    assert_eq!(closed.len(), 1, "{programs:?}");
    assert_eq!(closed[0]["parts"][0]["version"], "16");
    let said = contains("Not looked into: 1 process (postgres), so rules about memory");
    machine.advise(&case, &[]).success().stdout(said);
}

#[test]
fn what_holds_for_any_machine_is_left_to_the_details() {
    let case = Case::new();
    let machine = Machine::new(&case, "debian12-6.18-vm-root");
    let short = machine.advise(&case, &[]).success();
    short.stdout(contains("this machine").and(contains("smaps_rollup").not()));
    let all = machine.advise(&case, &["-v"]).success();
    all.stdout(contains(
        "Let monitoring read smaps_rollup of busy processes rarely.",
    ));
}

#[test]
fn what_proc_hides_is_said() {
    let case = Case::new();
    let machine = Machine::new(&case, "debian12-6.18-vm-root");
    let said = "Processes of other users are not listed here";
    let mounts = |options: &str| {
        let line = format!("22 1 0:21 / /proc rw - proc proc rw{options}\n");
        machine.file("proc/self/mountinfo", &line);
    };
    let status = "Uid:\t9\t9\t9\t9\nGid:\t9\t9\t9\t9\nCapEff:\t0000000000000000\n";
    machine.file("proc/self/status", status);
    mounts(",hidepid=invisible");
    let all = machine.advise(&case, &["--all"]).success();
    all.stdout(contains(said).and(contains("hidepid=invisible")));
    machine.process(70, "/usr/bin/redis-server", "/usr/bin/redis-server", "/a");
    let one = machine.advise(&case, &["70"]).success();
    one.stdout(contains(said).not());
    mounts("");
    let all = machine.advise(&case, &["--all"]).success();
    all.stdout(contains(said).not());
}

/// A separate mount in a separate namespace: the machine's mount stays unchanged.
#[test]
fn an_ordinary_user_hears_of_a_proc_that_hides() {
    if !can_grant("advise under hidepid") {
        return;
    }
    let case = Case::new();
    let mount = "mount -t proc -o hidepid=2 proc /proc && exec \"$@\"";
    let granted = case.hugewise_with("-all");
    let mut command = assert_cmd::Command::new("unshare");
    command.args(["--mount", "sh", "-c", mount, "sh"]);
    command.arg(granted.get_program()).args(granted.get_args());
    command
        .env("XDG_STATE_HOME", case.path("state"))
        .env("COLUMNS", "80");
    let shown = command.args(["advise", "--all"]).assert().success();
    shown.stdout(contains("not listed here").and(contains("hidepid=")));
}

#[test]
fn page_tables_are_walked_where_a_rule_asks_for_it() {
    let case = Case::new();
    let machine = Machine::new(&case, "debian12-6.18-vm-root");
    for (pid, program) in [(70, "redis-server"), (71, "unknown")] {
        let path = format!("/usr/bin/{program}");
        machine.process(pid, &path, &path, "/a.slice");
        let status = "Uid:\t0\t0\t0\t0\nRssAnon:\t 65536 kB\nThreads:\t1\nTHP_enabled:\t1\n";
        machine.file(&format!("proc/{pid}/status"), status);
    }
    let advice = json(&machine.advise(&case, &["--format", "json"]).success());
    let walked = |name: &str| {
        let mut programs = advice["programs"].as_array().unwrap().iter();
        let own = programs.find(|one| one["name"] == name).unwrap();
        assert_eq!(
            own["facts"]["process.anon.bytes"].as_f64(),
            Some(f64::from(64 << 20))
        );
        own["facts"].get("process.anon_huge.bytes").is_some()
    };
    assert!(walked("redis-server"));
    assert!(!walked("unknown"));
}

#[test]
fn an_application_is_judged_by_its_version_alone() {
    let case = Case::new();
    let advise = |app: &str| case.hugewise().args(["advise", "--app", app]).assert();
    advise("mongodb=8.0")
        .success()
        .stdout(contains("MongoDB 8.0"));
    advise("mongdb=8.0")
        .code(2)
        .stderr(contains("did you mean `mongodb`?"));
    advise("nosuch")
        .code(2)
        .stderr(contains("docs/reference/rules.md").and(contains("postgresql").not()));
    advise("java=25")
        .success()
        .stdout(contains(" may apply: ").and(contains("may apply  If ")));
    advise("mongodb=x")
        .code(2)
        .stderr(contains("`x` is no version").and(contains("did you mean").not()));
    advise("redis=").code(2).stderr(contains(
        "no version follows `=`; write redis=VERSION, or redis alone",
    ));
}

#[test]
fn a_unit_that_is_not_known_is_not_made_up() {
    let case = Case::new();
    let machine = Machine::new(&case, "debian12-6.18-vm-root");
    machine.file(
        "sys/kernel/mm/transparent_hugepage/enabled",
        "[always] madvise never\n",
    );
    let mongod = "/usr/bin/mongod";
    machine.process(80, mongod, mongod, "/user.slice/session-1.scope");
    machine.file(
        "var/lib/dpkg/status",
        "Package: mongodb-org-server\nVersion: 7.0.4\n\n",
    );
    let folder = case.path("written");
    machine
        .advise(&case, &["--write", &folder.display().to_string()])
        .success();
    let own = folder.join("mongodb-70-off/etc/systemd/system");
    let unit = own.join("REPLACE-by-the-unit-of-mongod.d/hugewise-mongodb-70-off.conf");
    let text = fs::read_to_string(unit).expect("the drop-in");
    assert!(text.contains("No unit of systemd is known"), "{text}");
}

#[test]
fn folios_are_a_matter_of_programs_with_much_small_memory() {
    let case = Case::new();
    let machine = Machine::new(&case, "debian12-6.18-vm-root");
    let told = |heap: &str| {
        machine.file("proc/70/smaps", heap);
        let advice = json(&machine.advise(&case, &["--format", "json"]).success());
        let rulings = advice["programs"].as_array().unwrap().iter();
        let rulings = rulings.flat_map(|one| one["rulings"].as_array().unwrap());
        let own = rulings.filter(|it| it["id"] == "kernel-mthp-opt-in");
        own.map(|it| it["standing"].clone()).collect::<Vec<_>>()
    };
    let mode = |text: &str| {
        machine.file("sys/kernel/mm/transparent_hugepage/enabled", text);
    };
    machine.process(70, "/usr/bin/x", "/usr/bin/x", "/a");
    let status = "Uid:\t0\t0\t0\t0\nRssAnon:\t 655360 kB\nThreads:\t1\nTHP_enabled:\t1\n";
    machine.file("proc/70/status", status);
    let heap = |huge: &str| {
        let huge = format!("AnonHugePages:    {huge} kB");
        let heap = HEAP.replace("7f0004000000", "7f0028000000");
        let heap = heap.replace("65536 kB", "655360 kB");
        heap.replace("AnonHugePages:         0 kB", &huge)
    };
    mode("always [madvise] never\n");
    assert!(told(&heap("0")).is_empty());
    mode("[always] madvise never\n");
    assert!(told(&heap("600000")).is_empty());
    assert_eq!(told(&heap("2048")), ["information"]);
}

#[test]
fn a_folder_that_cannot_be_made_is_named_and_nothing_to_write_is_said() {
    let case = Case::new();
    let machine = redis_beside_mongod(&case, "/usr/bin/mongod");
    machine
        .advise(&case, &["--write", "/proc/x"])
        .code(2)
        .stderr(contains("--write: /proc/x cannot be made: "));
    machine.file(
        "sys/kernel/mm/transparent_hugepage/enabled",
        "always [madvise] never\n",
    );
    let empty = case.path("empty");
    machine
        .advise(&case, &["70", "--write", &empty.display().to_string()])
        .success()
        .stderr(contains("wrote nothing: no applicable rule has a file"));
    assert!(!empty.exists());
}

#[test]
fn a_process_that_is_not_there_is_an_error() {
    let case = Case::new();
    let machine = Machine::new(&case, "debian12-6.18-vm-root");
    machine
        .advise(&case, &["999999"])
        .code(2)
        .stderr(contains("999999: no such process"));
    machine
        .advise(&case, &["postgres"])
        .code(2)
        .stderr(contains(
            "for a postgresql that does not run: --app postgresql=VERSION",
        ));
}
