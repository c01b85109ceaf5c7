//! The assignment as a snippet for other engines: the same rules in their language.

use std::fmt::Write as _;

use strum::{Display, EnumString, VariantNames};

use super::assign::{AssignmentRule, Condition, Draw, OUTSIDE, Rules, arm_name};
use super::plan::Plan;
use super::unit::UnitKind;

/// The target engine of the snippet.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Display, EnumString, VariantNames)]
#[strum(serialize_all = "lowercase")]
pub enum Engine {
    /// DuckDB: a query over a table `units` with a column `unit`.
    Sql,
    /// The same query for ClickHouse.
    ClickHouse,
    /// The same query for Spark.
    Spark,
    /// A template for Ansible or Salt; the variable `unit` has the name.
    Jinja,
    /// A Go template with the Sprig functions; `.unit` has the name.
    Go,
}

impl Engine {
    /// The names of all engines.
    #[must_use]
    pub fn names() -> String {
        Self::VARIANTS.join(", ")
    }
}

/// Returns the snippet. It is valid for the time of the rules.
#[must_use]
pub fn snippet(plan: &Plan, rules: &Rules, engine: Engine) -> String {
    match engine {
        Engine::Sql | Engine::ClickHouse | Engine::Spark => sql(plan, rules, engine),
        Engine::Jinja => jinja(plan, rules),
        Engine::Go => go(plan, rules),
    }
}

/// The text before and after the subject of a hash.
fn around(plan: &Plan, rules: &Rules, draw: Draw) -> (String, String) {
    let salt = match draw {
        Draw::Enrol => plan.enrol_salt(),
        _ => &plan.name,
    };
    let behind = match draw {
        Draw::Switch => format!("/{}", rules.pair.unwrap_or(0)),
        _ => String::new(),
    };
    (format!("{salt}/{}/", draw.word()), behind)
}

/// The hashes that the rules need, without duplicates.
fn draws(rules: &Rules) -> Vec<Draw> {
    let draw = |condition: &Condition| match condition {
        Condition::Below(draw, _) | Condition::AtLeast(draw, _) => *draw,
    };
    let conditions = rules.rules.iter().flat_map(|rule| &rule.when);
    let mut draws: Vec<Draw> = conditions.map(draw).collect();
    draws.sort_unstable();
    draws.dedup();
    draws
}

fn arm<'a>(plan: &'a Plan, rule: &AssignmentRule) -> &'a str {
    arm_name(plan, rule.arm)
}

/// The rules up to the first that always matches.
fn reached(rules: &Rules) -> (&[AssignmentRule], Option<&AssignmentRule>) {
    let always = rules.rules.iter().position(|rule| rule.when.is_empty());
    let all = &rules.rules;
    always.map_or((all, None), |at| (&all[..at], all.get(at)))
}

fn note(plan: &Plan, rules: &Rules) -> String {
    let stage = rules
        .stage
        .map_or("before the first stage".to_owned(), |at| {
            format!("stage {at}")
        });
    let turn = rules.pair.map_or(String::new(), |pair| {
        format!(", pair of turns {pair}; it is valid only in the turn at this time")
    });
    format!(
        "The arm of a unit under the plan {}, {stage}{turn}.",
        plan.name
    )
}

fn sql(plan: &Plan, rules: &Rules, engine: Engine) -> String {
    let hashes: Vec<String> = draws(rules)
        .into_iter()
        .map(|draw| {
            let (before, behind) = around(plan, rules, draw);
            let subject = match draw {
                Draw::Saturation => sql_cluster(plan.unit, engine),
                _ => "unit".to_owned(),
            };
            let text = match behind.as_str() {
                "" => format!("concat('{before}', {subject})"),
                behind => format!("concat('{before}', {subject}, '{behind}')"),
            };
            let hash = match engine {
                Engine::ClickHouse => format!("lower(hex(SHA256({text})))"),
                Engine::Spark => format!("sha2({text}, 256)"),
                _ => format!("sha256({text})"),
            };
            format!("substring({hash}, 1, 13) AS {}", column(draw))
        })
        .collect();
    let mut columns = vec!["unit".to_owned()];
    columns.extend(hashes);
    let (before, last) = reached(rules);
    let mut case = String::new();
    for rule in before {
        let when = conditions(rule, |draw| column(draw).to_owned(), infix).join(" AND ");
        let _ = write!(case, "\n    WHEN {when} THEN '{}'", arm(plan, rule));
    }
    let last = last.map_or(OUTSIDE, |rule| arm(plan, rule));
    let arm = match case.as_str() {
        "" => format!("'{last}'"),
        case => format!("CASE{case}\n    ELSE '{last}'\n  END"),
    };
    format!(
        "-- {}\nSELECT unit,\n  {arm} AS arm\nFROM (\n  SELECT {}\n  FROM units\n) AS hashed;\n",
        note(plan, rules),
        columns.join(",\n    ")
    )
}

fn column(draw: Draw) -> &'static str {
    match draw {
        Draw::Enrol => "h_enrol",
        Draw::Arm => "h_arm",
        Draw::Saturation => "h_saturation",
        Draw::Switch => "h_switch",
    }
}

/// Splits names like the Rust function: at the first separator, or not at all if there is none.
fn sql_cluster(kind: UnitKind, engine: Engine) -> String {
    let at = |mark: &str| match engine {
        Engine::ClickHouse => format!("position(unit, '{mark}')"),
        _ => format!("instr(unit, '{mark}')"),
    };
    match kind {
        UnitKind::Service => format!("substring(unit, {} + 1)", at("@")),
        _ => format!(
            "CASE WHEN {0} > 0 THEN substring(unit, 1, {0} - 1) ELSE unit END",
            at("/")
        ),
    }
}

fn infix(hash: &str, below: Below, threshold: &str) -> String {
    let sign = match below {
        Below::Yes => "<",
        Below::No => ">=",
    };
    format!("{hash} {sign} '{threshold}'")
}

/// The side of a threshold.
#[derive(Clone, Copy, Debug)]
enum Below {
    Yes,
    No,
}

fn conditions(
    rule: &AssignmentRule,
    hash: impl Fn(Draw) -> String,
    compare: impl Fn(&str, Below, &str) -> String,
) -> Vec<String> {
    let one = |condition: &Condition| match condition {
        Condition::Below(draw, at) => compare(&hash(*draw), Below::Yes, &at.to_string()),
        Condition::AtLeast(draw, at) => compare(&hash(*draw), Below::No, &at.to_string()),
    };
    rule.when.iter().map(one).collect()
}

fn jinja(plan: &Plan, rules: &Rules) -> String {
    let mut text = format!("{{# {} #}}\n", note(plan, rules));
    for draw in draws(rules) {
        let (before, behind) = around(plan, rules, draw);
        let subject = match (draw, plan.unit) {
            (Draw::Saturation, UnitKind::Service) => "unit.split('@', 1)[-1]",
            (Draw::Saturation, _) => "unit.split('/', 1)[0]",
            _ => "unit",
        };
        let _ = writeln!(
            text,
            "{{% set {} = ('{before}' ~ {subject} ~ '{behind}') | hash('sha256') %}}",
            column(draw)
        );
    }
    let (before, last) = reached(rules);
    let last = last.map_or(OUTSIDE, |rule| arm(plan, rule));
    let hash = |draw| format!("{}[:13]", column(draw));
    for (at, rule) in before.iter().enumerate() {
        let word = if at == 0 { "if" } else { "elif" };
        let when = conditions(rule, hash, infix).join(" and ");
        let _ = write!(text, "{{% {word} {when} %}}{}", arm(plan, rule));
    }
    text.push_str(&match before.is_empty() {
        true => last.to_owned(),
        false => format!("{{% else %}}{last}{{% endif %}}"),
    });
    text.push('\n');
    text
}

fn go(plan: &Plan, rules: &Rules) -> String {
    let mut text = format!("{{{{/* {} */ -}}}}\n", note(plan, rules));
    for draw in draws(rules) {
        let (before, behind) = around(plan, rules, draw);
        let subject = match (draw, plan.unit) {
            (Draw::Saturation, UnitKind::Service) => {
                "(.unit | splitList \"@\" | rest | join \"@\" | default .unit)"
            }
            (Draw::Saturation, _) => "(.unit | splitList \"/\" | first)",
            _ => ".unit",
        };
        let _ = writeln!(
            text,
            "{{{{- ${} := printf \"{before}%s{behind}\" {subject} | sha256sum | trunc 13 -}}}}",
            column(draw)
        );
    }
    let compare = |hash: &str, below: Below, at: &str| {
        let word = match below {
            Below::Yes => "lt",
            Below::No => "ge",
        };
        format!("{word} {hash} \"{at}\"")
    };
    let (before, last) = reached(rules);
    for (at, rule) in before.iter().enumerate() {
        let word = if at == 0 { "if" } else { "else if" };
        let when = conditions(rule, |draw| format!("${}", column(draw)), compare);
        let when = match when.as_slice() {
            [one] => one.clone(),
            many => format!("and ({})", many.join(") (")),
        };
        let _ = write!(text, "{{{{- {word} {when} -}}}}{}", arm(plan, rule));
    }
    let last = last.map_or(OUTSIDE, |rule| arm(plan, rule));
    text.push_str(&match before.is_empty() {
        true => last.to_owned(),
        false => format!("{{{{- else -}}}}{last}{{{{- end -}}}}"),
    });
    text.push('\n');
    text
}
