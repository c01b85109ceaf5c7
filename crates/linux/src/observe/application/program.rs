//! Predicts which program a command would run: the file found in `PATH`, the interpreter of a script, or the program
//! behind a shim.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use super::libraries::without_links;
use crate::file::read::{CONFIGURATION, open_regular, read_regular};
use crate::machine::root::Root;

/// The maximum nesting of script interpreters that the kernel follows (fs/exec.c).
const DEEPEST: usize = 5;

/// A shell script starts another program, which is known only when the script runs.
const SHELLS: [&str; 5] = ["sh", "bash", "dash", "ksh", "zsh"];

/// Version managers whose shims run the chosen version: the manager's directory, and the variable and the file that
/// choose.
const SHIMS: [(&str, &str, &str); 3] = [
    ("pyenv", "PYENV_VERSION", ".python-version"),
    ("rbenv", "RBENV_VERSION", ".ruby-version"),
    ("nodenv", "NODENV_VERSION", ".node-version"),
];

/// A program and the arguments that its process would have.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Program {
    /// Path of the executable, without links.
    pub(super) exe: String,
    /// Its arguments.
    pub(super) argv: Vec<String>,
}

/// The environment in which a command would be started.
pub(super) struct Surroundings<'a> {
    pub(super) root: &'a Root,
    pub(super) environment: &'a BTreeMap<String, String>,
    /// The working directory.
    pub(super) folder: &'a Path,
}

impl Surroundings<'_> {
    /// Returns the program that a command would run; `None` if there is none.
    pub(super) fn program(&self, program: &OsStr, words: Vec<String>) -> Option<Program> {
        let mut argv = vec![program.to_string_lossy().into_owned()];
        argv.extend(words);
        let mut found = self.found(program, argv)?;
        for _ in 0..DEEPEST {
            match self.behind(&found) {
                Some(next) => found = next,
                None => break,
            }
        }
        Some(found)
    }

    fn found(&self, program: &OsStr, argv: Vec<String>) -> Option<Program> {
        let exe = without_links(self.root, &self.place(program)?)?;
        Some(Program { exe, argv })
    }

    /// Finds a program the way execvp(3) does.
    fn place(&self, program: &OsStr) -> Option<PathBuf> {
        let program = Path::new(program);
        if program.components().count() > 1 {
            return Some(self.folder.join(program));
        }
        let path = self.environment.get("PATH");
        let folders = std::env::split_paths(path.map_or("/bin:/usr/bin", String::as_str));
        let mut places = folders.map(|folder| self.folder.join(folder).join(program));
        places.find(|place| self.at(place).is_file())
    }

    /// Returns the program that the kernel or a shim runs instead of a file.
    fn behind(&self, program: &Program) -> Option<Program> {
        self.chosen(program).or_else(|| self.interpreter(program))
    }

    /// Returns the interpreter that the first line of a script names, unless it is a shell.
    fn interpreter(&self, script: &Program) -> Option<Program> {
        let bytes = self.start(&script.exe)?;
        let line = bytes
            .strip_prefix(b"#!")?
            .split(|&byte| byte == b'\n')
            .next()?;
        let line = String::from_utf8_lossy(line).into_owned();
        let (name, rest) = line
            .trim()
            .split_once([' ', '\t'])
            .unwrap_or((line.trim(), ""));
        // env(1) searches `PATH` for its argument, and with -S takes several arguments.
        let words = match name.rsplit('/').next()? {
            "env" => rest.trim().trim_start_matches("-S").to_owned(),
            _ => line.trim().to_owned(),
        };
        let mut argv: Vec<_> = words.split_ascii_whitespace().map(str::to_owned).collect();
        let name = argv.first()?.clone();
        if SHELLS.contains(&name.rsplit('/').next()?) {
            return None;
        }
        let (first, arguments) = script.argv.split_first()?;
        argv.push(if first.contains('/') {
            first.clone()
        } else {
            script.exe.clone()
        });
        argv.extend_from_slice(arguments);
        self.found(OsStr::new(&name), argv)
    }

    /// Returns the program that a version manager's shim runs.
    fn chosen(&self, shim: &Program) -> Option<Program> {
        let path = Path::new(&shim.exe);
        let folder = path.parent().filter(|folder| folder.ends_with("shims"))?;
        let manager = folder.parent()?;
        let name = manager.file_name()?.to_string_lossy();
        let (_, variable, file) = SHIMS
            .iter()
            .find(|(own, ..)| name.trim_start_matches('.') == *own)?;
        let own = self.folder.ancestors().map(|folder| folder.join(file));
        let files = own.chain([manager.join("version")]);
        let mut texts = files.filter_map(|file| self.text(&file));
        let text = self
            .environment
            .get(*variable)
            .cloned()
            .or_else(|| texts.next())?;
        let versions = text
            .split(['\n', ':', ' '])
            .filter(|version| !version.is_empty());
        let mut places = versions.map(|version| {
            manager
                .join("versions")
                .join(version)
                .join("bin")
                .join(path.file_name().unwrap_or_default())
        });
        let place = places.find(|place| self.at(place).is_file())?;
        Some(Program {
            exe: without_links(self.root, &place)?,
            argv: shim.argv.clone(),
        })
    }

    fn text(&self, file: &Path) -> Option<String> {
        let bytes = read_regular(&self.at(file), CONFIGURATION).ok()?;
        Some(String::from_utf8_lossy(&bytes).trim().to_owned())
    }

    /// Returns the first bytes of a file: programs are large, but the line that names an interpreter is short.
    fn start(&self, path: &str) -> Option<Vec<u8>> {
        use std::io::Read;
        let file = open_regular(&self.at(Path::new(path))).ok()?;
        let mut bytes = Vec::new();
        file.take(256).read_to_end(&mut bytes).ok()?;
        Some(bytes)
    }

    fn at(&self, path: &Path) -> PathBuf {
        self.root.path(path.strip_prefix("/").unwrap_or(path))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::machine::root::machine_of;

    fn of(
        files: &[(&str, &str)],
        environment: &[(&str, &str)],
        command: &[&str],
    ) -> Option<Program> {
        let (_folder, root) = machine_of(files);
        let environment = environment.iter();
        let environment = environment
            .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()))
            .collect();
        let surroundings = Surroundings {
            root: &root,
            environment: &environment,
            folder: Path::new("/home/work"),
        };
        let words = command[1..].iter().map(|&word| word.to_owned());
        surroundings.program(OsStr::new(command[0]), words.collect())
    }

    #[test]
    fn a_script_is_run_by_its_interpreter() {
        let files = [
            ("usr/bin/python3", "\x7fELF"),
            ("home/work/prog.py", "#!/usr/bin/env python3\nprint()\n"),
            ("home/work/run.sh", "#!/bin/bash\nexec python3\n"),
        ];
        let path = [("PATH", "/usr/bin")];
        let found = of(&files, &path, &["./prog.py", "1"]).expect("a script");
        assert_eq!(found.exe, "/usr/bin/python3");
        assert_eq!(found.argv, ["python3", "./prog.py", "1"]);
        // The program that a shell script starts is not known.
        let found = of(&files, &path, &["./run.sh"]).expect("a script");
        assert_eq!(found.exe, "/home/work/run.sh");
        assert_eq!(of(&files, &path, &["nosuch"]), None);
    }

    #[test]
    fn a_shim_stands_for_the_version_that_is_chosen() {
        let files = [
            (
                "home/.pyenv/shims/python3",
                "#!/usr/bin/env bash\nexec pyenv exec\n",
            ),
            ("home/.pyenv/version", "3.11.7\n"),
            ("home/.pyenv/versions/3.11.7/bin/python3", "\x7fELF"),
            ("home/.pyenv/versions/3.12.1/bin/python3", "\x7fELF"),
        ];
        let path = ("PATH", "/home/.pyenv/shims");
        let exe = |files: &[(&str, &str)], more: &[(&str, &str)]| {
            let environment: Vec<_> = more.iter().copied().chain([path]).collect();
            of(files, &environment, &["python3", "x.py"])
                .expect("a shim")
                .exe
        };
        assert_eq!(exe(&files, &[]), "/home/.pyenv/versions/3.11.7/bin/python3");
        let other = "/home/.pyenv/versions/3.12.1/bin/python3";
        assert_eq!(exe(&files, &[("PYENV_VERSION", "3.12.1")]), other);
        let own: Vec<_> = files
            .into_iter()
            .chain([("home/work/.python-version", "3.12.1\n")])
            .collect();
        assert_eq!(exe(&own, &[]), other);
        assert_eq!(
            exe(&files, &[("PYENV_VERSION", "system")]),
            "/home/.pyenv/shims/python3"
        );
    }
}
