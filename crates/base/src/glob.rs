//! Matches names with a pattern: `*` matches any characters, `?` matches one.

use std::str::Chars;

/// Returns true if a pattern matches a whole name.
///
/// If the rest does not match, the last `*` is extended by one character; earlier ones need no second try. So the time
/// is at most proportional to the product of both lengths.
#[must_use]
pub fn fits(pattern: &str, name: &str) -> bool {
    let (mut wanted, mut rest) = (pattern.chars(), name.chars());
    // The pattern after the last `*`, and the position in the name at which it continues.
    let mut star: Option<(Chars<'_>, Chars<'_>)> = None;
    loop {
        match (wanted.next(), rest.clone().next()) {
            (None, None) => return true,
            (Some('*'), _) => star = Some((wanted.clone(), rest.clone())),
            (Some(one), Some(other)) if one == '?' || one == other => {
                rest.next();
            }
            _ => {
                let Some((behind, taken)) = &mut star else {
                    return false;
                };
                if taken.next().is_none() {
                    return false;
                }
                (wanted, rest) = (behind.clone(), taken.clone());
            }
        }
    }
}

/// Returns true if a text is a pattern, and not only a name.
#[must_use]
pub fn is_pattern(text: &str) -> bool {
    text.contains(['*', '?'])
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn stars_and_question_marks() {
        for (pattern, name, expected) in [
            ("", "", true),
            ("", "a", false),
            ("*", "", true),
            ("?", "", false),
            ("?", "ä", true),
            ("/usr/*.so", "/usr/lib/a.so", true),
            ("/usr/*.so", "/usr/lib/a.so.1", false),
            ("[hea?]", "[heap]", true),
            ("[hea?]", "[hea]", false),
            ("*a*b*c*", "xxaxxbxxc", true),
            ("*a*c*b", "abc", false),
            ("hugepages-*kB", "hugepages-2048kB", true),
            ("hugepages-*kB", "khugepaged", false),
            ("*-linux-gnu*", "aarch64-linux-gnu_ilp32", true),
            ("linux-6.12.*-amd64", "linux-6.12.9+deb12-amd64", true),
            (
                "linux-6.12.*-amd64",
                "linux-6.12.9+deb12-amd64-unsigned",
                false,
            ),
            ("ab*ba", "aba", false),
        ] {
            assert_eq!(fits(pattern, name), expected, "{pattern} {name}");
        }
    }

    /// Matches by the definition: each star matches nothing, or one character and then again anything.
    fn by_definition(pattern: &[char], name: &[char]) -> bool {
        match (pattern.split_first(), name.split_first()) {
            (None, None) => true,
            (Some(('*', behind)), _) if by_definition(behind, name) => true,
            (Some(('*', _)), Some((_, rest))) => by_definition(pattern, rest),
            (Some((one, behind)), Some((other, rest))) if *one == '?' || one == other => {
                by_definition(behind, rest)
            }
            _ => false,
        }
    }

    proptest! {
        #[test]
        fn as_by_definition(pattern in "[ab*?]{0,8}", name in "[ab]{0,9}") {
            let letters = |text: &str| text.chars().collect::<Vec<_>>();
            let expected = by_definition(&letters(&pattern), &letters(&name));
            prop_assert_eq!(fits(&pattern, &name), expected);
        }
    }

    /// Backtracking into every star would take longer than the age of the universe.
    #[test]
    fn many_stars_end() {
        let pattern = "a*".repeat(60) + "b";
        assert!(!fits(&pattern, &"a".repeat(4000)));
    }
}
