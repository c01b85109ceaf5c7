//! The order, the size and the figures of every screen.

use hugewise_experiment::run::answer::{Answer, ArmRole, SubjectKind, document};
use hugewise_text::{Style, Verbosity, to_markdown, to_text};

use super::everything::everything;
use super::numbers::{leaves, numbers_are_in_the_answer};
use super::samples;

/// Draws the first screen of a terminal.
pub fn screen(answer: &Answer) -> String {
    to_text(&document(answer, 80, Verbosity::Normal), &Style::default())
}

/// Draws everything.
pub fn verbose(answer: &Answer) -> String {
    let style = Style {
        verbose: Verbosity::Verbose,
        ..Style::default()
    };
    to_text(&document(answer, 80, Verbosity::Verbose), &style)
}

/// The commands of an answer, with those that a screen adds to every change of the machine.
pub fn commands(answer: &Answer) -> Vec<String> {
    let json = serde_json::to_value(answer).unwrap();
    let (_, texts) = leaves(&json);
    texts
        .into_iter()
        .chain(["hugewise advise --write".to_owned()])
        .collect()
}

#[test]
fn the_order_is_the_same_in_every_situation() {
    for (name, answer) in samples::all() {
        let screen = screen(&answer);
        let at = |text: &str| {
            screen
                .find(text)
                .unwrap_or_else(|| panic!("{name}: no {text:?}"))
        };
        let (doubts, next) = (at("\nDoubts  "), at("\nNext    "));
        assert!(doubts < next, "{name}");
        let headline = screen.lines().next().unwrap();
        assert!(!headline.starts_with("Do"), "{name}: {headline}");
        let first_do = at("\nDo");
        assert!(first_do < doubts, "{name}");
        let asks = answer.subject.kind != SubjectKind::Programs;
        let before = screen[..first_do].lines().count();
        assert!(!asks || before <= 4, "{name}: {before} lines before Do");
        for late in ["\nWhy     ", "\nChosen  "] {
            let found = screen.find(late);
            assert!(
                found.is_none_or(|at| first_do < at && at < doubts),
                "{name}: {late}"
            );
        }
    }
}

#[test]
fn a_screen_is_80_columns_and_24_lines_or_30_for_more_policies() {
    for (name, answer) in samples::all() {
        let screen = screen(&answer);
        let judged = answer
            .arms
            .iter()
            .filter(|arm| arm.role != ArmRole::Baseline);
        let most = match answer.programs.is_empty() && judged.count() <= 3 {
            true => 24,
            false => 30,
        };
        // If both the machine and the program need a setting, their lines are mandatory.
        let least = 3 + answer
            .choice
            .iter()
            .map(|it| 2 * it.commands.len())
            .sum::<usize>();
        let lines = screen.lines().count();
        assert!(
            lines <= most + least.saturating_sub(5),
            "{name}: {lines} lines\n{screen}"
        );
        let commands = commands(&answer);
        for line in screen.lines().filter(|line| line.chars().count() > 80) {
            assert!(commands.contains(&line.trim().to_owned()), "{name}: {line}");
        }
    }
}

/// Sentences of running text: those of paragraphs, and the texts of fields.
fn sentences(text: &str) -> Vec<String> {
    let text = text.replace(['\n'], " ");
    text.split(". ").map(str::to_owned).collect()
}

#[test]
fn no_sentence_has_more_than_25_words() {
    use hugewise_text::document::Block;
    for (name, answer) in samples::all() {
        for section in document(&answer, usize::MAX, Verbosity::Normal).sections {
            for (_, block) in section.blocks {
                let texts = match block {
                    Block::Paragraph(it) => vec![it.text],
                    Block::Fields(fields) => fields.into_iter().map(|it| it.text).collect(),
                    Block::Notes(notes) => notes,
                    _ => Vec::new(),
                };
                for sentence in texts.iter().flat_map(|text| sentences(text)) {
                    let words = sentence.split_whitespace();
                    let words = words.filter(|word| word.contains(char::is_alphanumeric));
                    assert!(words.count() <= 25, "{name}: {sentence}");
                }
            }
        }
    }
}

#[test]
fn every_figure_and_every_command_of_a_screen_is_in_the_answer() {
    let all = samples::all()
        .into_iter()
        .chain([("everything", everything())]);
    for (name, answer) in all {
        let json = serde_json::to_value(&answer).unwrap();
        for text in [screen(&answer), verbose(&answer)] {
            assert_eq!(
                numbers_are_in_the_answer(&text, &json),
                [""; 0],
                "{name}\n{text}"
            );
            let known = commands(&answer);
            let words = text.replace('\n', " ");
            let words = words.split_whitespace().collect::<Vec<_>>().join(" ");
            for (at, _) in words.match_indices("hugewise ") {
                let rest = &words[at..];
                let is_known = known
                    .iter()
                    .any(|command| rest.starts_with(command.as_str()));
                assert!(
                    is_known,
                    "{name}: {}",
                    rest.chars().take(60).collect::<String>()
                );
            }
        }
    }
}

#[test]
fn a_figure_that_the_answer_has_not_is_found() {
    let json = serde_json::to_value(samples::dict()).unwrap();
    let found = |text: &str| numbers_are_in_the_answer(text, &json);
    assert_eq!(found("wall time −36.3 % [−71, −15], 224 ms"), [""; 0]);
    assert_eq!(found("wall time −47.7 %, 227 ms"), ["47.7", "227"]);
    assert_eq!(found("93 more: -v"), [""; 0]);
    assert_eq!(found("93 rounds"), ["93"]);
}

#[test]
fn a_verdict_word_is_in_every_row_and_cell_with_an_effect() {
    let verdicts = [
        "better", "worse", "same", "—", "faster", "slower", "decided", "sign", "more", "less", "*",
    ];
    for (name, answer) in samples::all() {
        for line in screen(&answer)
            .lines()
            .filter(|line| line.starts_with("  ") && line.contains(" % "))
        {
            let is_control = line.contains("against itself");
            let has_word = verdicts.iter().any(|word| line.contains(word));
            assert!(is_control || has_word, "{name}: {line}");
        }
    }
}

#[test]
fn everything_is_in_the_verbose_form() {
    let answer = everything();
    let text = verbose(&answer);
    for (label, count) in [
        ("Doubts  ", answer.doubts.len()),
        ("Next    ", answer.next.len()),
    ] {
        let begin = text.rfind(&format!("\n{label}")).unwrap();
        let lines = text[begin + 1..]
            .lines()
            .skip(1)
            .take_while(|line| line.starts_with("        "));
        assert!(lines.count() + 1 >= count, "{label}");
    }
    assert!(!text.contains("more: -v"), "{text}");
}

#[test]
fn without_a_width_nothing_is_left_out_for_want_of_lines() {
    let answer = samples::redis();
    let wide = document(&answer, usize::MAX, Verbosity::Normal);
    let page = to_markdown(&wide, Verbosity::Normal);
    for shown in [
        "fork time",
        "huge pages",
        "SET latency",
        "closed",
        "steal 13",
    ] {
        let is_doubt = shown == "closed";
        assert_eq!(page.contains(shown), !is_doubt, "{shown}: {page}");
    }
}

#[test]
fn a_name_cannot_command_a_terminal() {
    let mut answer = samples::dict();
    for arm in &mut answer.arms {
        arm.name = arm.name.replace("malloc", "mal\u{1b}[2Jloc");
    }
    for claim in &mut answer.claims {
        claim.contrast.arm = claim.contrast.arm.replace("malloc", "mal\u{1b}[2Jloc");
    }
    for text in [screen(&answer), verbose(&answer)] {
        assert!(text.contains("mal\\u{1b}[2Jloc"), "{text}");
        assert!(!text.contains('\u{1b}'));
    }
}
