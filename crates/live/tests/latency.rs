//! Histograms of applications: what they answer, and the quantiles of a period.

use hugewise_live::{Histogram, LatencySource, Reply, histogram_of_metrics, histogram_of_redis};
use proptest::prelude::{prop_assert, proptest};

const PAGE: &str = "\
    # TYPE took_seconds histogram\n\
    took_seconds_bucket{code=\"200\",le=\"0.001\"} 10\ntook_seconds_bucket{code=\"200\",le=\"0.01\"} 110\n\
    took_seconds_bucket{code=\"200\",le=\"+Inf\"} 120\ntook_seconds_bucket{code=\"500\",le=\"0.001\"} 0\n\
    took_seconds_bucket{code=\"500\",le=\"0.01\"} 40\ntook_seconds_bucket{code=\"500\",le=\"+Inf\"} 80\n\
    took_seconds_sum{code=\"200\"} 1\ntook_seconds_count{code=\"200\"} 120\n";

fn near(found: Result<f64, String>, expected: f64) {
    let found = found.expect("a quantile");
    assert!((found - expected).abs() < 1e-9, "{found} {expected}");
}

#[test]
fn a_source_is_written_as_it_is_read() {
    for text in [
        "redis:6379",
        "redis:cache:6379#get",
        "http://box:9100/metrics#took_seconds{code=\"200\"}",
    ] {
        assert_eq!(text.parse::<LatencySource>().expect(text).to_string(), text);
    }
    for text in [
        "",
        "redis",
        "redis:0",
        "http://box/metrics",
        "memcached:1",
        "io",
    ] {
        assert!(text.parse::<LatencySource>().is_err(), "{text}");
    }
}

#[test]
fn series_of_a_histogram_are_added_up_by_bound() {
    let all = histogram_of_metrics(PAGE, "took_seconds").expect("a histogram");
    assert_eq!(all.requests().to_bits(), 200_f64.to_bits());
    // 10 below 1 ms, 140 from 1 to 10 ms, 50 above.
    near(all.quantile(0.5), 0.001 + 0.009 * 90.0 / 140.0);
    assert!(all.quantile(0.99).is_err());
    let one = histogram_of_metrics(PAGE, "took_seconds{code=\"500\"}").expect("a histogram");
    near(one.quantile(0.25), 0.001 + 0.009 * 20.0 / 40.0);
    assert!(histogram_of_metrics(PAGE, "took").is_err());
    assert!(histogram_of_metrics("x_bucket 3\n", "x").is_err());
    let ms = histogram_of_metrics("x_ms_bucket{le=\"4\"} 8\n", "x_ms").expect("a histogram");
    near(ms.quantile(0.5), 0.002);
}

#[test]
fn a_period_has_what_came_since() {
    let before = histogram_of_metrics("x_bucket{le=\"1\"} 100\nx_bucket{le=\"2\"} 100\n", "x");
    let after = histogram_of_metrics("x_bucket{le=\"1\"} 100\nx_bucket{le=\"2\"} 300\n", "x");
    let (before, after) = (before.expect("one"), after.expect("one"));
    let since = after.since(&before).expect("growth");
    assert_eq!(since.requests().to_bits(), 200_f64.to_bits());
    near(since.quantile(0.5), 1.5);
    near(since.quantile(0.99), 1.99);
    assert!(before.since(&after).is_err());
    assert!(after.since(&after).expect("none").quantile(0.5).is_err());
}

#[test]
fn a_rare_quantile_needs_many_requests() {
    let few = histogram_of_metrics("x_bucket{le=\"1\"} 99\n", "x").expect("one");
    assert!(few.quantile(0.5).is_ok() && few.quantile(0.99).is_err());
    let enough = histogram_of_metrics("x_bucket{le=\"1\"} 100\n", "x").expect("one");
    near(enough.quantile(0.99), 0.99);
}

#[test]
fn redis_tells_cumulative_counts_of_each_command() {
    let answer = "*4\r\n$3\r\nget\r\n*4\r\n$5\r\ncalls\r\n:100\r\n$14\r\nhistogram_usec\r\n\
                  *4\r\n:1\r\n:60\r\n:4\r\n:100\r\n\
                  $4\r\ninfo\r\n*4\r\n$5\r\ncalls\r\n:2\r\n$14\r\nhistogram_usec\r\n*2\r\n:33\r\n:2\r\n";
    let reply = Reply::read(&mut answer.as_bytes()).expect("a reply");
    let all = histogram_of_redis(&reply).expect("a histogram");
    assert_eq!(all.requests().to_bits(), 102_f64.to_bits());
    near(all.quantile(0.5), 0.5e-6 + 0.5e-6 * 51.0 / 60.0);
    near(all.quantile(0.75), 2e-6 + 2e-6 * 16.5 / 40.0);
    let none = Reply::read(&mut "*0\r\n".as_bytes()).expect("a reply");
    assert_eq!(histogram_of_redis(&none), Ok(Histogram::default()));
    assert!(histogram_of_redis(&Reply::Number(1)).is_err());
}

#[test]
fn an_answer_that_is_none_is_an_error() {
    for text in [
        "",
        "-ERR no\r\n",
        "HTTP/1.1 400\r\n",
        "$5\r\nab",
        "*1\r\n",
        ":x\r\n",
        "$99999999999\r\n",
    ] {
        assert!(Reply::read(&mut text.as_bytes()).is_err(), "{text}");
    }
    let said = Reply::read(&mut "-ERR no such\r\n".as_bytes());
    assert!(said.is_err_and(|it| it.contains("no such")));
    let deep = "*1\r\n".repeat(1000);
    assert!(Reply::read(&mut deep.as_bytes()).is_err());
    assert!(Reply::read(&mut "*99999999\r\n".as_bytes()).is_err());
}

proptest! {
    #[test]
    fn no_bytes_panic(bytes: Vec<u8>, metric: String) {
        let _ = Reply::read(&mut bytes.as_slice());
        let _ = histogram_of_metrics(&String::from_utf8_lossy(&bytes), &metric);
    }

    /// A quantile lies within the bounds, and a higher one is no lower.
    #[test]
    fn quantiles_rise(counts in proptest::collection::vec(0_u32..1000, 1..10)) {
        let mut sum = 0;
        let lines = counts.iter().enumerate().map(|(bound, count)| {
            sum += count;
            format!("x_bucket{{le=\"{}\"}} {sum}\n", bound + 1)
        });
        let histogram = histogram_of_metrics(&lines.collect::<String>(), "x").expect("one");
        if let (Ok(median), Ok(tail)) = (histogram.quantile(0.5), histogram.quantile(0.99)) {
            prop_assert!(0.0 <= median && median <= tail && tail <= counts.len() as f64);
        }
    }
}
