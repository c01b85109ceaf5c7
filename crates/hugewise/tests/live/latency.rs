//! Latency of requests, by the histogram of an application.

use std::io::{BufRead, BufReader, Write};
use std::net::{TcpListener, TcpStream};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use serde_json::Value;

use crate::harness::{Case, one_at_a_time, readings, skip, wait_until};
use crate::sources::serve;
use crate::{Steady, assert_unchanged, obstacle};

const ROUNDS: usize = 2;

/// Runs short rounds with a source of latencies, and returns the report.
fn report(case: &Case, pid: u32, work: &str, latency: &str) -> Value {
    let output = case
        .hugewise()
        .args([
            "live",
            &pid.to_string(),
            "--work",
            work,
            "--latency",
            latency,
        ])
        .args(["--period", "400ms", "--max-rounds", &ROUNDS.to_string()])
        .args(["--wait", "5m", "--format", "json"])
        .output()
        .expect("hugewise");
    assert!(output.status.success(), "{output:?}");
    let report: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    assert_eq!(report["plan"]["live"]["latency"], latency);
    report
}

/// A thousand requests a second: 97 % take 1 to 2 ms, and 3 % take 5 to 10 ms, whatever the pages.
#[test]
fn quantiles_are_those_of_the_periods() {
    const NAME: &str = "quantiles_are_those_of_the_periods";
    if let Some(why) = obstacle() {
        return skip(NAME, why);
    }
    let _turn = one_at_a_time();
    let case = Case::new();
    let steady = Steady::begin(&case, "stream", &[]);
    let began = Instant::now();
    let address = serve(move || {
        let all = began.elapsed().as_millis() as u64;
        let quick = all * 97 / 100;
        format!(
            "took_seconds_bucket{{le=\"0.001\"}} 0\ntook_seconds_bucket{{le=\"0.002\"}} {quick}\n\
             took_seconds_bucket{{le=\"0.005\"}} {quick}\ntook_seconds_bucket{{le=\"0.01\"}} {all}\n\
             took_seconds_bucket{{le=\"+Inf\"}} {all}\ntook_seconds_count {all}\n"
        )
    });
    let source = format!("http://{address}/metrics#took_seconds");
    let report = report(&case, steady.child.id(), &steady.work(), &source);
    for policy in ["small", "huge"] {
        let median = readings(&report, policy, "latency_p50_seconds");
        let tail = readings(&report, policy, "latency_p99_seconds");
        assert!(median.len() >= 2 * ROUNDS, "{median:?}");
        // 1 ms and 50/97 of the next; 5 ms and two thirds of the next five.
        assert!(
            median.iter().all(|it| (it - 0.001_515).abs() < 2e-5),
            "{median:?}"
        );
        assert!(
            tail.iter().all(|it| (it - 0.008_333).abs() < 2e-4),
            "{tail:?}"
        );
    }
    let claims = report["answer"]["claims"].as_array().expect("claims");
    let is_of = |claim: &&Value, name: &str| claim["contrast"]["metric"] == name;
    for name in ["latency_p50_seconds", "latency_p99_seconds"] {
        let claim = claims.iter().find(|claim| is_of(claim, name));
        let claim = claim.unwrap_or_else(|| panic!("{name}: {claims:?}"));
        let ratio = claim["effect"]["ratio"].as_f64();
        assert!(
            ratio.is_some_and(|it| (0.95..1.05).contains(&it)),
            "{claim}"
        );
    }
    assert_unchanged(steady);
}

/// Redis 7 counts its commands by how long they took.
#[test]
fn redis_has_latencies_of_its_commands() {
    const NAME: &str = "redis_has_latencies_of_its_commands";
    if let Some(why) = obstacle() {
        return skip(NAME, why);
    }
    let _turn = one_at_a_time();
    let case = Case::new();
    let Some(redis) = Redis::start(&case) else {
        return skip(NAME, "needs redis-server 7");
    };
    let load = Load::begin(redis.port);
    let place = format!("redis:{}", redis.port);
    let report = report(&case, redis.child.id(), &place, &format!("{place}#get"));
    drop(load);
    for policy in ["small", "huge"] {
        let median = readings(&report, policy, "latency_p50_seconds");
        let tail = readings(&report, policy, "latency_p99_seconds");
        assert!(median.len() >= 2 * ROUNDS, "{median:?}");
        // A GET takes about a microsecond; the server may lose its processor in some.
        assert!(
            median.iter().all(|it| (2e-7..1e-4).contains(it)),
            "{median:?}"
        );
        let pairs = median.iter().zip(&tail);
        assert!(
            pairs.clone().all(|(median, tail)| tail >= median),
            "{tail:?}"
        );
    }
}

/// A redis with 64 MiB of keys.
struct Redis {
    child: Child,
    port: u16,
}

impl Redis {
    fn start(case: &Case) -> Option<Self> {
        let version = Command::new("redis-server")
            .arg("--version")
            .output()
            .ok()?;
        let version = String::from_utf8_lossy(&version.stdout).into_owned();
        let major = version
            .split("v=")
            .nth(1)?
            .split('.')
            .next()?
            .parse::<u32>();
        if major.ok()? < 7 {
            return None;
        }
        let port = TcpListener::bind("127.0.0.1:0")
            .ok()?
            .local_addr()
            .ok()?
            .port();
        let mut server = Command::new("redis-server");
        server.args([
            "--port",
            &port.to_string(),
            "--bind",
            "127.0.0.1",
            "--save",
            "",
        ]);
        server.args(["--enable-debug-command", "local"]);
        server.current_dir(case.path("")).stdout(Stdio::null());
        let redis = Self {
            child: server.spawn().ok()?,
            port,
        };
        wait_until("redis answers", || redis.ask("PING").is_some());
        redis.ask("DEBUG POPULATE 300000 key 200")?;
        Some(redis)
    }

    /// Returns the first line of an answer; `None` for an error.
    fn ask(&self, command: &str) -> Option<String> {
        let mut stream = TcpStream::connect(("127.0.0.1", self.port)).ok()?;
        write!(stream, "{command}\r\n").ok()?;
        let mut line = String::new();
        BufReader::new(stream).read_line(&mut line).ok()?;
        (!line.starts_with('-')).then_some(line)
    }
}

impl Drop for Redis {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A client that gets keys until it is dropped.
struct Load {
    stop: Arc<AtomicBool>,
    client: Option<std::thread::JoinHandle<()>>,
}

impl Load {
    fn begin(port: u16) -> Self {
        let stop = Arc::new(AtomicBool::new(false));
        let asked = Arc::clone(&stop);
        let client = std::thread::spawn(move || {
            let mut stream = TcpStream::connect(("127.0.0.1", port)).expect("redis");
            stream.set_nodelay(true).expect("an option");
            let mut answers = BufReader::new(stream.try_clone().expect("a stream"));
            let mut line = String::new();
            for key in (0..300_000).cycle().step_by(7919) {
                if asked.load(Ordering::Relaxed) {
                    return;
                }
                let command = format!("GET key:{key}\r\n");
                stream.write_all(command.as_bytes()).expect("redis");
                for _ in 0..2 {
                    line.clear();
                    answers.read_line(&mut line).expect("redis");
                    if line.starts_with("$-1") {
                        break;
                    }
                }
            }
        });
        Self {
            stop,
            client: Some(client),
        }
    }
}

impl Drop for Load {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        if let Some(client) = self.client.take() {
            let _ = client.join();
        }
    }
}
