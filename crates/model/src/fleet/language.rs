//! A rule in the languages of other engines.

use strum::{Display, EnumString, VariantNames};

use super::position::DIGITS;
use super::rule::{Below, Rule, Subject};

/// A language in which a rule can be written.
///
/// In SQL the units are a table `units` with the columns `unit`, `cluster` and `period`; in the
/// templates these are variables.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Display, EnumString, VariantNames)]
#[strum(serialize_all = "lowercase")]
pub enum Language {
    /// SQL of DuckDB.
    DuckDb,
    /// SQL of ClickHouse.
    ClickHouse,
    /// SQL of Spark.
    Spark,
    /// Jinja with Ansible's filters.
    Jinja,
    /// A Go template with the functions of Sprig, as Helm has them.
    Go,
}

impl Language {
    /// The text that gives the arm.
    #[must_use]
    pub fn write(self, rule: &Rule) -> String {
        match self {
            Self::DuckDb | Self::ClickHouse | Self::Spark => {
                let arm = self.expression(rule);
                format!("SELECT unit, {arm} AS arm FROM units;\n")
            }
            Self::Jinja => format!("{{{{ {} }}}}\n", self.expression(rule)),
            Self::Go => format!("{}\n", self.expression(rule)),
        }
    }

    fn expression(self, rule: &Rule) -> String {
        match rule {
            Rule::Arm(name) if self == Self::Go => name.clone(),
            Rule::Arm(name) => format!("'{name}'"),
            Rule::Below(it) => self.choice(&self.comparison(it), &it.then, &it.otherwise),
            Rule::First { first, second } => {
                let condition = match self {
                    Self::DuckDb | Self::ClickHouse | Self::Spark => "period % 2 = 0",
                    Self::Jinja => "period | int % 2 == 0",
                    Self::Go => "eq (mod .period 2) 0",
                };
                self.choice(condition, first, second)
            }
        }
    }

    fn choice(self, condition: &str, then: &Rule, otherwise: &Rule) -> String {
        let (then, otherwise) = (self.expression(then), self.expression(otherwise));
        match self {
            Self::DuckDb | Self::ClickHouse | Self::Spark => {
                format!("CASE WHEN {condition} THEN {then} ELSE {otherwise} END")
            }
            Self::Jinja => format!("({then} if {condition} else {otherwise})"),
            Self::Go => {
                format!("{{{{ if {condition} }}}}{then}{{{{ else }}}}{otherwise}{{{{ end }}}}")
            }
        }
    }

    /// Hashes and thresholds have the same number of digits, so that text compares as numbers do.
    fn comparison(self, below: &Below) -> String {
        let prefix = format!("{}/{}/", below.salt, below.purpose);
        let digits = below.threshold.digits();
        let subject = self.subject(below.subject);
        match self {
            Self::DuckDb => {
                format!("left(sha256('{prefix}' || {subject}), {DIGITS}) < '{digits}'")
            }
            Self::ClickHouse => format!(
                "substring(lower(hex(SHA256('{prefix}' || {subject}))), 1, {DIGITS}) < '{digits}'"
            ),
            Self::Spark => {
                format!("left(sha2('{prefix}' || {subject}, 256), {DIGITS}) < '{digits}'")
            }
            Self::Jinja => {
                format!("(('{prefix}' ~ {subject}) | hash('sha256'))[:{DIGITS}] < '{digits}'")
            }
            Self::Go => format!(
                "lt (print \"{prefix}\" {subject} | sha256sum | trunc {DIGITS}) \"{digits}\""
            ),
        }
    }

    fn subject(self, subject: Subject) -> &'static str {
        match (self, subject) {
            (Self::Go, Subject::Unit) => ".unit",
            (Self::Go, Subject::Cluster) => ".cluster",
            (Self::Go, Subject::Pair) => "(printf \"%s/%d\" .unit (div .period 2))",
            (_, Subject::Unit) => "unit",
            (_, Subject::Cluster) => "cluster",
            (Self::DuckDb, Subject::Pair) => "unit || '/' || (period // 2)",
            (Self::ClickHouse, Subject::Pair) => "unit || '/' || toString(intDiv(period, 2))",
            (Self::Spark, Subject::Pair) => "unit || '/' || (period div 2)",
            (Self::Jinja, Subject::Pair) => "unit ~ '/' ~ (period | int // 2)",
        }
    }
}
