use std::io::{IsTerminal, stdout};

/// Columns of the terminal at stdout; `None` when stdout is no terminal or does not know.
#[must_use]
pub fn columns() -> Option<u16> {
    if !stdout().is_terminal() {
        return None;
    }
    rustix::termios::tcgetwinsize(stdout())
        .ok()
        .map(|size| size.ws_col)
        .filter(|&columns| columns > 0)
}
