use crate::address_space::Mapping;
use hugewise_base::glob::{fits, is_pattern};

/// A pattern that selects mappings: by name, with `*` and `?`, or by an address inside them, in hexadecimal with `0x`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Glob {
    pattern: String,
    address: Option<u64>,
}

impl Glob {
    /// Parses a pattern typed by the user. Without `*` or `?`, a substring of the name matches.
    #[must_use]
    pub fn new(text: &str) -> Self {
        let pattern = if is_pattern(text) {
            text.to_owned()
        } else {
            format!("*{text}*")
        };
        Self {
            pattern,
            address: text
                .strip_prefix("0x")
                .and_then(|digits| u64::from_str_radix(digits, 16).ok()),
        }
    }

    /// Returns true if the pattern matches a mapping. Memory without a name is called `anonymous`.
    #[must_use]
    pub fn matches(&self, mapping: &Mapping) -> bool {
        let inside = |address| (mapping.start..mapping.end).contains(&address);
        let name = super::mappings::name(mapping);
        self.address.is_some_and(inside) || fits(&self.pattern, &name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::address_space::test_space::mapping;

    #[test]
    fn patterns_fit_whole_names_words_fit_parts_and_addresses_lie_inside() {
        let matches = |pattern: &str, name: &str| {
            let mut one = mapping(0x1000, 0x3000, Vec::new());
            one.name = name.into();
            Glob::new(pattern).matches(&one)
        };
        assert!(matches("heap", "[heap]") && !matches("hea?", "[heap]"));
        assert!(matches("/usr/*.so", "/usr/lib/a.so"));
        assert!(matches("", "anything") && matches("anonymous", ""));
        assert!(matches("0x2fff", "") && !matches("0x3000", ""));
    }
}
