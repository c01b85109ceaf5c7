//! The document: every plant on every kernel in short, then each kernel in full.

use std::fmt::Write;

use hugewise_lab::plant::{PLANTS, UNREACHABLE};

use super::kept::{Row, Table};
use super::notes::Notes;
use super::verdict::Verdict;

const ROLES: [&str; 2] = ["root", "user"];

/// Writes the document.
pub fn render(tables: &[Table]) -> String {
    let mut notes = Notes::default();
    let mut text = format!("{HEAD}\n## All kernels\n\n");
    text += &overview(tables);
    for table in tables {
        let _ = write!(text, "\n## {}\n\n", table.kernel);
        text += &counts(table);
        text += &in_full(table, &mut notes);
    }
    text += "\n## Why less is enough, or nothing was planted\n\n";
    text += &notes.text();
    text += "## Cannot be planted\n\n";
    for (code, why) in UNREACHABLE {
        let _ = writeln!(text, "* `{code}`: {why}.");
    }
    text
}

/// A row for each plant, a column for each kernel: root's answer, then a user's where it is
/// another.
fn overview(tables: &[Table]) -> String {
    let names: Vec<&str> = tables.iter().map(|table| table.kernel.as_str()).collect();
    let mut text = format!("| planted | {} |\n|---", names.join(" | "));
    text += &"|:-:".repeat(tables.len());
    text += "|\n";
    for plant in PLANTS {
        let _ = write!(text, "| `{}`", plant.name);
        for table in tables {
            let signs = ROLES.map(|role| table.row(plant.name, role).map_or("", sign));
            let cell = if signs[0] == signs[1] {
                signs[0].to_owned()
            } else {
                signs.join(" / ")
            };
            let _ = write!(text, " | {cell}");
        }
        text += " |\n";
    }
    text
}

fn sign(row: &Row) -> &'static str {
    Verdict::of(row).sign()
}

/// One sentence for a kernel.
fn counts(table: &Table) -> String {
    let of = |verdict| {
        let rows = table.rows.iter();
        rows.filter(|row| Verdict::of(row) == verdict).count()
    };
    format!(
        "{} answers: {} the planted reason alone, {} the planted reason first, {} among several, \
         {} wrong; {} times the plant could not be made.\n\n",
        table.rows.len() - of(Verdict::Absent),
        of(Verdict::Alone),
        of(Verdict::First),
        of(Verdict::Among),
        of(Verdict::Wrong),
        of(Verdict::Absent),
    )
}

/// What each answer was.
fn in_full(table: &Table, notes: &mut Notes) -> String {
    let mut text =
        "| planted | reported to root | reported to a user |\n|---|---|---|\n".to_owned();
    for plant in PLANTS {
        let [root, user] = ROLES.map(|role| {
            let row = table.row(plant.name, role);
            row.map_or_else(String::new, |row| cell(row, notes))
        });
        let (name, story) = (plant.name, plant.story);
        let _ = writeln!(text, "| `{name}`: {story} | {root} | {user} |");
    }
    text
}

/// `✓` where it is the planted reason and no other; else what was said, and why that is
/// enough.
fn cell(row: &Row, notes: &mut Notes) -> String {
    match (Verdict::of(row), &row.exception) {
        (Verdict::Absent, _) => {
            let reason = row.reported.strip_prefix("not here: ");
            format!("– {}", notes.mark(reason.unwrap_or(&row.reported)))
        }
        (Verdict::Alone, _) => "✓".to_owned(),
        (Verdict::First | Verdict::Among, Some(why)) => {
            format!("{} {}", row.reported, notes.mark(why))
        }
        _ => format!("**{}**", row.reported),
    }
}

const HEAD: &str = "\
# What was planted, and what was reported

`hugewise-lab plant` brings memory into one known state for each reason why memory is not
huge, and looks up in the kernel that it is so, by other means than the ones under test. Then
`hugewise inspect` judges the process, as root and as an ordinary user.

✓ is the planted reason and no other; *1st* is the planted reason first, with others that look
the same; *among* is the planted reason behind a likelier one; – could not be planted there; ✗ is
wrong. Where root and a user are told different things, root comes first. What was said stands
below, kernel by kernel. A reason with `or` is one of several that cannot be told apart with the
rights at hand.

The first kernel is that of the machine on which `cargo xtask confusion` ran last; the others are
those of the matrix, as `cargo xtask vm` booted them last and `cargo xtask confusion --guests`
took their answers. The suite `cargo test -p hugewise --test confusion` fails where an answer is
not what it should be, on this machine and in the guests.
";

#[cfg(test)]
mod tests {
    use super::super::kept::Kind;
    use super::*;

    fn row(role: &str, kind: Kind, reported: &str, exception: Option<&str>) -> Row {
        Row {
            planted: "KSM".to_owned(),
            role: role.to_owned(),
            kind,
            reported: reported.to_owned(),
            exception: exception.map(str::to_owned),
        }
    }

    fn table(kernel: &str, rows: Vec<Row>) -> Table {
        let kernel = kernel.to_owned();
        Table { kernel, rows }
    }

    #[test]
    fn each_answer_stands_with_its_reason() {
        let several = row("user", Kind::Why, "KSM or UFFD", Some("no rights"));
        let absent = |role| row(role, Kind::NotHere, "not here: no KSM", None);
        let text = render(&[
            table("a 1", vec![row("root", Kind::Why, "KSM", None), several]),
            table("a 2", vec![absent("root"), absent("user")]),
            table("a 3", vec![row("root", Kind::Why, "UFFD", None)]),
        ]);
        for line in [
            "| planted | a 1 | a 2 | a 3 |",
            "| `KSM` | ✓ / 1st | – | **✗** /  |",
            "| `KSM`: equal pages, merged | ✓ | KSM or UFFD [1] |",
            "| `KSM`: equal pages, merged | – [2] | – [2] |",
            "| `KSM`: equal pages, merged | **UFFD** |  |",
            "[1] no rights.",
        ] {
            assert!(text.contains(line), "{line}\n{text}");
        }
    }
}
