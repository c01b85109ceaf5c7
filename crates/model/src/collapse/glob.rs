use std::fmt;
use std::str::FromStr;

/// A pattern for the names of mappings: `*` stands for any text, `?` for any one character,
/// everything else for itself.
///
/// Brackets stand for themselves, unlike in a shell: `[heap]` is the name of a mapping. The
/// name of anonymous memory without one is empty, and `anon` stands for it, too.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Glob(String);

impl Glob {
    /// Whether the whole name is as the pattern says.
    #[must_use]
    pub fn matches(&self, name: &str) -> bool {
        let name = if name.is_empty() { "anon" } else { name };
        let pattern: Vec<char> = self.0.chars().collect();
        let name: Vec<char> = name.chars().collect();
        matches(&pattern, &name)
    }
}

/// Goes back to the last star only, so that the time is at most the product of both lengths.
fn matches(pattern: &[char], name: &[char]) -> bool {
    let (mut at, mut place) = (0, 0);
    let mut star: Option<(usize, usize)> = None;
    while place < name.len() {
        match pattern.get(at) {
            Some('*') => {
                star = Some((at, place));
                at += 1;
            }
            Some(&c) if c == '?' || c == name[place] => {
                at += 1;
                place += 1;
            }
            _ => {
                let Some((star_at, from)) = star else {
                    return false;
                };
                star = Some((star_at, from + 1));
                at = star_at + 1;
                place = from + 1;
            }
        }
    }
    pattern[at..].iter().all(|&c| c == '*')
}

impl FromStr for Glob {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if text.is_empty() {
            return Err("the pattern is empty; `anon` stands for memory without a name".to_owned());
        }
        Ok(Self(text.to_owned()))
    }
}

impl fmt::Display for Glob {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn stars_marks_and_names_in_brackets() {
        let cases = [
            ("[heap]", "[heap]", true),
            ("[heap]", "h", false),
            ("*", "", true),
            ("anon", "", true),
            ("/usr/*/lib?.so*", "/usr/lib/x/libc.so.6", true),
            ("/usr/*/lib?.so*", "/usr/lib/x/libcc.so.6", false),
            ("*a*b", "aab", true),
            ("*a*b", "aba", false),
            ("??", "é✓", true),
        ];
        for (pattern, name, wanted) in cases {
            let glob: Glob = pattern.parse().unwrap();
            assert_eq!(glob.matches(name), wanted, "{pattern} on {name}");
        }
        assert!("".parse::<Glob>().is_err());
    }

    proptest! {
        #[test]
        fn a_name_matches_itself_and_its_ends(name in "[a-z/\\[\\]]{1,30}", cut in 0_usize..30) {
            let cut = cut.min(name.len());
            for pattern in [name.clone(), format!("{}*", &name[..cut]), format!("*{}", &name[cut..])] {
                prop_assert!(Glob(pattern).matches(&name));
            }
            let longer = format!("{name}x");
            prop_assert!(!Glob(name).matches(&longer));
        }
    }
}
