//! Sources of work: what is typed, and what they answer.

use hugewise_experiment::run::metric::live::LiveMetric;
use hugewise_live::{
    Guard, Limit, Place, Source, Watched, field_of_info, field_of_stats, printed_count,
    sample_of_metrics, sum_of_io,
};
use proptest::prelude::{any, prop_assert_eq, proptest};

fn parsed(text: &str) -> Source {
    text.parse().expect(text)
}

#[test]
fn a_source_is_written_as_it_is_read() {
    for text in [
        "redis:6379",
        "redis:cache:6379#instantaneous_ops_per_sec",
        "redis:[::1]:6379",
        "memcached:11211#cmd_get",
        "postgres:host=/tmp dbname=app",
        "postgresql://me@box/app",
        "http://box:9100/metrics#requests_total{code=\"200\"}",
        "cmd:cat /tmp/n",
        "uprobe:/bin/app:handle",
        "usdt:/bin/app:app:done",
        "syscalls",
        "syscalls:sendmsg,write",
        "instructions",
        "io",
    ] {
        assert_eq!(parsed(text).to_string(), text);
    }
    assert_eq!(
        parsed("redis:127.0.0.1:6379"),
        Source::Redis(Place::here(6379))
    );
}

#[test]
fn a_source_that_lacks_a_part_is_refused() {
    for text in [
        "",
        "redis",
        "redis:",
        "redis:0",
        "redis:70000",
        "redis::6379",
        "redis:6379#",
        "memcached:x",
        "postgres:",
        "http://box/metrics",
        "https://box/metrics#n",
        "cmd:",
        "uprobe:/bin/app",
        "uprobe::f",
        "usdt:/bin/app:done",
        "instructions:x",
        "io:x",
        "ftp:x",
    ] {
        assert!(text.parse::<Source>().is_err(), "{text}");
    }
}

#[test]
fn work_is_named_by_its_source() {
    let units = [
        ("redis:1", "commands"),
        ("redis:1#evicted_keys", "evicted_keys"),
        (
            "http://h/m#http_requests_total{code=\"200\"}",
            "http_requests",
        ),
        ("syscalls:read,write", "read+write"),
        ("uprobe:f:g", "calls of g"),
    ];
    for (text, unit) in units {
        assert_eq!(parsed(text).unit(), unit);
    }
}

#[test]
fn redis_and_memcached_tell_their_fields() {
    let info = "# Stats\r\ntotal_commands_processed:123456\r\nrole:master\r\n";
    assert_eq!(
        field_of_info(info, "total_commands_processed"),
        Ok(123_456.0)
    );
    assert!(field_of_info(info, "role").is_err());
    assert!(field_of_info(info, "total_commands").is_err());
    let stats = "STAT cmd_get 70\r\nSTAT cmd_set 7\r\nSTAT version 1.6\r\n";
    assert_eq!(
        field_of_stats(stats, &["cmd_get", "cmd_set", "cmd_meta"]),
        Ok(77.0)
    );
    assert!(field_of_stats(stats, &["cmd_meta"]).is_err());
    assert!(field_of_stats(stats, &["version"]).is_ok());
}

#[test]
fn series_of_prometheus_are_added_up() {
    let text = "# HELP n x\n# TYPE n counter\n\
                n{code=\"200\",path=\"/a b\"} 10 1700000000\nn{code=\"500\",path=\"/\"} 3\n\
                n_created{code=\"200\"} 99\nplain 7.5e1\n";
    assert_eq!(sample_of_metrics(text, "n"), Ok(13.0));
    assert_eq!(sample_of_metrics(text, "n{code=\"200\"}"), Ok(10.0));
    assert_eq!(sample_of_metrics(text, "plain"), Ok(75.0));
    assert!(sample_of_metrics(text, "n{code=\"404\"}").is_err());
    assert!(sample_of_metrics(text, "pla").is_err());
    assert!(sample_of_metrics("n NaN\n", "n").is_err());
}

#[test]
fn a_command_and_io_tell_numbers() {
    assert_eq!(printed_count("done: 12\n"), Ok(12.0));
    assert!(printed_count("nothing\n").is_err());
    assert_eq!(sum_of_io("rchar: 5\nwchar: 6\nsyscr: 1\n"), Ok(11.0));
    assert!(sum_of_io("rchar: 5\n").is_err());
}

#[test]
fn a_guard_is_a_metric_and_a_bound() {
    let guard = |text: &str| text.parse::<Guard>().expect(text);
    let pressure = guard("memory_pressure_ratio > 5%");
    assert_eq!(pressure.watched, Watched::MemoryPressure);
    assert_eq!(pressure.limit, Limit::Above(0.05));
    assert!(pressure.is_broken_by(0.06) && !pressure.is_broken_by(0.05));
    let rate = guard("work_per_second<1000");
    assert_eq!(rate.watched, Watched::Period(LiveMetric::WorkPerSecond));
    assert!(rate.is_broken_by(999.0) && !rate.is_broken_by(1000.0));
    let counter = guard("redis:6379#rejected_connections > 0");
    assert!(matches!(
        counter.watched,
        Watched::Counter(Source::Redis(_))
    ));
    for text in [
        "",
        "x > 1",
        "work_per_second",
        "work_per_second > x",
        "redis:6379 >",
    ] {
        assert!(text.parse::<Guard>().is_err(), "{text}");
    }
}

proptest! {
    /// Whatever a server answers is a number or an error.
    #[test]
    fn no_answer_panics(text in any::<String>(), name in any::<String>()) {
        let _ = field_of_info(&text, &name);
        let _ = field_of_stats(&text, &[&name]);
        let _ = sample_of_metrics(&text, &name);
        let _ = printed_count(&text);
        if let Ok(source) = text.parse::<Source>() {
            prop_assert_eq!(source.to_string().parse::<Source>(), Ok(source));
        }
    }
}
