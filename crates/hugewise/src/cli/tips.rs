//! Improves usage errors: suggests existing verbs and flags.

use clap::Command;
use clap::error::{ContextKind, ContextValue};
use hugewise_base::plain::plain;
use hugewise_text::suggest::nearest;

/// A longer list of verbs is not shown.
const FEW: usize = 5;

/// Adds useful tips to an error. `command` is the innermost verb that the user typed.
pub(super) fn mended(error: clap::Error, command: &Command) -> clap::Error {
    with_plain_words(with_flags(with_nearest_verb(error, command), command))
}

/// Removes control characters from the words that the user typed.
fn with_plain_words(mut error: clap::Error) -> clap::Error {
    let typed = error.context().filter_map(|(kind, value)| {
        let value = match value {
            ContextValue::String(word) => ContextValue::String(plain(word)),
            ContextValue::Strings(words) => {
                ContextValue::Strings(words.iter().map(|word| plain(word)).collect())
            }
            _ => return None,
        };
        Some((kind, value))
    });
    let typed: Vec<(ContextKind, ContextValue)> = typed.collect();
    for (kind, value) in typed {
        error.insert(kind, value);
    }
    error
}

/// Adds the verb of `command` that the user meant, or all verbs if they are few: clap does not recognise swapped
/// letters (`rnu`).
fn with_nearest_verb(mut error: clap::Error, command: &Command) -> clap::Error {
    if error.get(ContextKind::SuggestedSubcommand).is_none()
        && let Some(ContextValue::String(typed)) = error.get(ContextKind::InvalidSubcommand)
    {
        let verbs = || command.get_subcommands().map(Command::get_name);
        if let Some(near) = nearest(typed, verbs()) {
            let near = ContextValue::Strings(vec![near.to_owned()]);
            error.insert(ContextKind::SuggestedSubcommand, near);
        } else if verbs().count() <= FEW {
            let all = verbs().collect::<Vec<_>>().join(", ");
            let tip = format!("{} has {all}", command.get_name());
            error.insert(
                ContextKind::Suggested,
                ContextValue::StyledStrs(vec![tip.into()]),
            );
        }
    }
    error
}

/// Replaces clap's tip to write `-- --flag` by flags whose names contain the typed word. The tip fits no verb, because
/// all words after a command belong to the command.
fn with_flags(mut error: clap::Error, command: &Command) -> clap::Error {
    let Some(ContextValue::String(typed)) = error.get(ContextKind::InvalidArg) else {
        return error;
    };
    let typed = typed.clone();
    let Some(ContextValue::StyledStrs(tips)) = error.remove(ContextKind::Suggested) else {
        return error;
    };
    // The tip may contain the word without its control characters.
    let as_value = "as a value, use '-- ";
    let others = tips.into_iter();
    let tips: Vec<_> = others
        .filter(|tip| !tip.to_string().contains(as_value))
        .collect();
    if !tips.is_empty() {
        error.insert(ContextKind::Suggested, ContextValue::StyledStrs(tips));
    }
    let flags = flags_with(&typed, command);
    if error.get(ContextKind::SuggestedArg).is_none() && (1..=FEW).contains(&flags.len()) {
        error.insert(ContextKind::SuggestedArg, ContextValue::Strings(flags));
    }
    error
}

/// The flags with a part that begins with the typed word: `--service-cpus` for `--cpu`.
fn flags_with(typed: &str, command: &Command) -> Vec<String> {
    /// A shorter word matches too many.
    const SHORTEST: usize = 3;
    let word = typed.trim_start_matches('-');
    if word.len() < SHORTEST {
        return Vec::new();
    }
    let flags = command.get_arguments().filter(|it| !it.is_hide_set());
    let flags = flags.filter_map(clap::Arg::get_long);
    let has_word = |flag: &&str| flag.split('-').any(|part| part.starts_with(word));
    flags
        .filter(has_word)
        .map(|flag| format!("--{flag}"))
        .collect()
}
