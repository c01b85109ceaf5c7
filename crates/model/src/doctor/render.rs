//! The diagnosis as text for people, Markdown and CSV. JSON is the struct itself.

use std::io::{self, Write};

use super::{Diagnosis, Remark, RungReport, Severity, Support};
use crate::text::csv_field;

/// Width of a terminal that everybody has.
const WIDTH: usize = 80;

/// Before every line below a head; deep enough to be seen, and the longest path still fits.
const BODY: &str = "    ";

/// Before every line below a rung: as wide as its answer.
const BELOW: &str = "         ";

/// A duration as one reads it: `45 s`, `11 min`, `3 h`.
pub(super) fn seconds(seconds: f64) -> String {
    if seconds < 120.0 {
        format!("{seconds:.0} s")
    } else if seconds < 7200.0 {
        format!("{:.0} min", seconds / 60.0)
    } else {
        format!("{:.0} h", seconds / 3600.0)
    }
}

/// Writes the diagnosis for a terminal of 80 columns.
///
/// # Errors
/// The writer failed.
pub fn render_text(diagnosis: &Diagnosis, out: &mut impl Write) -> io::Result<()> {
    write_hanging(out, "", &diagnosis.machine)?;
    writeln!(out)?;
    for rung in &diagnosis.rungs {
        write_rung(out, rung)?;
    }
    write_remarks(out, "What will mislead here", &diagnosis.hazards)?;
    write_remarks(out, "Settings", &diagnosis.settings)?;
    if let Some(grant) = &diagnosis.least_grant {
        writeln!(
            out,
            "\nLeast grant that opens what a capability can open here:"
        )?;
        writeln!(out, "  {grant}")?;
    }
    Ok(())
}

/// `yes`, `no` or `unknown`.
fn word(support: &Support<String>) -> &'static str {
    match support {
        Support::Yes { .. } => "yes",
        Support::No { .. } => "no",
        Support::Unknown { .. } => "unknown",
    }
}

/// What was found, or why not.
fn reason(support: &Support<String>) -> String {
    match support {
        Support::Yes { found } => found.clone(),
        Support::No { missing } => missing.to_string(),
        Support::Unknown { error } => error.clone(),
    }
}

fn write_rung(out: &mut impl Write, rung: &RungReport) -> io::Result<()> {
    let answer = word(&rung.support);
    let reason = reason(&rung.support);
    if rung.support.is_yes() {
        let detail = if reason.is_empty() {
            String::new()
        } else {
            format!(" ({reason})")
        };
        return write_hanging(
            out,
            &format!("{answer:<9}"),
            &format!("{}{detail}", rung.title),
        );
    }
    write_hanging(out, &format!("{answer:<9}"), &rung.title)?;
    write_hanging(out, BELOW, &reason)?;
    if let Some(remedy) = &rung.remedy
        && !reason.contains(remedy.as_str())
    {
        write_hanging(out, BELOW, &format!("opens with: {remedy}"))?;
    }
    write_hanging(out, BELOW, &format!("without it: {}", rung.loss))
}

fn write_remarks(out: &mut impl Write, title: &str, remarks: &[Remark]) -> io::Result<()> {
    if remarks.is_empty() {
        return Ok(());
    }
    writeln!(out, "\n{title}")?;
    for remark in remarks {
        writeln!(out, "{:<9}{}", severity(remark.severity), remark.id)?;
        write_hanging(out, BODY, &remark.meaning)?;
        for evidence in &remark.evidence {
            write_hanging(
                out,
                BODY,
                &format!("{} = {}", evidence.source, evidence.value),
            )?;
        }
        if !remark.remedy.is_empty() {
            write_hanging(out, BODY, &format!("do: {}", remark.remedy))?;
        }
    }
    Ok(())
}

fn severity(severity: Severity) -> &'static str {
    match severity {
        Severity::Wrong => "wrong",
        Severity::Warning => "warning",
        Severity::Note => "note",
    }
}

/// The head once, further lines indented by its width.
fn write_hanging(out: &mut impl Write, head: &str, text: &str) -> io::Result<()> {
    let mut lead = head.to_owned();
    let indent = " ".repeat(head.chars().count());
    for line in wrap(text, WIDTH - indent.len()) {
        writeln!(out, "{}", format!("{lead}{line}").trim_end())?;
        lead.clone_from(&indent);
    }
    Ok(())
}

/// Lines of at most `width` characters; a longer word stands alone. Control characters, which
/// files and variables may smuggle to a terminal, become visible.
fn wrap(text: &str, width: usize) -> Vec<String> {
    let mut lines = vec![String::new()];
    let visible = text.replace(|c: char| c.is_control() && !c.is_whitespace(), "\u{fffd}");
    for word in visible.split_whitespace() {
        let line = lines.last().map_or(0, |line| line.chars().count());
        if line > 0 && line + 1 + word.chars().count() > width {
            lines.push(String::new());
        }
        let line = lines.last_mut().expect("it begins with one line");
        if !line.is_empty() {
            line.push(' ');
        }
        line.push_str(word);
    }
    lines
}

/// Writes the diagnosis as Markdown.
///
/// # Errors
/// The writer failed.
pub fn render_markdown(diagnosis: &Diagnosis, out: &mut impl Write) -> io::Result<()> {
    writeln!(out, "{}\n", diagnosis.machine)?;
    writeln!(
        out,
        "| | what | why, or what was found | opens with | without it |"
    )?;
    writeln!(out, "|---|---|---|---|---|")?;
    for rung in &diagnosis.rungs {
        writeln!(out, "| {} |", markdown_rung(rung))?;
    }
    for (title, remarks) in [
        ("What will mislead here", &diagnosis.hazards),
        ("Settings", &diagnosis.settings),
    ] {
        if !remarks.is_empty() {
            writeln!(out, "\n## {title}\n")?;
        }
        for remark in remarks {
            write_markdown_remark(out, remark)?;
        }
    }
    if let Some(grant) = &diagnosis.least_grant {
        writeln!(out, "\nLeast grant: `{grant}`")?;
    }
    Ok(())
}

fn markdown_rung(rung: &RungReport) -> String {
    let loss = if rung.support.is_yes() {
        ""
    } else {
        &rung.loss
    };
    let cells = [
        word(&rung.support),
        &rung.title,
        &reason(&rung.support),
        rung.remedy.as_deref().unwrap_or_default(),
        loss,
    ];
    cells.map(markdown_cell).join(" | ")
}

fn write_markdown_remark(out: &mut impl Write, remark: &Remark) -> io::Result<()> {
    let evidence: Vec<String> = remark
        .evidence
        .iter()
        .map(|evidence| format!("`{} = {}`", evidence.source, evidence.value))
        .collect();
    write!(
        out,
        "* **{}** ({}): {}. Read: {}.",
        remark.id,
        severity(remark.severity),
        remark.meaning,
        evidence.join(", ")
    )?;
    if remark.remedy.is_empty() {
        return writeln!(out);
    }
    writeln!(out, " Do: {}.", remark.remedy)
}

fn markdown_cell(text: &str) -> String {
    text.replace('|', "\\|").replace(char::is_control, " ")
}

/// Writes the diagnosis as CSV: one row a rung or remark.
///
/// # Errors
/// The writer failed.
pub fn render_csv(diagnosis: &Diagnosis, out: &mut impl Write) -> io::Result<()> {
    writeln!(out, "kind,id,answer,meaning,evidence,remedy")?;
    for rung in &diagnosis.rungs {
        let remedy = rung.remedy.clone().unwrap_or_default();
        let row = [
            "rung",
            &rung_id(rung),
            word(&rung.support),
            &rung.title,
            &reason(&rung.support),
            &remedy,
        ]
        .map(csv_field);
        writeln!(out, "{}", row.join(","))?;
    }
    for (kind, remarks) in [
        ("hazard", &diagnosis.hazards),
        ("setting", &diagnosis.settings),
    ] {
        for remark in remarks {
            writeln!(out, "{}", csv_remark(kind, remark))?;
        }
    }
    Ok(())
}

/// The name of a rung as JSON writes it.
fn rung_id(rung: &RungReport) -> String {
    match serde_json::to_value(rung.rung) {
        Ok(serde_json::Value::String(name)) => name,
        _ => format!("{:?}", rung.rung),
    }
}

fn csv_remark(kind: &str, remark: &Remark) -> String {
    let evidence: Vec<String> = remark
        .evidence
        .iter()
        .map(|evidence| format!("{}={}", evidence.source, evidence.value))
        .collect();
    [
        kind,
        &remark.id,
        severity(remark.severity),
        &remark.meaning,
        &evidence.join("; "),
        &remark.remedy,
    ]
    .map(csv_field)
    .join(",")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_have_one_unit() {
        assert_eq!(seconds(640.0), "11 min");
    }

    #[test]
    fn long_words_stand_alone() {
        assert_eq!(wrap("a bb ccccccc d", 4), ["a bb", "ccccccc", "d"]);
        assert_eq!(wrap("", 4), [""]);
        assert_eq!(wrap("\u{1b}[2J", 9), ["\u{fffd}[2J"]);
    }

    #[test]
    fn csv_quotes_what_it_must() {
        assert_eq!(csv_field("a,\"b\""), "\"a,\"\"b\"\"\"");
    }
}
