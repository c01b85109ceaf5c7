use crate::space::Mapping;

/// A pattern for mappings: of their name, with `*` and `?`; or an address inside, in
/// hexadecimal with `0x`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Glob {
    pattern: Vec<char>,
    address: Option<u64>,
}

impl Glob {
    /// A pattern as it is typed. Without a `*` or `?`, a part of the name is enough.
    #[must_use]
    pub fn new(text: &str) -> Self {
        let wild = text.contains(['*', '?']);
        let pattern = if wild {
            text.to_owned()
        } else {
            format!("*{text}*")
        };
        Self {
            pattern: pattern.chars().collect(),
            address: text
                .strip_prefix("0x")
                .and_then(|digits| u64::from_str_radix(digits, 16).ok()),
        }
    }

    /// Whether a mapping is meant. Memory without a name is called `anonymous`.
    #[must_use]
    pub fn matches(&self, mapping: &Mapping) -> bool {
        let inside = |address| (mapping.start..mapping.end).contains(&address);
        let name = super::text::name(mapping);
        self.address.is_some_and(inside) || self.fits(&name)
    }

    /// The last `*` takes one character more each time what follows it does not fit: linear
    /// in memory, and no pattern takes exponential time.
    fn fits(&self, text: &str) -> bool {
        let text: Vec<char> = text.chars().collect();
        let (mut at, mut place) = (0, 0);
        let mut star: Option<(usize, usize)> = None;
        while at < text.len() {
            match self.pattern.get(place) {
                Some('*') => {
                    star = Some((place, at));
                    place += 1;
                }
                Some(&c) if c == '?' || c == text[at] => {
                    place += 1;
                    at += 1;
                }
                _ => {
                    let Some((behind, taken)) = star else {
                        return false;
                    };
                    star = Some((behind, taken + 1));
                    place = behind + 1;
                    at = taken + 1;
                }
            }
        }
        self.pattern[place..].iter().all(|&c| c == '*')
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn patterns_fit_whole_names_and_words_fit_parts() {
        let fits = |pattern: &str, name: &str| Glob::new(pattern).fits(name);
        assert!(fits("heap", "[heap]"));
        assert!(fits("/usr/*.so", "/usr/lib/a.so"));
        assert!(!fits("/usr/*.so", "/usr/lib/a.so.1"));
        assert!(fits("[hea?]", "[heap]") && !fits("[hea?]", "[hea]"));
        assert!(fits("*a*b*c*", "xxaxxbxxc") && !fits("*a*c*b", "abc"));
        assert!(fits("", "anything"));
    }

    proptest! {
        #[test]
        fn no_pattern_panics_and_stars_take_all(pattern in "[a*?]{0,9}", text in "[ab]{0,9}") {
            let _ = Glob::new(&pattern).fits(&text);
            let around = format!("*{text}*");
            let name = format!("b{text}a");
            prop_assert!(Glob::new(&around).fits(&name));
        }
    }
}
