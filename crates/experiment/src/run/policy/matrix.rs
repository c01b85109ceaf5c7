use std::str::FromStr;

use super::parse::ParseError;
use super::{Policy, Settings};

/// The most policies in a matrix: each costs a trial in every round.
pub const MATRIX_LIMIT: usize = 256;

/// One side of a matrix: the values of one key, `KEY=V,V…`.
///
/// Every comma is a separator here, so a variable whose value contains one cannot be crossed; write such a policy out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Axis {
    key: String,
    values: Vec<Settings>,
}

impl FromStr for Axis {
    type Err = ParseError;

    fn from_str(text: &str) -> Result<Self, ParseError> {
        let fault = |problem: String| ParseError::new(text, problem);
        let (key, list) = text
            .trim()
            .split_once('=')
            .ok_or_else(|| fault("expected KEY=V,V…, as in thp=never,always".to_owned()))?;
        let mut values: Vec<Settings> = Vec::new();
        for value in list.split(',') {
            let settings = format!("{key}={value}")
                .parse()
                .map_err(|error: ParseError| fault(error.to_string()))?;
            if values.contains(&settings) {
                return Err(fault(format!("`{value}` is there twice")));
            }
            values.push(settings);
        }
        Ok(Self {
            key: key.to_owned(),
            values,
        })
    }
}

/// Every combination of one value from each axis; the last axis varies fastest.
///
/// # Errors
/// Fails if two axes have the same key, or there are more than [`MATRIX_LIMIT`] combinations.
pub fn cross(axes: &[Axis]) -> Result<Vec<Policy>, ParseError> {
    check_keys(axes)?;
    check_size(axes)?;
    let rows = axes
        .iter()
        .try_fold(vec![Settings::default()], |rows, axis| extend(&rows, axis))?;
    Ok(rows.into_iter().map(Policy::of).collect())
}

fn check_keys(axes: &[Axis]) -> Result<(), ParseError> {
    for (at, axis) in axes.iter().enumerate() {
        if axes[..at].iter().any(|before| before.key == axis.key) {
            return Err(ParseError {
                text: axis.key.clone(),
                problem: "the matrix has this key twice; list its values once, KEY=V,V".to_owned(),
            });
        }
    }
    Ok(())
}

fn check_size(axes: &[Axis]) -> Result<(), ParseError> {
    let policies = axes.iter().fold(1_usize, |product, axis| {
        product.saturating_mul(axis.values.len())
    });
    if policies <= MATRIX_LIMIT {
        return Ok(());
    }
    Err(ParseError {
        text: "matrix".to_owned(),
        problem: format!("it spans {policies} policies; {MATRIX_LIMIT} is the most"),
    })
}

fn extend(rows: &[Settings], axis: &Axis) -> Result<Vec<Settings>, ParseError> {
    rows.iter()
        .flat_map(|row| axis.values.iter().map(|value| merged(row, value)))
        .collect()
}

/// Merges both settings; the keys of axes differ, so there is no conflict.
fn merged(row: &Settings, value: &Settings) -> Result<Settings, ParseError> {
    let mut both = row.clone();
    for entry in value.entries() {
        both.set_entry(&entry)
            .map_err(|problem| ParseError::new(&entry.to_string(), problem))?;
    }
    Ok(both)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn crossed(axes: &[&str]) -> Result<Vec<String>, String> {
        let axes: Result<Vec<Axis>, ParseError> = axes.iter().map(|text| text.parse()).collect();
        let policies = axes.and_then(|axes| cross(&axes));
        policies
            .map(|all| all.into_iter().map(|policy| policy.name).collect())
            .map_err(|error| error.to_string())
    }

    #[test]
    fn axes_are_crossed_in_order() {
        let expected = [
            "thp=never,malloc=default",
            "thp=never,malloc=jemalloc",
            "thp=always,malloc=default",
            "thp=always,malloc=jemalloc",
        ];
        let axes = ["thp=never,always", "malloc=default,jemalloc"];
        assert_eq!(crossed(&axes).unwrap(), expected);
    }

    #[test]
    fn named_keys_are_axes_of_their_own() {
        let axes = ["env.A=1,2", "env.B=x", "mthp=64k:always+2m:never,64k:never"];
        let policies = crossed(&axes).unwrap();
        assert_eq!(policies.len(), 4);
        assert_eq!(policies[0], "mthp=64K:always+2M:never,env.A=1,env.B=x");
    }

    #[test]
    fn no_axis_leaves_the_machine_alone() {
        assert_eq!(crossed(&[]).unwrap(), ["as-is"]);
    }

    #[test]
    fn what_cannot_be_crossed_is_said() {
        for (axes, word) in [
            (&["thp"][..], "KEY=V,V"),
            (&["thp=never,nevr"], "`thp=nevr`: expected"),
            (&["thp=never,nevr"], "did you mean `never`"),
            (&["thp=never,never"], "twice"),
            (&["thp=never", "thp=always"], "twice"),
            (&["khugepaged.a=1,x"], "whole number"),
        ] {
            let error = crossed(axes).unwrap_err();
            assert!(error.contains(word), "{axes:?}: {error}");
        }
    }

    #[test]
    fn the_only_value_of_an_axis_is_named_once() {
        let error = crossed(&["thp=nevr"]).unwrap_err();
        assert!(error.starts_with("`thp=nevr`: expected"), "{error}");
    }

    #[test]
    fn a_matrix_has_a_limit() {
        let numbers: Vec<String> = (0..17).map(|n| n.to_string()).collect();
        let a = format!("khugepaged.a={}", numbers.join(","));
        let b = format!("khugepaged.b={}", numbers.join(","));
        assert!(crossed(&[&a, &b]).unwrap_err().contains("289 policies"));
    }
}
