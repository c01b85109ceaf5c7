//! Options of a JVM, from its arguments, its environment, and the option files that the arguments name.

use std::collections::BTreeMap;

use hugewise_advise::fact::Facts;
use hugewise_advise::observed;

/// Variables whose options come before the arguments.
const BEFORE: [&str; 2] = ["JAVA_TOOL_OPTIONS", "JDK_JAVA_OPTIONS"];

/// The variable whose options come after the arguments.
const AFTER: &str = "_JAVA_OPTIONS";

/// Returns `flag.NAME` for each known option. The absence of an option is known only if all its sources (arguments,
/// environment and files) are known.
pub(super) fn jvm_flags(
    words: Option<&[String]>,
    environment: Option<&BTreeMap<String, String>>,
    read: impl Fn(&str) -> Option<Vec<u8>>,
) -> Facts {
    let mut options = Vec::new();
    let mut is_complete = words.is_some() && environment.is_some();
    let told = |name: &str| environment.and_then(|all| all.get(name));
    options.extend(
        BEFORE
            .iter()
            .filter_map(|name| told(name))
            .flat_map(|text| split(text)),
    );
    for word in words.unwrap_or_default() {
        match file_of_options(word).map(&read) {
            None => options.push(word.clone()),
            Some(Some(bytes)) => options.extend(split(&String::from_utf8_lossy(&bytes))),
            Some(None) => is_complete = false,
        }
    }
    options.extend(told(AFTER).into_iter().flat_map(|text| split(text)));
    let facts = observed::jvm_flags(options.iter().map(String::as_str));
    match is_complete {
        true => facts,
        false => observed::only_given(facts),
    }
}

/// Returns the option file that an argument names: an argument file of the launcher, or one of the virtual machine.
fn file_of_options(word: &str) -> Option<&str> {
    let named = word.strip_prefix('@').filter(|name| !name.starts_with('@'));
    named.or_else(|| word.strip_prefix("-XX:VMOptionsFile="))
}

fn split(text: &str) -> Vec<String> {
    let words = text.split_ascii_whitespace();
    words
        .map(|word| word.trim_matches(['"', '\'']).to_owned())
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns a flag for given arguments and variables, if these are known.
    fn flag(
        words: Option<&[&str]>,
        environment: Option<&[(&str, &str)]>,
        name: &str,
    ) -> Option<String> {
        let own = |word: &str| word.to_owned();
        let words: Option<Vec<String>> =
            words.map(|words| words.iter().map(|word| own(word)).collect());
        let variables = |all: &[(&str, &str)]| -> BTreeMap<String, String> {
            let all = all.iter();
            all.map(|(name, value)| (own(name), own(value))).collect()
        };
        let environment = environment.map(variables);
        let read = |path: &str| (path == "own.args").then(|| b"-XX:+UseZGC\n\"-Xmx1g\"".to_vec());
        let facts = jvm_flags(words.as_deref(), environment.as_ref(), read);
        facts.text(&format!("flag.{name}")).map(str::to_owned)
    }

    #[test]
    fn an_option_is_absent_only_where_all_places_are_known() {
        let java = Some(&["java", "-XX:+UseG1GC"][..]);
        assert_eq!(flag(java, Some(&[]), "UseZGC").as_deref(), Some(""));
        assert_eq!(flag(java, None, "UseZGC"), None);
        assert_eq!(flag(java, None, "UseG1GC").as_deref(), Some("true"));
        assert_eq!(flag(None, Some(&[]), "UseZGC"), None);
        let unread = Some(&["java", "@other.args"][..]);
        assert_eq!(flag(unread, Some(&[]), "UseZGC"), None);
    }

    #[test]
    fn an_option_is_found_in_variables_and_files_in_their_order() {
        let java = &["java", "-XX:-UseZGC"][..];
        for (words, variable, expected) in [
            (java, "JAVA_TOOL_OPTIONS", "false"),
            (java, "_JAVA_OPTIONS", "true"),
            (&["java", "@own.args"], "X", "true"),
            (&["java", "-XX:VMOptionsFile=own.args"], "X", "true"),
        ] {
            let environment = [(variable, "-Da=b -XX:+UseZGC")];
            let found = flag(Some(words), Some(&environment), "UseZGC");
            assert_eq!(found.as_deref(), Some(expected), "{words:?} {variable}");
        }
    }
}
