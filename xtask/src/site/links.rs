//! Dead links of a built site: files and anchors that do not exist. Addresses of the web are not asked.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};

/// A page that mdBook makes of all others, with their links as seen from their own places.
const PRINTED: &str = "print.html";

/// Lists the dead links of all pages below `site`, as `PAGE: LINK`.
///
/// # Errors
/// A page cannot be read.
pub fn dead(site: &Path) -> Result<Vec<String>> {
    let mut pages = BTreeMap::new();
    for file in files(site)? {
        if file.extension().is_some_and(|it| it == "html") && !file.ends_with(PRINTED) {
            let text = fs::read_to_string(&file).with_context(|| format!("{}", file.display()))?;
            pages.insert(file, text);
        }
    }
    let anchors: BTreeMap<&PathBuf, BTreeSet<&str>> = pages
        .iter()
        .map(|(file, text)| (file, attribute(text, "id").collect()))
        .collect();
    let mut dead = BTreeSet::new();
    for (page, text) in &pages {
        for link in attribute(text, "href").chain(attribute(text, "src")) {
            if !leads_somewhere(page, link, &anchors) {
                dead.insert(format!("{}: {link}", page.display()));
            }
        }
    }
    Ok(dead.into_iter().collect())
}

fn files(folder: &Path) -> Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).with_context(|| format!("reading {}", folder.display()))? {
        let path = entry?.path();
        if path.is_dir() {
            found.extend(files(&path)?);
        } else {
            found.push(path);
        }
    }
    Ok(found)
}

/// The values of an attribute in double quotes.
fn attribute<'a>(text: &'a str, name: &str) -> impl Iterator<Item = &'a str> {
    let start = format!(" {name}=\"");
    let mut rest = text;
    std::iter::from_fn(move || {
        let (_, after) = rest.split_once(&start)?;
        let (value, after) = after.split_once('"')?;
        rest = after;
        Some(value)
    })
}

/// Returns true if a link of a page leads to a file of the site and, with an anchor, to an element of it.
fn leads_somewhere(page: &Path, link: &str, anchors: &BTreeMap<&PathBuf, BTreeSet<&str>>) -> bool {
    let (file, anchor) = link.split_once('#').unwrap_or((link, ""));
    if ["http:", "https:", "data:", "mailto:"]
        .iter()
        .any(|it| file.starts_with(it))
    {
        return true;
    }
    let target = match file {
        "" => page.to_owned(),
        file => beside(page, file),
    };
    match anchors.get(&target) {
        Some(ids) => anchor.is_empty() || ids.contains(anchor),
        None => target.exists(),
    }
}

/// The file of a link; of a folder its `index.html`.
fn beside(page: &Path, link: &str) -> PathBuf {
    let mut target = page.parent().unwrap_or(page).to_owned();
    for part in link.split('/') {
        match part {
            ".." => {
                target.pop();
            }
            "" | "." => {}
            part => target.push(part),
        }
    }
    if target.is_dir() {
        target.push("index.html");
    }
    target
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dead_files_and_anchors_are_found() {
        let site = std::env::temp_dir().join(format!("hugewise-links-{}", std::process::id()));
        fs::create_dir_all(site.join("folder")).unwrap();
        let page = "<h1 id=\"top\"></h1> <a href=\"b.html#there\"> <a href=\"#top\"> <a href=\"folder\"> \
                    <a href=\"https://a.b\"> <a href=\"b.html#gone\"> <img src=\"gone.svg\"> <a href=\"../gone\">";
        fs::write(site.join("a.html"), page).unwrap();
        fs::write(site.join("b.html"), "<p id=\"there\">").unwrap();
        fs::write(site.join("folder/index.html"), "").unwrap();
        let found = dead(&site).unwrap();
        let links: Vec<_> = found
            .iter()
            .map(|it| it.rsplit(' ').next().unwrap())
            .collect();
        fs::remove_dir_all(&site).unwrap();
        assert_eq!(links, ["../gone", "b.html#gone", "gone.svg"]);
    }
}
