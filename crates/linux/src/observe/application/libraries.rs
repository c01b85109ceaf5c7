//! Predicts from a program's file which libraries it would load, with the search order of the dynamic loader
//! (ld.so(8)).

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use hugewise_base::glob;
use object::elf::{DT_NEEDED, DT_RPATH, DT_RUNPATH};
use object::read::elf::{ElfFile64, ProgramHeader};
use object::{Endianness, ReadCache};

use crate::file::read::open_regular;
use crate::machine::root::Root;

/// The directories that the loader searches last.
const DEFAULT: [&str; 4] = ["/lib64", "/usr/lib64", "/lib", "/usr/lib"];

/// The files that a process of this program would map: the program, its loader, and its libraries. Libraries that the
/// program would load later with dlopen(3) are not included. Returns nothing if the program is not a 64-bit ELF file.
pub(super) fn mapped(
    root: &Root,
    exe: &str,
    environment: &BTreeMap<String, String>,
) -> Vec<String> {
    let Some(program) = Linked::read(root, exe) else {
        return Vec::new();
    };
    let variable = |name: &str| {
        environment
            .get(name)
            .map(String::as_str)
            .unwrap_or_default()
    };
    let listed = split(variable("LD_LIBRARY_PATH"), &[':', ';']);
    let folders: Vec<_> = listed.chain(configured(root)).collect();
    let mut files = vec![exe.to_owned()];
    let Some(loader) = &program.loader else {
        return files;
    };
    files.push(loader.clone());
    let preloaded = split(variable("LD_PRELOAD"), &[':', ' ']);
    let mut wanted: Vec<_> = preloaded.map(|name| (name, Vec::new())).collect();
    wanted.extend(program.wanted());
    let mut at = 0;
    while let Some((name, own)) = wanted.get(at).cloned() {
        at += 1;
        let found = find(root, &name, own.iter().chain(&folders));
        let Some((path, library)) = found.filter(|(path, _)| !files.contains(path)) else {
            continue;
        };
        wanted.extend(library.wanted());
        files.push(path);
    }
    files
}

/// The dynamic-linking entries of an ELF file.
struct Linked {
    /// Its loader; `None` for a static program.
    loader: Option<String>,
    /// Names of the libraries.
    needed: Vec<String>,
    /// The directories searched first.
    folders: Vec<String>,
}

impl Linked {
    fn read(root: &Root, path: &str) -> Option<Self> {
        let cache = ReadCache::new(open_regular(&root.path(path.trim_start_matches('/'))).ok()?);
        let elf = ElfFile64::<Endianness, _>::parse(&cache).ok()?;
        let mut loaders = elf
            .elf_program_headers()
            .iter()
            .filter_map(|header| header.interpreter(elf.endian(), &cache).ok().flatten());
        let loader = loaders.next().map(text);
        let table = elf.elf_dynamic_table().unwrap_or_default();
        let strings = |tags: &'static [i64]| {
            let entries = table.iter().filter(|entry| tags.contains(&entry.tag));
            entries
                .filter_map(|entry| table.string(entry).ok())
                .map(text)
        };
        let (folder, _) = path.rsplit_once('/')?;
        let lists = strings(&[DT_RPATH, DT_RUNPATH]);
        let folders = lists.flat_map(|list| split(&list, &[':']).collect::<Vec<_>>());
        let folders =
            folders.map(|own| own.replace("${ORIGIN}", folder).replace("$ORIGIN", folder));
        Some(Self {
            loader,
            needed: strings(&[DT_NEEDED]).collect(),
            folders: folders.collect(),
        })
    }

    /// Returns each library with the directories searched first.
    fn wanted(&self) -> impl Iterator<Item = (String, Vec<String>)> {
        let needed = self.needed.iter().cloned();
        needed.map(|name| (name, self.folders.clone()))
    }
}

/// Returns the first library of this name that is a 64-bit ELF file, as a path without symbolic links.
fn find<'a>(
    root: &Root,
    name: &str,
    folders: impl Iterator<Item = &'a String>,
) -> Option<(String, Linked)> {
    let paths: Vec<_> = match name.contains('/') {
        true => vec![name.to_owned()],
        false => folders.map(|folder| format!("{folder}/{name}")).collect(),
    };
    let mut found = paths.iter().filter_map(|path| {
        let path = without_links(root, Path::new(path))?;
        Some((path.clone(), Linked::read(root, &path)?))
    });
    found.next()
}

/// Resolves the symbolic links in a path, relative to the root of the machine.
pub(super) fn without_links(root: &Root, path: &Path) -> Option<String> {
    let path = fs::canonicalize(root.path(path.strip_prefix("/").unwrap_or(path))).ok()?;
    let machine = fs::canonicalize(root.path("")).ok()?;
    let path = path.strip_prefix(machine).ok()?;
    Some(format!("/{}", path.to_string_lossy()))
}

/// Returns the directories of `/etc/ld.so.conf` and its includes, then the default directories.
fn configured(root: &Root) -> Vec<String> {
    let lines = |path: &str| -> Vec<String> {
        let text = root.read_trimmed(path).unwrap_or_default();
        let lines = text.lines().filter_map(|line| line.split('#').next());
        lines.map(|line| line.trim().to_owned()).collect()
    };
    let mut folders = Vec::new();
    for line in lines("etc/ld.so.conf") {
        match line.strip_prefix("include") {
            Some(pattern) => {
                let files = files(root, pattern.trim());
                folders.extend(files.iter().flat_map(|path| lines(path)));
            }
            None => folders.push(line),
        }
    }
    folders.retain(|folder| folder.starts_with('/'));
    folders.extend(DEFAULT.map(str::to_owned));
    folders
}

/// Returns the files that match a pattern such as `/etc/ld.so.conf.d/*.conf`, below the root.
fn files(root: &Root, pattern: &str) -> Vec<String> {
    let pattern = pattern.trim_start_matches('/');
    let (folder, name) = pattern.rsplit_once('/').unwrap_or(("etc", pattern));
    let names = root.list(folder).unwrap_or_default();
    let named = names.iter().filter(|own| glob::fits(name, own));
    named.map(|own| format!("{folder}/{own}")).collect()
}

fn split<'a>(list: &'a str, marks: &'a [char]) -> impl Iterator<Item = String> + 'a {
    let parts = list.split(marks).filter(|part| !part.is_empty());
    parts.map(str::to_owned)
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::machine::root::machine_of;

    #[test]
    fn what_this_program_maps_is_found_in_its_file() {
        let root = Root::real();
        let own = std::env::current_exe().expect("this program has a file");
        let own = without_links(&root, &own).expect("its file is there");
        let found = mapped(&root, &own, &BTreeMap::new());
        let maps = String::from_utf8_lossy(&root.read("proc/self/maps").unwrap()).into_owned();
        assert_eq!(found[0], own);
        for path in &found[2..] {
            assert!(maps.contains(path.as_str()), "{path} is not mapped");
        }
        let libraries = maps.lines().filter_map(|line| line.split_once(" /"));
        for (_, path) in libraries.filter(|(_, path)| path.contains("libc.so")) {
            assert!(found.contains(&format!("/{path}")), "{path} is not found");
        }
    }

    #[test]
    fn a_library_that_is_preloaded_is_among_them() {
        let root = Root::real();
        let own = std::env::current_exe().expect("this program has a file");
        let own = without_links(&root, &own).expect("its file is there");
        let libraries = mapped(&root, &own, &BTreeMap::new());
        let Some(library) = libraries.get(2) else {
            return crate::skipping::skip("a preloaded library", "this test is a static program");
        };
        let sh = without_links(&root, Path::new("/bin/sh")).expect("a shell");
        let environment = [("LD_PRELOAD".to_owned(), library.clone())];
        let found = mapped(&root, &sh, &environment.into());
        assert_eq!(found.get(2), Some(library));
    }

    #[test]
    fn folders_are_those_of_the_configuration_and_the_usual_ones() {
        let (_folder, root) = machine_of(&[
            (
                "etc/ld.so.conf",
                "include /etc/ld.so.conf.d/*.conf\n/opt/lib # own\n",
            ),
            (
                "etc/ld.so.conf.d/a.conf",
                "# multiarch\n/lib/x86_64-linux-gnu\n",
            ),
            ("etc/ld.so.conf.d/a.old", "/old\n"),
        ]);
        let found = configured(&root);
        assert_eq!(found[..2], ["/lib/x86_64-linux-gnu", "/opt/lib"]);
        assert_eq!(found[2..], DEFAULT);
    }
}
