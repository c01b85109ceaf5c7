//! `hugewise man`: the manual pages, from the same text as the help.

use std::fmt::Write;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use clap::{Args, Command};

use crate::{exit, invoker, output};
use hugewise_linux::file::folder::Folder;
use hugewise_text::suggest::hint;

/// Flags of `man`.
#[derive(Debug, Args)]
pub struct Arguments {
    /// The verb, e.g. run or bench memory [default: the program itself]
    #[arg(value_name = "VERB")]
    verb: Vec<String>,

    /// Write the pages of the program and of all verbs into DIR, for a package
    #[arg(long, value_name = "DIR", conflicts_with = "verb")]
    all: Option<PathBuf>,
}

/// Prints `hugewise.1`, or `hugewise-VERB.1`; or writes all of them.
pub fn run(arguments: &Arguments, program: Command) -> Result<()> {
    let mut program = program
        .disable_help_subcommand(true)
        .mut_subcommands(|verb| verb.disable_help_subcommand(true));
    program.build();
    if let Some(folder) = &arguments.all {
        return write_all(&program, folder);
    }
    let name = arguments.verb.join(" ").replace(' ', "-");
    let command = find(&program, &name).ok_or_else(|| {
        let known = pages(&program, "");
        exit::usage(format!(
            "man {name}: there is no such verb; {}",
            hint(&name, known.iter().map(String::as_str))
        ))
    })?;
    output::print(&page(command.clone())?)
}

/// Writes every page into an existing folder.
fn write_all(program: &Command, folder: &Path) -> Result<()> {
    let verbs = pages(program, "");
    let opened = Folder::open(folder, &invoker::rights()?);
    let into = opened.with_context(|| format!("writing into {}", folder.display()))?;
    for name in std::iter::once("").chain(verbs.iter().map(String::as_str)) {
        let Some(command) = find(program, name) else {
            continue;
        };
        let stem = ["hugewise", name].join("-");
        let name = format!("{}.1", stem.trim_end_matches('-'));
        into.replace(&name, page(command.clone())?.as_bytes(), 0o644)
            .with_context(|| format!("writing {}", folder.join(&name).display()))?;
    }
    Ok(())
}

/// The names of all verbs; those of subverbs in full.
fn pages(command: &Command, lead: &str) -> Vec<String> {
    let verbs = command.get_subcommands();
    let names = verbs.flat_map(|verb| {
        let name = format!("{lead}{}", verb.get_name());
        let below = pages(verb, &format!("{name}-"));
        std::iter::once(name).chain(below)
    });
    names.collect()
}

/// Finds a command by a name whose parts are joined by `-`; the program itself if there is no name.
fn find<'a>(command: &'a Command, name: &str) -> Option<&'a Command> {
    if name.is_empty() {
        return Some(command);
    }
    command.get_subcommands().find_map(|verb| {
        let rest = name.strip_prefix(verb.get_name())?;
        match rest.strip_prefix('-') {
            Some(below) => find(verb, below),
            None => rest.is_empty().then_some(verb),
        }
    })
}

/// Renders a page; the text after the help keeps its lines.
fn page(command: Command) -> Result<String> {
    let notes = command.get_after_long_help().or(command.get_after_help());
    let notes = notes.map(ToString::to_string);
    // A page also shows flags that only short help hides.
    let command = command.after_help(None).after_long_help(None);
    let command = command.mut_args(|arg| arg.hide_short_help(false));
    let mut page = Vec::new();
    // Every target has the same page.
    let command = command.version(env!("CARGO_PKG_VERSION"));
    clap_mangen::Man::new(command)
        .source(concat!("hugewise ", env!("CARGO_PKG_VERSION")))
        .render(&mut page)?;
    let mut page = String::from_utf8_lossy(&page).into_owned();
    if let Some(notes) = notes {
        page.push_str(".SH EXTRA\n.nf\n");
        for line in notes.lines() {
            writeln!(page, "{}", roff(line))?;
        }
        page.push_str(".fi\n");
    }
    Ok(page)
}

/// Escapes a line of text for roff.
fn roff(line: &str) -> String {
    let line = line.replace('\\', "\\e").replace('-', "\\-");
    match line.starts_with(['.', '\'']) {
        true => format!("\\&{line}"),
        false => line,
    }
}
