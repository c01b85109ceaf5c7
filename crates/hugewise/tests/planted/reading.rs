//! Files that root reads.

use super::*;

/// The time limit, whatever others have planted.
const SOON: Duration = Duration::from_secs(30);

/// The whole output of a verb about a process; checks that it ends soon and takes little memory.
fn said(case: &Case, words: &[&str]) -> String {
    let line = format!("ulimit -v 3000000; exec {HUGEWISE} {}", words.join(" "));
    let mut command = Command::new("sh");
    case.surround(&mut command);
    command.args(["-c", &line]);
    let mut command = assert_cmd::Command::from_std(command);
    let done = command.timeout(SOON).output().expect("it ends");
    assert!(done.status.success(), "{words:?}: {done:?}");
    let text = [done.stdout, done.stderr].concat();
    String::from_utf8_lossy(&text).into_owned()
}

#[test]
fn a_configuration_that_a_process_names_is_read_with_limits_and_its_users_rights() {
    if !is_root() {
        return skip(
            "a_configuration…",
            "needs root to look at another's process",
        );
    }
    let case = Case::new();
    let at = |name: &str| case.path(name).display().to_string();
    make_pipe(&case.path("pipe.conf"));
    symlink("/dev/zero", case.path("zero.conf")).expect("a link");
    fs::write(case.path("round.conf"), "include round.conf\n".repeat(300)).expect("a file");
    fs::write(case.path("secret"), "disable-thp SECRETVALUE\n").expect("a file");
    fs::set_permissions(case.path("secret"), fs::Permissions::from_mode(0o600)).expect("a mode");
    symlink(case.path("secret"), case.path("secret.conf")).expect("a link");
    let servers: Vec<_> = ["pipe", "zero", "round", "secret"]
        .iter()
        .map(|name| Process::named(&case, "redis-server", &at(&format!("{name}.conf"))))
        .collect();
    let options = [
        format!("@{}", at("pipe.conf")),
        format!("-XX:VMOptionsFile={}", at("pipe.conf")),
    ];
    let virtual_machines = options.map(|word| Process::named(&case, "java", &word));
    std::thread::sleep(Duration::from_millis(200));
    for process in servers.iter().chain(&virtual_machines) {
        let text = said(&case, &["advise", "-v", &process.pid()]);
        assert!(!text.contains("SECRETVALUE"), "{text}");
        said(&case, &["advise", "--format", "json", &process.pid()]);
    }
    assert!(!said(&case, &["advise", "-v"]).contains("SECRETVALUE"));
    said(&case, &["doctor"]);
}

/// The permissions are those of the process's user, so everything that this user can read is read.
#[test]
fn a_configuration_of_the_processs_user_is_read() {
    if !is_root() {
        return skip(
            "a_configuration_of…",
            "needs root to look at another's process",
        );
    }
    let case = Case::new();
    let own = case.path("own.conf");
    fs::write(&own, "disable-thp OWNVALUE\n").expect("a file");
    std::os::unix::fs::chown(&own, Some(NOBODY), None).expect("its owner");
    fs::set_permissions(&own, fs::Permissions::from_mode(0o400)).expect("its mode");
    let server = Process::named(&case, "redis-server", &own.display().to_string());
    std::thread::sleep(Duration::from_millis(200));
    assert!(said(&case, &["advise", "-v", &server.pid()]).contains("OWNVALUE"));
}

#[test]
fn under_sudo_a_workload_does_not_read_by_latency_or_input_what_only_root_may() {
    if !is_root() {
        return skip("under_sudo… latency", "needs root to become somebody else");
    }
    let _turn = one_at_a_time();
    let case = Case::new();
    let user = case.path("user");
    folder_of_nobody(&user);
    secret(&case.path("secret"));
    fs::write(user.join("input"), "given\n").expect("the input");
    let lines = format!(
        "cd {} || exit 1\ncat >> seen\nrm -f input l.csv\nln -s {secret} input; ln -s {secret} l.csv",
        user.display(),
        secret = case.path("secret").display()
    );
    script(&case.path("swap"), &lines);
    let done = case
        .hugewise()
        .env("SUDO_UID", NOBODY.to_string())
        .args(["run", "--wait", "60s", "--warmup", "0", "--max-rounds", "2"])
        .args(["--policy", "as-is", "--baseline", "as-is", "--latency"])
        .arg(format!("csv:a@ms:{}", user.join("l.csv").display()))
        .arg("--stdin")
        .arg(user.join("input"))
        .arg("--out")
        .arg(user.join("r.jsonl"))
        .arg("--")
        .arg(case.path("swap"))
        .output()
        .expect("the program");
    let record = fs::read(user.join("r.jsonl")).expect("the record");
    let seen = fs::read(user.join("seen")).expect("what the workload read");
    for text in [record, seen.clone(), done.stdout, done.stderr] {
        let text = String::from_utf8_lossy(&text).into_owned();
        assert!(!text.contains("SECRETHASH"), "{text}");
    }
    assert_eq!(seen, b"given\n");
}

#[test]
fn under_sudo_files_that_are_named_are_read_as_the_user() {
    if !is_root() {
        return skip("under_sudo… named", "needs root to become somebody else");
    }
    let case = Case::new();
    secret(&case.path("secret"));
    symlink(case.path("secret"), case.path("link")).expect("a link");
    for words in [
        ["report", "secret"],
        ["report", "link"],
        ["stat", "--replay=secret"],
        ["faults", "--replay=link"],
        ["watch", "--replay=secret"],
        ["inspect", "--from=link"],
        ["run", "secret.toml"],
    ] {
        let done = case
            .hugewise()
            .env("SUDO_UID", NOBODY.to_string())
            .args(words)
            .output()
            .expect("the program");
        let text = String::from_utf8_lossy(&[done.stdout, done.stderr].concat()).into_owned();
        assert_eq!(done.status.code(), Some(2), "{words:?}: {text}");
        assert!(!text.contains("SECRETHASH"), "{words:?}: {text}");
    }
}

/// A folder of records in which a file of each other type has the name of a record.
fn mixed(case: &Case) -> PathBuf {
    let folder = case.path("records");
    fs::create_dir(&folder).expect("a folder");
    let record = "../../fixtures/runs/clear-win.jsonl";
    let record = Path::new(env!("CARGO_MANIFEST_DIR")).join(record);
    fs::copy(record, folder.join("real.jsonl")).expect("a record");
    make_pipe(&folder.join("pipe.jsonl"));
    symlink("/dev/zero", folder.join("zero.jsonl")).expect("a link");
    symlink(folder.join("pipe.jsonl"), folder.join("link.jsonl")).expect("a link");
    fs::create_dir(folder.join("folder.jsonl")).expect("a folder");
    let sparse = fs::File::create(folder.join("sparse.jsonl")).expect("a file");
    sparse.set_len(1 << 40).expect("its length");
    folder
}

#[test]
fn a_folder_of_records_has_what_is_none_left_out() {
    let case = Case::new();
    let folder = mixed(&case);
    fs::create_dir(case.path("state")).expect("a folder");
    symlink(&folder, case.path("state/hugewise")).expect("a link");
    for words in [&["history", "--all"][..], &["report", "last"], &["report"]] {
        let done = case.hugewise().args(words).timeout(SOON).output();
        let done = done.expect("it ends");
        let text = String::from_utf8_lossy(&[done.stdout, done.stderr].concat()).into_owned();
        assert!(
            done.status.code().is_some(),
            "{words:?} does not end: {text}"
        );
    }
    let done = case
        .hugewise()
        .args(["report", "last"])
        .timeout(SOON)
        .output();
    assert!(done.expect("it ends").status.success());
}

/// Returns true if this process, and so the programs that it starts, ignore a signal.
fn is_ignored(number: u32) -> bool {
    let status = fs::read_to_string("/proc/self/status").expect("own status");
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    let mask = mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok());
    mask.is_some_and(|mask| mask & (1 << (number - 1)) != 0)
}

#[test]
fn an_exporter_answers_and_ends_whatever_lies_among_the_records() {
    let case = Case::new();
    let folder = mixed(&case);
    for (signal, number) in [("-TERM", 15), ("-INT", 2), ("-HUP", 1)] {
        // The program keeps ignoring a signal that nohup(1) or a shell has ignored before.
        if is_ignored(number) {
            skip(signal, "the test runs where it is ignored");
            continue;
        }
        let mut command = case.plain();
        command
            .args(["export", "--listen", "127.0.0.1:0", "--records"])
            .arg(&folder)
            .stderr(Stdio::piped());
        let mut server = Process(command.spawn().expect("the server"));
        let stderr = server.0.stderr.as_mut().expect("its stderr");
        let mut said = String::new();
        while !said.ends_with("/metrics\n") {
            let mut byte = [0];
            assert_eq!(stderr.read(&mut byte).expect("its address"), 1, "{said}");
            said.push(char::from(byte[0]));
        }
        let (_, address) = said.rsplit_once("http://").expect("an address");
        let address = address.trim().trim_end_matches("/metrics");
        let mut stream = TcpStream::connect(address).expect("the server");
        stream.set_read_timeout(Some(SOON)).expect("a limit");
        let question = b"GET /metrics HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n";
        std::io::Write::write_all(&mut stream, question).expect("a question");
        let mut answer = String::new();
        stream.read_to_string(&mut answer).expect("an answer");
        assert!(answer.contains("collector=\"experiments\"} 1"), "{answer}");
        let sent = Command::new("kill").args([signal, &server.pid()]).status();
        assert!(sent.expect("kill").success());
        let began = Instant::now();
        wait_until("the server has ended", || {
            server.0.try_wait().expect("its state").is_some()
        });
        assert!(began.elapsed() < Duration::from_secs(5), "{signal}");
    }
}
