use std::io::IsTerminal;
use std::os::fd::AsFd;

/// Columns of the terminal at a stream; `None` when it is no terminal or does not know.
#[must_use]
pub fn columns(stream: impl AsFd + IsTerminal) -> Option<u16> {
    if !stream.is_terminal() {
        return None;
    }
    rustix::termios::tcgetwinsize(stream)
        .ok()
        .map(|size| size.ws_col)
        .filter(|&columns| columns > 0)
}
