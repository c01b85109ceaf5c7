//! `hugewise export` as its readers see it: over HTTP, as a file, and once.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

fn hugewise() -> Command {
    Command::new(env!("CARGO_BIN_EXE_hugewise"))
}

/// A server on a separate port.
struct Server {
    child: Child,
    address: String,
}

impl Server {
    fn start() -> Self {
        let mut child = hugewise()
            .args(["export", "--listen", "127.0.0.1:0"])
            .stderr(Stdio::piped())
            .spawn()
            .expect("the server");
        let mut line = String::new();
        let stderr = child.stderr.as_mut().expect("the server");
        BufReader::new(stderr)
            .read_line(&mut line)
            .expect("the server");
        let (_, address) = line.split_once("http://").expect(&line);
        let address = address.trim().trim_end_matches("/metrics").to_owned();
        Self { child, address }
    }

    fn connect(&self) -> TcpStream {
        let stream = TcpStream::connect(&self.address).expect("the server");
        stream
            .set_read_timeout(Some(Duration::from_secs(20)))
            .expect("the server");
        stream
    }

    /// The whole response to these bytes, until the server closes.
    fn ask(&self, bytes: &[u8]) -> String {
        let mut stream = self.connect();
        stream.write_all(bytes).expect("the server");
        let mut answer = Vec::new();
        // A reset is also a response.
        let _ = stream.read_to_end(&mut answer);
        String::from_utf8_lossy(&answer).into_owned()
    }

    fn get(&self, path: &str, more: &str) -> String {
        self.ask(
            format!("GET {path} HTTP/1.1\r\nHost: x\r\n{more}Connection: close\r\n\r\n").as_bytes(),
        )
    }

    fn end(mut self) {
        let pid = self.child.id().to_string();
        Command::new("kill")
            .args(["-INT", &pid])
            .status()
            .expect("the server");
        assert_eq!(self.child.wait().expect("the server").code(), Some(0));
    }
}

#[test]
fn scrapes_are_answered_in_the_format_that_is_asked_for() {
    let server = Server::start();
    let old = server.get("/metrics", "");
    assert!(
        old.starts_with("HTTP/1.1 200") && old.contains("text/plain; version=0.0.4"),
        "{old}"
    );
    assert!(
        old.contains("\nhugewise_collector_success{collector=\"vmstat\"} 1\n"),
        "{old}"
    );
    let new = server.get(
        "/metrics",
        "Accept: application/openmetrics-text; version=1.0.0\r\n",
    );
    assert!(
        new.contains("application/openmetrics-text") && new.ends_with("# EOF\n"),
        "{new}"
    );
    assert!(server.get("/other", "").starts_with("HTTP/1.1 404"));
    let post =
        b"POST /metrics HTTP/1.1\r\nHost: x\r\nContent-Length: 0\r\nConnection: close\r\n\r\n";
    assert!(server.ask(post).starts_with("HTTP/1.1 405"));
    server.end();
}

/// Clients that never end their request, and those that send no HTTP, do not delay others.
#[test]
fn bad_clients_block_nobody() {
    let server = Server::start();
    let slow: Vec<TcpStream> = (0..200)
        .map(|_| {
            let mut stream = server.connect();
            stream.write_all(b"GET /metr").unwrap();
            stream
        })
        .collect();
    for garbage in [
        &b"\xff\xfe\x00\n\r\n\r\n"[..],
        b"GET\r\n\r\n",
        &[b'x'; 1 << 20],
    ] {
        let answer = server.ask(garbage);
        assert!(
            answer.is_empty() || answer.starts_with("HTTP/1.1 4"),
            "{answer}"
        );
    }
    let began = Instant::now();
    assert!(server.get("/metrics", "").starts_with("HTTP/1.1 200"));
    assert!(
        began.elapsed() < Duration::from_secs(4),
        "{:?}",
        began.elapsed()
    );
    drop(slow);
    server.end();
}

#[test]
fn parallel_scrapes_lose_nothing() {
    let server = Server::start();
    let whole = |text: &str| text.starts_with("HTTP/1.1 200") && text.ends_with("# EOF\n");
    let accept = "Accept: application/openmetrics-text\r\n";
    std::thread::scope(|scope| {
        for _ in 0..20 {
            scope.spawn(|| {
                for _ in 0..10 {
                    let text = server.get("/metrics", accept);
                    assert!(whole(&text), "{text}");
                }
            });
        }
    });
    server.end();
}

/// Groups have no process in their labels, and a record has its interval.
#[test]
fn extras_are_given_where_they_are_asked_for() {
    let records = tempfile::tempdir().unwrap();
    let record = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../../fixtures/runs/clear-win.jsonl"
    );
    std::fs::copy(record, records.path().join("one.jsonl")).unwrap();
    let output = hugewise()
        .args(["export", "--once", "--group", "own=hugewise*", "--records"])
        .arg(records.path())
        .output()
        .unwrap();
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    for part in [
        "hugewise_group_processes{group=\"own\",pages=\"read\"} ",
        "hugewise_group_small_bytes{group=\"own\",reason=\"",
        "hugewise_experiment_info{experiment=\"one\",",
        "bound=\"low\"} ",
        "hugewise_collector_success{collector=\"experiments\"} 1\n",
    ] {
        assert!(text.contains(part), "{part}\n{text}");
    }
    assert!(!text.contains("pid") && !text.contains("cgroup"), "{text}");
}

#[test]
fn a_folder_of_records_that_is_not_there_has_no_series_and_says_so() {
    let output = hugewise()
        .args(["export", "--once", "--records", "/nowhere"])
        .output()
        .unwrap();
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let failed = "hugewise_collector_success{collector=\"experiments\"} 0\n";
    assert!(
        text.contains(failed) && !text.contains("hugewise_experiment"),
        "{text}"
    );
}

#[test]
fn the_file_is_whole_and_goes_with_the_program() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("hugewise.prom");
    let export = |more: &[&str]| {
        let mut command = hugewise();
        command
            .args(["export", "--textfile"])
            .arg(folder.path())
            .args(more);
        command
    };
    assert!(export(&["--once"]).status().unwrap().success());
    let text = std::fs::read_to_string(&file).unwrap();
    assert!(
        text.contains("# TYPE hugewise_vmstat_total counter\n"),
        "{text}"
    );
    std::fs::remove_file(&file).unwrap();

    let mut child = export(&["--interval", "100ms"]).spawn().unwrap();
    let began = Instant::now();
    while !file.exists() && began.elapsed() < Duration::from_secs(20) {
        std::thread::sleep(Duration::from_millis(10));
    }
    assert!(file.exists());
    Command::new("kill")
        .args(["-TERM", &child.id().to_string()])
        .status()
        .unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(0));
    let left: Vec<_> = std::fs::read_dir(folder.path()).unwrap().collect();
    assert!(left.is_empty(), "{left:?}");
}

/// The body that a collector receives for one push when it gives this response, and how the program ended.
fn pushed(answer: &str) -> (String, std::process::Output) {
    let collector = TcpListener::bind("127.0.0.1:0").expect("the collector");
    let url = format!("http://{}", collector.local_addr().expect("the collector"));
    let child = hugewise()
        .args(["export", "--once", "--otlp", &url])
        .stderr(Stdio::piped())
        .spawn()
        .expect("the collector");
    let (mut stream, _) = collector.accept().expect("the collector");
    let mut request = BufReader::new(stream.try_clone().expect("the collector"));
    let mut length = 0;
    loop {
        let mut line = String::new();
        request.read_line(&mut line).expect("the collector");
        if let Some((name, value)) = line.split_once(": ")
            && name.eq_ignore_ascii_case("content-length")
        {
            length = value.trim().parse().expect("the collector");
        }
        if line.trim().is_empty() {
            break;
        }
    }
    let mut body = vec![0; length];
    request.read_exact(&mut body).expect("the collector");
    stream.write_all(answer.as_bytes()).expect("the collector");
    drop((stream, request));
    let output = child.wait_with_output().expect("the collector");
    (String::from_utf8(body).expect("the collector"), output)
}

#[test]
fn a_collector_gets_a_sample_and_what_it_answers_counts() {
    let (body, output) = pushed("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}");
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    let request: serde_json::Value = serde_json::from_str(&body).unwrap();
    let metrics = &request["resourceMetrics"][0]["scopeMetrics"][0]["metrics"];
    let names = metrics.as_array().unwrap().iter();
    let names: Vec<&str> = names.map(|it| it["name"].as_str().unwrap()).collect();
    for name in ["hugewise_memory_bytes", "hugewise_thp_setting_info"] {
        assert!(names.contains(&name), "{names:?}");
    }
    let busy = "HTTP/1.1 503 Service Unavailable\r\nContent-Length: 4\r\n\r\nbusy";
    let (_, output) = pushed(busy);
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(1), "{said}");
    assert!(said.contains("503") && said.contains("busy"), "{said}");
}

#[test]
fn wrong_places_are_errors_with_their_names() {
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap().to_string();
    let refused = hugewise()
        .args(["export", "--listen", &address])
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&refused.stderr).into_owned();
    assert_eq!(refused.status.code(), Some(4), "{said}");
    assert!(said.contains(&format!("--listen {address}")), "{said}");
    let nowhere = hugewise()
        .args(["export", "--once", "--textfile", "/nowhere"])
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&nowhere.stderr).into_owned();
    assert!(
        !nowhere.status.success() && said.contains("/nowhere"),
        "{said}"
    );
}
