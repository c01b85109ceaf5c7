use super::super::interval::{Sign, interval};
use super::effect::Effect;
use super::*;

#[test]
fn other_metrics_say_which_way_is_good() {
    let mut metric = crate::run::metric::find("peak_rss_bytes").unwrap();
    let mut comparison = Comparison {
        metric: "peak_rss_bytes".to_owned(),
        statistic: Statistic::Center,
        policy: "b".to_owned(),
        baseline: "a".to_owned(),
        baseline_value: None,
        policy_value: None,
        scale: crate::run::compare::Scale::Ratio,
        ratio: Some(1.073),
        difference: None,
        low: Some(1.05),
        high: Some(1.09),
        p: None,
        n: 1,
        change: crate::run::compare::Change::Higher,
        warnings: Vec::new(),
    };
    let said = Effect::of(&metric, &comparison).unwrap().text(&metric);
    assert_eq!(said, "is 7.3 % higher in peak memory (worse) than");
    assert_eq!(
        interval(&metric, &comparison, Sign::Left).unwrap(),
        "5.0 to 9.0 %"
    );
    comparison.ratio = Some(12.34);
    metric.unit = crate::base::units::Unit::Count;
    let said = Effect::of(&metric, &comparison).unwrap().text(&metric);
    assert_eq!(said, "has 12.3 times the peak memory (worse) of");
}
