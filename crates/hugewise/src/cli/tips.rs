//! What an error of usage suggests: a verb or a flag that there is.

use clap::Command;
use clap::error::{ContextKind, ContextValue};
use hugewise_base::plain::plain;
use hugewise_text::suggest::nearest;

/// More words are no tip.
const FEW: usize = 5;

/// The same error with the tips that help, for `command`, the innermost verb that was typed.
pub(super) fn mended(error: clap::Error, command: &Command) -> clap::Error {
    with_plain_words(with_flags(with_nearest_verb(error, command), command))
}

/// The same error with nothing in the words that were typed that a terminal would obey.
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

/// The same error with the verb of `command` that was meant, or the few that there are: clap does not
/// recognise swapped letters (`rnu`).
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

/// The same error without clap's tip to write `-- --flag`: it fits no verb, since what follows a command
/// is the command's anyway. In its place stand flags that have the typed word in their names.
fn with_flags(mut error: clap::Error, command: &Command) -> clap::Error {
    let Some(ContextValue::String(typed)) = error.get(ContextKind::InvalidArg) else {
        return error;
    };
    let typed = typed.clone();
    let Some(ContextValue::StyledStrs(tips)) = error.remove(ContextKind::Suggested) else {
        return error;
    };
    // The word itself may stand there without its control characters.
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

/// The flags of which a part begins with the typed word: `--service-cpus` for `--cpu`.
fn flags_with(typed: &str, command: &Command) -> Vec<String> {
    /// A shorter word begins too many.
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
