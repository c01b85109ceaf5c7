//! Copies the pages of a summary, and the files to which they link, to the folder that mdBook reads.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Component, Path, PathBuf};

use anyhow::{Context, Result, ensure};

/// Copies the pages that `summary` lists, and the files to which they link, below `stage`. The old content of `stage` is removed.
///
/// # Errors
/// A page is not listed in the summary, cannot be read, or cannot be copied.
pub fn pages(summary: &Path, stage: &Path) -> Result<()> {
    match fs::remove_dir_all(stage) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => return Err(error.into()),
        _ => fs::create_dir_all(stage)?,
    }
    let list = read(summary)?;
    let listed: BTreeSet<PathBuf> = targets(summary, &list).collect();
    all_are_listed(summary, &listed)?;
    let mut files = BTreeSet::new();
    for page in &listed {
        let text = read(page)?;
        for target in targets(page, &text) {
            ensure!(
                target.extension().is_none_or(|it| it != "md") || listed.contains(&target),
                "{} links to {}, which {} does not list",
                page.display(),
                target.display(),
                summary.display()
            );
            files.insert(target);
        }
    }
    for file in listed.iter().chain(&files) {
        copy(file, stage)?;
    }
    Ok(fs::write(
        stage.join("SUMMARY.md"),
        from_root(summary, &list),
    )?)
}

/// Refuses a page in the folder of the summary that the summary does not list.
fn all_are_listed(summary: &Path, listed: &BTreeSet<PathBuf>) -> Result<()> {
    let mut folders = vec![summary.parent().unwrap_or(summary).to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in
            fs::read_dir(&folder).with_context(|| format!("reading {}", folder.display()))?
        {
            let path = entry?.path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|it| it == "md") && path != summary {
                ensure!(
                    listed.contains(&path),
                    "{} does not list {}",
                    summary.display(),
                    path.display()
                );
            }
        }
    }
    Ok(())
}

fn read(file: &Path) -> Result<String> {
    fs::read_to_string(file).with_context(|| format!("reading {}", file.display()))
}

/// Copies a file, or the files of a folder with a page that lists them.
fn copy(source: &Path, stage: &Path) -> Result<()> {
    let copied = stage.join(source);
    if !source.is_dir() {
        fs::create_dir_all(copied.parent().unwrap_or(stage))?;
        fs::copy(source, &copied).with_context(|| format!("copying {}", source.display()))?;
        return Ok(());
    }
    fs::create_dir_all(&copied)?;
    let mut names = Vec::new();
    for entry in fs::read_dir(source).with_context(|| format!("reading {}", source.display()))? {
        let entry = entry?;
        if entry.file_type()?.is_file() {
            fs::copy(entry.path(), copied.join(entry.file_name()))?;
            names.push(entry.file_name().to_string_lossy().into_owned());
        }
    }
    names.sort();
    Ok(fs::write(
        copied.join("index.html"),
        listing(source, &names),
    )?)
}

/// A page that lists the files of a folder.
fn listing(folder: &Path, names: &[String]) -> String {
    let items: String = names
        .iter()
        .map(|name| format!("<li><a href=\"{name}\">{name}</a></li>\n"))
        .collect();
    let title = folder.display();
    format!(
        "<!DOCTYPE html>\n<html lang=\"en\"><meta charset=\"utf-8\"><title>{title}</title>\n<h1>{title}</h1>\n<ul>\n{items}</ul>\n</html>\n"
    )
}

/// The files of the repository to which a page links, from the root.
fn targets<'a>(page: &'a Path, text: &'a str) -> impl Iterator<Item = PathBuf> + 'a {
    destinations(text)
        .map(|target| target.split_once('#').map_or(target, |(file, _)| file))
        .filter(|target| !target.is_empty() && !target.contains("://"))
        .map(|target| place(page, target))
}

/// The destinations of the links and pictures of a page in Markdown.
fn destinations(text: &str) -> impl Iterator<Item = &str> {
    text.split("](")
        .skip(1)
        .filter_map(|rest| rest.split_once(')'))
        .map(|(target, _)| target)
}

/// The place of a link's destination, from the root of the repository.
fn place(page: &Path, target: &str) -> PathBuf {
    let mut place = PathBuf::new();
    for part in page.parent().unwrap_or(page).join(target).components() {
        match part {
            Component::ParentDir => {
                place.pop();
            }
            part => place.push(part),
        }
    }
    place
}

/// A summary whose links start at the root of the repository.
fn from_root(summary: &Path, list: &str) -> String {
    let mut text = String::new();
    let mut parts = list.split("](");
    text.push_str(parts.next().unwrap_or_default());
    for part in parts {
        let (target, rest) = part.split_once(')').unwrap_or((part, ""));
        let target = place(summary, target);
        text.push_str(&format!("]({}){rest}", target.display()));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_summary_is_moved_to_the_root() {
        let list = "# Title\n\n[Start](../README.md)\n- [A (b)](guide/a.md)\n";
        assert_eq!(
            from_root(Path::new("docs/SUMMARY.md"), list),
            "# Title\n\n[Start](README.md)\n- [A (b)](docs/guide/a.md)\n"
        );
    }

    #[test]
    fn targets_are_files_of_the_repository() {
        let text = "[a](../bias.md#top) [b](#here) [c](https://a.b/c.md) ![d](d.svg)";
        let found: Vec<_> = targets(Path::new("docs/guide/x.md"), text).collect();
        assert_eq!(
            found,
            [Path::new("docs/bias.md"), Path::new("docs/guide/d.svg")]
        );
    }

    #[test]
    fn a_page_that_is_not_listed_is_refused() {
        let folder = std::env::temp_dir().join(format!("hugewise-stage-{}", std::process::id()));
        fs::create_dir_all(&folder).unwrap();
        let summary = folder.join("SUMMARY.md");
        fs::write(&summary, "- [a](a.md)\n").unwrap();
        fs::write(folder.join("a.md"), "[b](b.md)").unwrap();
        fs::write(folder.join("b.md"), "b").unwrap();
        let refused = pages(&summary, &folder.join("stage")).unwrap_err();
        fs::remove_dir_all(&folder).unwrap();
        assert!(refused.to_string().contains("b.md"), "{refused}");
    }
}
