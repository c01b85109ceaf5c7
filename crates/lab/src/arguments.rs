//! Options of a workload: `--name VALUE` and `--name`. The laboratory depends only on libc, so that its process
//! contains nothing except the workload.

use crate::Trouble;

/// The options that were not read yet.
pub(crate) struct Arguments {
    words: Vec<String>,
}

impl Arguments {
    pub(crate) fn new(words: impl Iterator<Item = String>) -> Self {
        Self {
            words: words.collect(),
        }
    }

    /// Takes a switch; returns true if it was given.
    pub(crate) fn switch(&mut self, name: &str) -> bool {
        let place = self.words.iter().position(|word| word == name);
        place.map(|index| self.words.remove(index)).is_some()
    }

    /// Takes the word after `name`.
    pub(crate) fn word(&mut self, name: &str) -> Result<Option<String>, Trouble> {
        let Some(index) = self.words.iter().position(|word| word == name) else {
            return Ok(None);
        };
        self.words.remove(index);
        if index < self.words.len() {
            Ok(Some(self.words.remove(index)))
        } else {
            Err(Trouble::Usage(format!("{name} needs a value")))
        }
    }

    /// Takes the number after `name`.
    pub(crate) fn number(&mut self, name: &str) -> Result<Option<usize>, Trouble> {
        let Some(word) = self.word(name)? else {
            return Ok(None);
        };
        let fault = || Trouble::Usage(format!("{name} needs a whole number, not `{word}`"));
        word.parse().map(Some).map_err(|_| fault())
    }

    /// Takes the number after `name`, which is required.
    pub(crate) fn needed(&mut self, name: &str) -> Result<usize, Trouble> {
        self.number(name)?
            .ok_or_else(|| Trouble::Usage(format!("{name} is missing")))
    }

    /// Takes the next word, unless it looks like an option.
    pub(crate) fn next_word(&mut self) -> Option<String> {
        let first = self.words.first().filter(|word| !word.starts_with('-'));
        first.is_some().then(|| self.words.remove(0))
    }

    /// Takes all remaining words: a command.
    pub(crate) fn all(&mut self) -> Vec<String> {
        std::mem::take(&mut self.words)
    }

    /// Reports leftover options as unknown, after all known ones were read.
    pub(crate) fn finish(&self) -> Result<(), Trouble> {
        match self.words.first() {
            None => Ok(()),
            Some(word) => Err(Trouble::Usage(format!("unknown option `{word}`"))),
        }
    }
}
