use super::super::Settings;
use super::{Runtime, key};

/// Fills the placeholders in a word of the command.
///
/// # Errors
/// Fails with the key of the first placeholder without a value in the policy.
pub fn fill(word: &str, settings: &Settings) -> Result<String, String> {
    let mut filled = String::new();
    let mut rest = word;
    while let Some((before, name, after)) = next(rest) {
        let value = settings
            .runtime_settings()
            .find(|(runtime, each, _)| key(*runtime, each) == name)
            .map(|(_, _, value)| value)
            .ok_or_else(|| name.to_owned())?;
        filled.push_str(before);
        filled.push_str(value);
        rest = after;
    }
    filled.push_str(rest);
    Ok(filled)
}

/// The keys of the policy that no placeholder of the command takes: they would do nothing.
#[must_use]
pub fn idle(command: &[String], settings: &Settings) -> Vec<String> {
    settings
        .runtime_settings()
        .filter(|(runtime, ..)| matches!(runtime, Runtime::Postgres | Runtime::Redis))
        .map(|(runtime, name, _)| key(runtime, name))
        .filter(|key| {
            let placeholder = format!("{{{key}}}");
            !command.iter().any(|word| word.contains(&placeholder))
        })
        .collect()
}

/// Splits at the first placeholder: the text before, its key, and the rest. Other braces belong to the command.
fn next(text: &str) -> Option<(&str, &str, &str)> {
    text.match_indices('{').find_map(|(at, _)| {
        let (name, after) = text[at + 1..].split_once('}')?;
        Runtime::of_key(name)?;
        Some((&text[..at], name, after))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn placeholders_are_filled_and_other_braces_left() {
        let settings: Settings = "postgres.huge_pages=try,redis.disable-thp=no"
            .parse()
            .expect("good");
        let filled = |word: &str| fill(word, &settings);
        assert_eq!(
            filled("huge_pages={postgres.huge_pages}!"),
            Ok("huge_pages=try!".into())
        );
        assert_eq!(
            filled("{a.b} ${x} {redis.disable-thp}{"),
            Ok("{a.b} ${x} no{".into())
        );
        assert_eq!(
            filled("{postgres.shared_buffers}"),
            Err("postgres.shared_buffers".into())
        );
        let command = [
            "-c".to_owned(),
            "huge_pages={postgres.huge_pages}".to_owned(),
        ];
        assert_eq!(idle(&command, &settings), ["redis.disable-thp"]);
    }
}
