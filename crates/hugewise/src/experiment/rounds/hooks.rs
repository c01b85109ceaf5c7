//! The user's shell lines before and after trials.

use hugewise_linux::spawn;

use super::Rounds;
use crate::interrupt::Interrupt;

impl Rounds<'_> {
    /// Runs a hook before something, unless interrupted.
    pub(super) fn hook(&self, name: &str, line: Option<&str>) -> Result<(), String> {
        self.hook_until(self.interrupt, name, line)
    }

    /// Runs a clean-up hook. It runs after an interrupt as well, and only a further signal ends it: a Ctrl-C must not
    /// leave behind a server that `--prepare` started.
    pub(super) fn closing_hook(&self, name: &str, line: Option<&str>) -> Result<(), String> {
        if !self.interrupt.asked() {
            return self.hook(name, line);
        }
        self.hook_until(&Interrupt::catch_later(), name, line)
    }

    fn hook_until(
        &self,
        interrupt: &Interrupt,
        name: &str,
        line: Option<&str>,
    ) -> Result<(), String> {
        let Some(line) = line else { return Ok(()) };
        spawn::hook(line, self.identity.as_ref(), &[], interrupt.flag())
            .map_err(|error| format!("{name}: {error}"))
    }
}
