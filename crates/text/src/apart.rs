use crate::wrap::display_width;

/// Shortens the names to at most `width` columns each, with `…` in the middle of longer ones. Different names stay
/// different: if two would become equal, each gets a number.
#[must_use]
pub fn shortened_apart(names: &[String], width: usize) -> Vec<String> {
    let room = width.saturating_sub(1);
    let half = room / 2;
    // Names differ at the end more often than at the start.
    let heads = (0..=half).rev().chain(half + 1..=room);
    let mut attempts = heads.map(|head| cut_all(names, width, head));
    let distinct = attempts.find(|short| !has_equal(names, short));
    distinct.unwrap_or_else(|| numbered(names, width))
}

fn cut_all(names: &[String], width: usize, head: usize) -> Vec<String> {
    names.iter().map(|name| cut(name, width, head)).collect()
}

/// Returns the name as its first `head` columns, `…`, and its end, in `width` columns.
fn cut(name: &str, width: usize, head: usize) -> String {
    if display_width(name) <= width {
        return name.to_owned();
    }
    let tail = width.saturating_sub(1 + head);
    let start = taken(name.chars(), head);
    let end: String = taken(name.chars().rev(), tail).chars().rev().collect();
    format!("{start}…{end}")
}

/// Takes as many letters as fit.
fn taken(letters: impl Iterator<Item = char>, columns: usize) -> String {
    let mut text = String::new();
    for letter in letters {
        text.push(letter);
        if display_width(&text) > columns {
            text.pop();
            break;
        }
    }
    text
}

fn has_equal(names: &[String], short: &[String]) -> bool {
    let pairs: Vec<(&String, &String)> = names.iter().zip(short).collect();
    let is_same = |(place, (name, short)): (usize, &(&String, &String))| {
        let before = pairs[..place].iter();
        before
            .clone()
            .any(|(other, cut)| cut == short && other != name)
    };
    pairs.iter().enumerate().any(is_same)
}

fn numbered(names: &[String], width: usize) -> Vec<String> {
    let room = width.saturating_sub(4).max(1);
    let short = cut_all(names, room, room / 2);
    let numbers = 1..;
    let named = short.into_iter().zip(names).zip(numbers);
    named
        .map(
            |((short, name), number)| match display_width(name) <= room {
                true => short,
                false => format!("{short} {number}"),
            },
        )
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    fn short(names: &[&str], width: usize) -> Vec<String> {
        let names: Vec<String> = names.iter().map(|&name| name.to_owned()).collect();
        shortened_apart(&names, width)
    }

    #[test]
    fn the_middle_goes_and_what_differs_stays() {
        let names = [
            "benchmark_compute_small",
            "benchmark_compute_large",
            "other",
        ];
        assert_eq!(
            short(&names, 13),
            ["benchm…_small", "benchm…_large", "other"]
        );
        // They differ before the usual tail.
        let names = ["prefix_small_latency_p99", "prefix_large_latency_p99"];
        let found = short(&names, 15);
        assert!(
            found[0].contains("small") || found[0] != found[1],
            "{found:?}"
        );
    }

    #[test]
    fn names_that_differ_in_the_middle_alone_have_numbers() {
        let name = |letter: &str| format!("{}{letter}{}", "a".repeat(30), "b".repeat(30));
        let names = [name("x"), name("y")];
        let found = shortened_apart(&names, 20);
        assert_ne!(found[0], found[1]);
        assert!(found.iter().all(|it| display_width(it) <= 20), "{found:?}");
    }

    proptest! {
        #[test]
        fn different_names_stay_different(names in proptest::collection::btree_set("[ab]{1,40}", 1..9), width in 8_usize..20) {
            let names: Vec<String> = names.into_iter().collect();
            let short = shortened_apart(&names, width);
            prop_assert!(short.iter().all(|it| display_width(it) <= width), "{short:?}");
            let distinct: BTreeSet<&String> = short.iter().collect();
            prop_assert_eq!(distinct.len(), names.len(), "{:?}", short);
        }
    }
}
