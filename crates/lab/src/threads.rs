//! `threads`: a program that ends from a thread other than its first.

use std::os::unix::process::CommandExt;
use std::process::{Command, ExitCode};
use std::time::Duration;

use crate::Trouble;
use crate::arguments::Arguments;
use crate::region::{Advice, Align, Region, page_bytes};

/// Pages that the first thread touches before the end.
const PAGES: usize = 23_029;

/// Touches 23,029 advised pages and then ends with status 7: by `exit` in a second thread while the first sleeps
/// (`exit`), by `exit` in a second thread 100 ms after the first has ended (`leave`), or by executing another program
/// from a second thread (`exec`).
pub(crate) fn run(arguments: &mut Arguments) -> Result<ExitCode, Trouble> {
    let end = arguments.word("--end")?.unwrap_or_default();
    arguments.finish()?;
    Region::fresh(PAGES, Align::Huge, Advice::Huge)?.write(page_bytes());
    match end.as_str() {
        "exit" => {
            std::thread::spawn(|| std::process::exit(7));
            sleep_forever()
        }
        "leave" => {
            std::thread::spawn(|| {
                std::thread::sleep(Duration::from_millis(100));
                std::process::exit(7)
            });
            // SAFETY: ends only this thread; nothing on its stack is used by the other.
            unsafe { libc::syscall(libc::SYS_exit, 0) };
            sleep_forever()
        }
        "exec" => {
            std::thread::spawn(|| Command::new("/bin/sh").args(["-c", "exit 7"]).exec());
            sleep_forever()
        }
        other => Err(Trouble::Usage(format!(
            "--end is `exit`, `leave` or `exec`, not `{other}`"
        ))),
    }
}

fn sleep_forever() -> ! {
    loop {
        std::thread::sleep(Duration::from_secs(3600));
    }
}
