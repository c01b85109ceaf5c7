//! A win with a loss, and losses of a load generator.

use hugewise_experiment::run::cause::facts::{is_price_of_memory, prices};
use hugewise_experiment::run::compare;
use hugewise_experiment::run::policy::{Policy, Thp};

use super::judged::{always, near_of};
use crate::sample::{self, Figures, huge_pages, small_pages, table, thp, with};

#[test]
fn a_win_does_not_hide_a_loss() {
    let record = always(with(&huge_pages(), &[("peak_rss_bytes", 1.2e9)]));
    let table_of = table(&record, 0.005);
    let [price] = &prices(&record, &table_of, "thp=always")[..] else {
        panic!("one price");
    };
    assert_eq!(price.metric, "peak_rss_bytes");
    assert!(is_price_of_memory(price));
    near_of(price.ratio, 1.409, 0.001);
    let record = always(huge_pages());
    let few = table(&record, 0.005);
    assert_eq!(
        prices(&record, &few, "thp=always"),
        Vec::<&compare::Comparison>::new()
    );
}

#[test]
fn a_worse_percentile_of_a_generator_is_a_loss() {
    let p99 = "set_latency_p99_seconds";
    let worse = |figures: &Figures, value| with(figures, &[(p99, value)]);
    let arms = [
        (Policy::as_is(), worse(&small_pages(), 0.004)),
        (thp("thp=always", Thp::Always), worse(&huge_pages(), 0.009)),
    ];
    let record = sample::record(&arms, 12);
    let table = compare::table(&record, &compare::Options::default()).expect("a good plan");
    let prices = prices(&record, &table, "thp=always");
    let names: Vec<&str> = prices.iter().map(|row| row.metric.as_str()).collect();
    assert_eq!(names, [p99]);
    near_of(prices[0].ratio, 2.25, 0.01);
}
