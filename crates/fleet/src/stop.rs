//! The emergency stop: all experiments or some, by a file or a variable.

/// The file that stops experiments on a host. Empty it stops all.
pub const STOP_FILE: &str = "/etc/hugewise/stop";

/// The variable that does the same.
pub const STOP_VARIABLE: &str = "HUGEWISE_FLEET_STOP";

/// Returns true if a stop file or variable names this experiment: `all`, or its name in a list separated by commas or
/// white space. An empty text stops everything, because an empty file made in an emergency means that.
#[must_use]
pub fn stops(text: &str, experiment: &str) -> bool {
    let mut words = text
        .split(|c: char| c == ',' || c.is_whitespace())
        .filter(|word| !word.is_empty())
        .peekable();
    words.peek().is_none() || words.any(|word| word == "all" || word == experiment)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stop_is_for_all_or_for_those_it_names() {
        for (text, stopped) in [
            ("", true),
            ("\n", true),
            ("all", true),
            ("thp\n", true),
            ("other, thp", true),
            ("other", false),
            ("thp-2", false),
        ] {
            assert_eq!(stops(text, "thp"), stopped, "{text:?}");
        }
    }
}
