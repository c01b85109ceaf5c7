//! The document: every plant on every kernel in short; and one kernel in full, on request.

use std::fmt::Write;

use hugewise_lab::plant::{PLANTS, UNREACHABLE};

use super::kept::{Row, Table};
use super::notes::Notes;
use super::verdict::Verdict;

const ROLES: [&str; 2] = ["root", "user"];

/// Returns the summary: a line of counts for each kernel, and a sign for each plant on each kernel.
pub fn render(tables: &[Table]) -> String {
    let mut text = format!("{HEAD}\n## Counts\n\n");
    text += &counts(tables);
    text += "\n## Each plant on each kernel\n\n";
    text += &overview(tables);
    text += "\n## Reasons that cannot be planted\n\n";
    for (code, why) in UNREACHABLE {
        let _ = writeln!(text, "* `{code}`: {why}.");
    }
    text
}

/// Returns the answers of `inspect` on one kernel, and the reasons for accepting less than exactly the planted reason.
pub fn detail(table: &Table) -> String {
    let mut notes = Notes::default();
    let mut text = format!("# {}\n\n", table.kernel);
    text += &in_full(table, &mut notes);
    let _ = write!(text, "\n{}", notes.text());
    text
}

/// Returns a row for each plant and a column for each kernel: root's answer, then a user's if it differs.
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

/// Returns a row for each kernel.
fn counts(tables: &[Table]) -> String {
    let mut text = "| kernel | answers | right | first of several | among several \
        | wrong | not possible there |\n|---|--:|--:|--:|--:|--:|--:|\n"
        .to_owned();
    for table in tables {
        let of = |verdict| {
            let rows = table.rows.iter();
            rows.filter(|row| Verdict::of(row) == verdict).count()
        };
        let _ = writeln!(
            text,
            "| {} | {} | {} | {} | {} | {} | {} |",
            table.kernel,
            table.rows.len() - of(Verdict::Absent),
            of(Verdict::Alone),
            of(Verdict::First),
            of(Verdict::Among),
            of(Verdict::Wrong),
            of(Verdict::Absent),
        );
    }
    text
}

/// Returns each answer in full.
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

/// Returns `✓` for exactly the planted reason; otherwise the report, and why it is accepted.
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
# Planted reasons, and what `inspect` reported

`hugewise-lab plant` prepares memory in one known state for each reason why memory is not huge. It
checks that state in the kernel, with other methods than `inspect`. Then `hugewise inspect` judges the
process, once as root and once as an ordinary user.

| sign | meaning |
|---|---|
| ✓ | the planted reason and no other |
| 1st | the planted reason first, with others that look the same; allowed, with an explanation |
| among | the planted reason behind a likelier one; allowed, with an explanation |
| **✗** | wrong |
| – | not possible on that kernel or machine |

If root and a user get different answers, root comes first. This command prints all answers of
`inspect` on a kernel, and explains the answers with several reasons:

    cargo xtask confusion --detail 'x86_64 6.12'

The first kernel is that of the machine that last ran `cargo xtask confusion`. The others are the
kernel matrix: `cargo xtask vm` boots them, and `cargo xtask confusion --guests` reads their answers.
The answers are in `fixtures/confusion`, one file for each kernel. `cargo test -p hugewise --test
confusion` fails if an answer is wrong, on this machine and in the guests.
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

    fn tables() -> [Table; 3] {
        let several = row("user", Kind::Why, "KSM or UFFD", Some("no rights"));
        let absent = |role| row(role, Kind::NotHere, "not here: no KSM", None);
        [
            table("a 1", vec![row("root", Kind::Why, "KSM", None), several]),
            table("a 2", vec![absent("root"), absent("user")]),
            table("a 3", vec![row("root", Kind::Why, "UFFD", None)]),
        ]
    }

    #[test]
    fn each_answer_has_a_sign_and_is_counted() {
        let text = render(&tables());
        for line in [
            "| a 1 | 2 | 1 | 1 | 0 | 0 | 0 |",
            "| a 2 | 0 | 0 | 0 | 0 | 0 | 2 |",
            "| a 3 | 1 | 0 | 0 | 0 | 1 | 0 |",
            "| planted | a 1 | a 2 | a 3 |",
            "| `KSM` | ✓ / 1st | – | **✗** /  |",
        ] {
            assert!(text.contains(line), "{line}\n{text}");
        }
    }

    #[test]
    fn the_detail_has_each_answer_with_its_reason() {
        let details = tables().map(|table| detail(&table));
        for (text, lines) in details.iter().zip([
            [
                "| `KSM`: equal pages, merged | ✓ | KSM or UFFD [1] |",
                "[1] no rights.",
            ],
            [
                "| `KSM`: equal pages, merged | – [1] | – [1] |",
                "[1] no KSM.",
            ],
            ["| `KSM`: equal pages, merged | **UFFD** |  |", "# a 3"],
        ]) {
            for line in lines {
                assert!(text.contains(line), "{line}\n{text}");
            }
        }
    }
}
