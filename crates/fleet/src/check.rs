//! Checks of a plan beyond its syntax.

use std::collections::BTreeSet;
use std::str::FromStr;
use std::time::Duration;

use super::plan::{Plan, Stage, Switchback};
use super::unit::UnitKind;
use hugewise_base::plain::plain_error;
use hugewise_experiment::run::policy::Means;

impl FromStr for Plan {
    type Err = String;

    /// Parses a plan. Errors have the line and the column.
    fn from_str(text: &str) -> Result<Self, String> {
        let plan: Self = toml::from_str(text).map_err(|error| plain_error(&error))?;
        check(&plan)?;
        Ok(plan)
    }
}

/// Finds the first mistake in a plan, and suggests the fix.
fn check(plan: &Plan) -> Result<(), String> {
    check_word("name", &plan.name)?;
    check_word("salt", plan.enrol_salt())?;
    check_arms(plan)?;
    check_reach(plan)?;
    check_band(plan.band)?;
    check_stages(plan)?;
    check_saturation(plan)?;
    plan.switchback
        .map_or(Ok(()), |switchback| check_switchback(plan, switchback))?;
    check_times(plan)
}

/// Names are used in SQL, in templates and in paths, where other characters have a meaning.
fn check_word(what: &str, word: &str) -> Result<(), String> {
    let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
    let first = word.starts_with(|c: char| c.is_ascii_alphanumeric());
    if first && word.len() <= 100 && word.chars().all(plain) {
        return Ok(());
    }
    Err(format!(
        "{what}: `{word}` must begin with a letter or digit and have only letters, digits, `-`, \
         `_` and `.`, 100 at most"
    ))
}

fn check_arms(plan: &Plan) -> Result<(), String> {
    let mut names = BTreeSet::from(["outside"]);
    for arm in &plan.arms {
        check_word("name of an arm", &arm.name)?;
        if !names.insert(&arm.name) {
            return Err(match arm.name.as_str() {
                "outside" => "an arm cannot be called `outside`: so are the units without one",
                _ => "two arms have one name",
            }
            .to_owned());
        }
        if !arm.weight.is_finite() || arm.weight <= 0.0 {
            let (name, weight) = (&arm.name, arm.weight);
            return Err(format!("arm {name}: the weight {weight} must be above 0"));
        }
    }
    match plan.arms.len() {
        0 | 1 => Err("a plan needs two arms or more; the first is the control".to_owned()),
        _ => Ok(()),
    }
}

/// An inherited setting does not reach programs that already run. Hosts that cannot apply an arm would be lost, but not
/// those of the control.
fn check_reach(plan: &Plan) -> Result<(), String> {
    if plan.unit != UnitKind::Host {
        return Ok(());
    }
    for arm in &plan.arms {
        let settings = &arm.policy.settings;
        let of_processes = [
            (
                "means",
                settings.means.is_some_and(|it| it != Means::Setting),
            ),
            ("memory-max", settings.memory_max.is_some()),
            ("memory-high", settings.memory_high.is_some()),
            ("numa", settings.numa.is_some()),
            ("tmpfs", settings.tmpfs.is_some()),
            ("file", settings.file.is_some()),
            ("malloc", settings.malloc.is_some()),
            ("tracer", settings.tracer.is_some()),
            ("preload", settings.preload.is_some()),
            ("collapse", settings.collapse.is_some()),
            ("text", settings.text.is_some()),
        ];
        if let Some((key, _)) = of_processes.iter().find(|(_, is_set)| *is_set) {
            return Err(format!(
                "arm {}: {key}= is set as a process starts, and no setting of a whole host: say \
                 unit = \"start\", and begin each by `hugewise exec`",
                arm.name
            ));
        }
    }
    Ok(())
}

fn check_band([lower, upper]: [f64; 2]) -> Result<(), String> {
    if (0.0..1.0).contains(&lower) && lower < upper && upper <= 1.0 {
        return Ok(());
    }
    Err(format!(
        "band: [{lower}, {upper}] must be two shares from 0 to 1, the smaller first"
    ))
}

fn check_stages(plan: &Plan) -> Result<(), String> {
    let bad = |stage: &&Stage| !(stage.share > 0.0 && stage.share <= 1.0);
    if let Some(stage) = plan.stages.iter().find(bad) {
        let share = stage.share;
        return Err(format!(
            "stages: the share {share} must be above 0, up to 1"
        ));
    }
    let falls = |pair: &[Stage]| pair[1].share <= pair[0].share;
    if plan.stages.windows(2).any(falls) {
        return Err(
            "stages: shares must grow, so that no unit leaves between two stages".to_owned(),
        );
    }
    let timed = plan.stages.iter().filter_map(|stage| stage.starts);
    let timed: Vec<_> = timed.collect();
    match (timed.len(), plan.stage) {
        (0, stage) if stage.unwrap_or(0) < plan.stages.len().max(1) => Ok(()),
        (0, _) => Err("stage: there is no stage of this index; the first is 0".to_owned()),
        (_, Some(_)) => Err("stage: leave it out where stages have times".to_owned()),
        (all, None) if all != plan.stages.len() => {
            Err("stages: give all of them a time, or none".to_owned())
        }
        _ if timed.is_sorted() => Ok(()),
        _ => Err("stages: one begins before the stage above it".to_owned()),
    }
}

fn check_saturation(plan: &Plan) -> Result<(), String> {
    if plan.saturation.is_empty() {
        return Ok(());
    }
    let share = |level: &f64| (0.0..=1.0).contains(level);
    if !plan.saturation.iter().all(share) {
        return Err("saturation: levels are shares from 0 to 1".to_owned());
    }
    needs_two_arms(plan, "saturation")?;
    match plan.switchback {
        Some(_) => Err("saturation and switchback cannot be in one plan".to_owned()),
        None => Ok(()),
    }
}

fn check_switchback(plan: &Plan, switchback: Switchback) -> Result<(), String> {
    needs_two_arms(plan, "switchback")?;
    if plan.starts.is_none() {
        return Err("switchback: say by `starts` when the first turn begins".to_owned());
    }
    if switchback.turn.as_secs() == 0 || switchback.turn.subsec_nanos() != 0 {
        return Err("switchback: a turn is a whole number of seconds".to_owned());
    }
    if switchback.washout >= switchback.turn {
        return Err("switchback: the washout must be shorter than a turn".to_owned());
    }
    Ok(())
}

fn needs_two_arms(plan: &Plan, what: &str) -> Result<(), String> {
    match plan.arms.len() {
        2 => Ok(()),
        arms => Err(format!("{what}: it needs exactly two arms, not {arms}")),
    }
}

fn check_times(plan: &Plan) -> Result<(), String> {
    /// With shorter periods, the agent's readings would be most of the load.
    const LEAST: Duration = Duration::from_secs(1);
    if plan.period < LEAST {
        return Err("period: it must be one second or more".to_owned());
    }
    if plan.lease < LEAST {
        return Err("lease: it must be one second or more".to_owned());
    }
    if plan.starts.is_some_and(|starts| starts >= plan.until) {
        return Err("until: the plan ends before it starts".to_owned());
    }
    plan.guardrails.check()
}

#[cfg(test)]
mod tests {
    use super::*;

    const ARMS: &str = "[[arm]]\nname = 'control'\npolicy = 'as-is'\n\
                        [[arm]]\nname = 'never'\npolicy = 'thp=never'\n";
    const HEAD: &str = "name = 'thp'\nuntil = 2026-12-01T00:00:00Z\n";

    #[test]
    fn the_smallest_plan_is_read() {
        let plan: Plan = format!("{HEAD}{ARMS}").parse().expect("a plan");
        assert_eq!(plan.enrol_salt(), "thp");
        assert_eq!((plan.arms.len(), plan.share_of(0)), (2, 1.0));
    }

    #[test]
    fn what_is_wrong_is_said() {
        for (head, arms, words) in [
            ("name = 'a b'\nuntil = 1", ARMS, "name: `a b`"),
            ("name = 'a'", ARMS, "missing field `until`"),
            ("name = 'a'\nuntil = 'tomorrow'", ARMS, "no moment"),
            (
                "name = 'a'\nuntil = 1\nfoo = 1",
                ARMS,
                "unknown field `foo`",
            ),
            ("name = 'a'\nuntil = 1\nband = [0.5, 0.5]", ARMS, "band"),
            (
                "name = 'a'\nuntil = 1\nperiod = '1 week'",
                ARMS,
                "not a duration",
            ),
            (
                "name = 'a'\nuntil = 1\nstarts = 1",
                ARMS,
                "before it starts",
            ),
            (
                "name = 'a'\nuntil = 1\nstage = 1",
                ARMS,
                "no stage of this index",
            ),
            (
                "name = 'a'\nuntil = 9\nstages = [{share = 0.5}, {share = 0.1}]",
                ARMS,
                "must grow",
            ),
            (
                "name = 'a'\nuntil = 9\nsaturation = [2]",
                ARMS,
                "shares from 0 to 1",
            ),
            (
                "name = 'a'\nuntil = 9\nswitchback = {turn = '1h'}",
                ARMS,
                "`starts`",
            ),
            (
                "name = 'a'\nuntil = 9\nguardrails = {psi-full = 101}",
                ARMS,
                "psi-full",
            ),
            (
                "name = 'a'\nuntil = 9",
                "[[arm]]\nname='a'\npolicy='as-is'\n[[arm]]\nname='b'\npolicy='malloc=thp'",
                "arm b: malloc= is set as a process starts",
            ),
            (
                "name = 'a'\nuntil = 9",
                "[[arm]]\nname='a'\npolicy='as-is'",
                "two arms",
            ),
            (
                "name = 'a'\nuntil = 9",
                "[[arm]]\nname='a'\npolicy='thp=x'",
                "thp",
            ),
        ] {
            let error = format!("{head}\n{arms}").parse::<Plan>().expect_err(head);
            assert!(error.contains(words), "{head}: {error}");
        }
    }
}
