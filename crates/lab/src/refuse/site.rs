//! The place of a call: the process of the program that makes it, and its target.

use std::fs::{self, File};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use super::call::{self, About};

/// The maximum length of a path in the kernel.
const LONGEST_PATH: usize = 4096;

/// The program whose calls count.
pub(super) struct Program {
    path: PathBuf,
    /// Paths in this folder are written relative to it, because its name changes with each run.
    folder: String,
}

impl Program {
    /// The program at this path, in the current folder.
    pub(super) fn of(path: PathBuf) -> Self {
        let folder = std::env::current_dir().unwrap_or_default();
        Self {
            path,
            folder: folder.to_string_lossy().into_owned(),
        }
    }

    /// The place of a call: `PROCESS CALL [TARGET]`, with `N` for every number in it; `None` if the
    /// call is not one of the program itself.
    pub(super) fn site(&self, notice: &libc::seccomp_notif) -> Option<String> {
        let process = PathBuf::from(format!("/proc/{}", notice.pid));
        if fs::read_link(process.join("exe")).ok()? != self.path {
            return None;
        }
        if is_of_loader(&process, notice.data.instruction_pointer) {
            return None;
        }
        let call = call::find(libc::c_long::from(notice.data.nr))?;
        let target = target(&process, call.about, &notice.data.args);
        let target = without_numbers(&target.replace(&self.folder, "."));
        let line = format!("{} {} {target}", role(&process), call.name);
        Some(line.trim_end().to_owned())
    }
}

/// `main`, or the word on the command line that selects another of the program's processes.
fn role(process: &Path) -> String {
    let line = fs::read(process.join("cmdline")).unwrap_or_default();
    let word = line.split(|&byte| byte == 0).nth(1).unwrap_or_default();
    match word.strip_prefix(b"__") {
        Some(role) => String::from_utf8_lossy(role).into_owned(),
        None => "main".to_owned(),
    }
}

/// Returns true if the code at this address belongs to the dynamic loader.
fn is_of_loader(process: &Path, address: u64) -> bool {
    let maps = fs::read_to_string(process.join("maps")).unwrap_or_default();
    maps.lines().any(|line| {
        let range = line
            .split(' ')
            .next()
            .and_then(|range| range.split_once('-'));
        let bounds = range.map(|(start, end)| [start, end].map(|it| u64::from_str_radix(it, 16)));
        matches!(bounds, Some([Ok(start), Ok(end)]) if start <= address && address < end)
            && line.contains("/ld-linux")
    })
}

fn target(process: &Path, about: About, arguments: &[u64; 6]) -> String {
    match about {
        About::Path(index) => path_at(process, arguments[index]),
        About::File(index) => {
            let link = process.join(format!("fd/{}", arguments[index] as i32));
            let path = fs::read_link(link).unwrap_or_default();
            path.to_string_lossy().into_owned()
        }
        // In letters, because digits in a place are replaced.
        About::Number(index) => letters(arguments[index]),
        About::Nothing => String::new(),
    }
}

fn path_at(process: &Path, address: u64) -> String {
    let mut bytes = vec![0; LONGEST_PATH];
    let memory = File::open(process.join("mem"));
    let read = memory.and_then(|memory| memory.read_at(&mut bytes, address));
    bytes.truncate(read.unwrap_or(0));
    let path = bytes.split(|&byte| byte == 0).next().unwrap_or_default();
    String::from_utf8_lossy(path).into_owned()
}

/// A number to the base of 26, from `a`.
fn letters(mut number: u64) -> String {
    let mut word = String::new();
    loop {
        word.insert(0, char::from(b'a' + (number % 26) as u8));
        number /= 26;
        if number == 0 {
            return word;
        }
    }
}

/// The text with `N` for each run of digits.
fn without_numbers(text: &str) -> String {
    let mut short = String::new();
    for letter in text.chars() {
        match letter.is_ascii_digit() {
            false => short.push(letter),
            true if short.ends_with('N') => {}
            true => short.push('N'),
        }
    }
    short
}
