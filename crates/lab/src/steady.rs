//! Work that never ends on memory that stays: a chase that gains from huge pages, and a stream that does not. The same
//! process can have a second mapping, and something else can go on in it.

use std::fs::File;
use std::io::{Read, stdin};
use std::os::unix::fs::FileExt;
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use crate::arguments::Arguments;
use crate::region::{Advice, Align, Region, page_bytes};
use crate::walk::{Order, Walk, bytes_of};
use crate::{Trouble, tell};

/// Whose memory it is.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    /// Its own.
    Private,
    /// Shared memory without a file.
    Shared,
}

/// Something else in the same process.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Companion {
    /// Nothing.
    Nothing,
    /// A thread maps, writes and unmaps memory all the time.
    Churn,
    /// A child maps the same pages until the process ends.
    Child,
    /// Such a child comes and goes.
    Forks,
    /// Memory that stays as it is, of which every eighth page holds zeros.
    Zeros,
}

/// The file of the count is written after this many units.
const UNITS_PER_WRITE: u64 = 64;

/// `steady --order chase|stream --mib N --out FILE [--second stream|idle] [--huge]`: fills N MiB and reads them until
/// stdin closes; writes the number of completed units of work to FILE. A second mapping has half of the size; a unit of
/// it follows each unit of the first. Prints `steady PID` when it is ready, and at its end `units U same` if no
/// word has changed, else `units U changed`.
pub(crate) fn run(arguments: &mut Arguments) -> Result<ExitCode, Trouble> {
    let order = Order::read(arguments, "--order")?;
    let order =
        order.ok_or_else(|| Trouble::Usage("--order is chase, stream or idle".to_owned()))?;
    let second = Order::read(arguments, "--second")?;
    let mib = arguments.needed("--mib")?;
    let path = arguments.word("--out")?;
    let kind = match arguments.word("--kind")?.as_deref() {
        None | Some("private") => Kind::Private,
        Some("shared") => Kind::Shared,
        Some(_) => return Err(Trouble::Usage("--kind is private or shared".to_owned())),
    };
    let companion = match arguments.word("--with")?.as_deref() {
        None => Companion::Nothing,
        Some("churn") => Companion::Churn,
        Some("child") => Companion::Child,
        Some("forks") => Companion::Forks,
        Some("zeros") => Companion::Zeros,
        Some(_) => {
            let usage = "--with is churn, child, forks or zeros";
            return Err(Trouble::Usage(usage.to_owned()));
        }
    };
    let advice = match arguments.switch("--huge") {
        true => Advice::Huge,
        false => Advice::None,
    };
    let seconds = arguments.number("--seconds")?;
    arguments.finish()?;
    let path =
        path.ok_or_else(|| Trouble::Usage("--out names the file of the count".to_owned()))?;
    let file = File::create(path).map_err(|error| Trouble::Kernel("making the file", error))?;
    let mut walks = vec![Walk::fill(order, memory(mib, kind, advice)?)];
    if let Some(order) = second {
        walks.push(Walk::fill(order, memory(mib / 2, kind, advice)?));
    }
    start(companion)?;
    write(&file, 0)?;
    let stop = match seconds {
        Some(seconds) => after(seconds),
        None => until_stdin_closes(),
    };
    tell(format_args!("steady {}", std::process::id()));
    let units = work(&mut walks, &file, &stop)?;
    let is_same = walks.iter().all(Walk::is_same);
    tell(format_args!(
        "units {units} {}",
        if is_same { "same" } else { "changed" }
    ));
    Ok(if is_same {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    })
}

/// Maps memory of so many MiB.
fn memory(mib: usize, kind: Kind, advice: Advice) -> Result<&'static mut [u64], Trouble> {
    let bytes = bytes_of(mib)?;
    let start = match kind {
        Kind::Private => Region::fresh(bytes / page_bytes(), Align::Huge, advice)?.start(),
        Kind::Shared => map(bytes, libc::MAP_SHARED)?,
    };
    let count = bytes / size_of::<u64>();
    // SAFETY: the memory is ours, writable, aligned, zero, of this length, and never unmapped.
    Ok(unsafe { std::slice::from_raw_parts_mut(start.cast::<u64>(), count) })
}

/// Maps memory without a file.
fn map(bytes: usize, kind: libc::c_int) -> Result<*mut u8, Trouble> {
    let access = libc::PROT_READ | libc::PROT_WRITE;
    let flags = kind | libc::MAP_ANONYMOUS;
    // SAFETY: a fresh mapping at an address of the kernel's choice.
    let start = unsafe { libc::mmap(std::ptr::null_mut(), bytes, access, flags, -1, 0) };
    match start == libc::MAP_FAILED {
        true => Err(Trouble::last("mapping memory")),
        false => Ok(start.cast()),
    }
}

/// Starts the companion. It ends with the process.
fn start(companion: Companion) -> Result<(), Trouble> {
    match companion {
        Companion::Nothing => {}
        Companion::Churn => {
            std::thread::spawn(|| while churn().is_ok() {});
        }
        Companion::Child => {
            fork()?;
        }
        Companion::Forks => {
            std::thread::spawn(|| while come_and_go().is_ok() {});
        }
        Companion::Zeros => zeros()?,
    }
    Ok(())
}

/// Bytes that churn maps at once: two huge pages of the usual size and something.
const CHURN: usize = 5 << 20;
/// How long a child lives that comes and goes, and the pause between two.
const SHORT: Duration = Duration::from_millis(50);

fn churn() -> Result<(), Trouble> {
    let start = map(CHURN, libc::MAP_PRIVATE)?;
    for offset in (0..CHURN).step_by(page_bytes()) {
        // SAFETY: offset < CHURN, and the whole mapping is writable.
        unsafe { start.add(offset).write_volatile(1) };
    }
    // SAFETY: the mapping is ours, and nothing refers to it.
    unsafe { libc::munmap(start.cast(), CHURN) };
    Ok(())
}

/// MiB with zeros.
const ZEROS: usize = 16;

fn zeros() -> Result<(), Trouble> {
    let words = memory(ZEROS, Kind::Private, Advice::None)?;
    let pages = words.chunks_mut(page_bytes() / size_of::<u64>());
    for (index, page) in pages.enumerate() {
        page[0] = u64::from(index % 8 != 0);
    }
    Ok(())
}

fn come_and_go() -> Result<(), Trouble> {
    let child = fork()?;
    std::thread::sleep(SHORT);
    // SAFETY: the child is ours, and was not waited for.
    unsafe {
        libc::kill(child, libc::SIGKILL);
        libc::waitpid(child, std::ptr::null_mut(), 0);
    }
    std::thread::sleep(SHORT);
    Ok(())
}

/// Starts a child that sleeps until it is killed, or this process ends.
fn fork() -> Result<libc::pid_t, Trouble> {
    // SAFETY: the child calls only prctl and pause, both safe after a fork.
    match unsafe { libc::fork() } {
        -1 => Err(Trouble::last("starting a child")),
        // SAFETY: as above.
        0 => unsafe {
            libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL);
            loop {
                libc::pause();
            }
        },
        child => Ok(child),
    }
}

fn work(walks: &mut [Walk], file: &File, stop: &AtomicBool) -> Result<u64, Trouble> {
    let mut units = 0;
    while !stop.load(Ordering::Relaxed) {
        walks.iter_mut().for_each(Walk::unit);
        units += 1;
        if units % UNITS_PER_WRITE == 0 {
            write(file, units)?;
        }
    }
    Ok(units)
}

fn write(file: &File, units: u64) -> Result<(), Trouble> {
    let text = format!("{units:>20}\n");
    let written = file.write_all_at(text.as_bytes(), 0);
    written.map_err(|error| Trouble::Kernel("writing the count", error))
}

/// Returns a flag for the end of stdin.
fn until_stdin_closes() -> Arc<AtomicBool> {
    let stop = Arc::new(AtomicBool::new(false));
    let closed = Arc::clone(&stop);
    std::thread::spawn(move || {
        let _ = stdin().lock().read_to_end(&mut Vec::new());
        closed.store(true, Ordering::Relaxed);
    });
    stop
}

/// Returns a flag for the end of a time.
fn after(seconds: usize) -> Arc<AtomicBool> {
    let stop = Arc::new(AtomicBool::new(false));
    let over = Arc::clone(&stop);
    std::thread::spawn(move || {
        std::thread::sleep(Duration::from_secs(seconds as u64));
        over.store(true, Ordering::Relaxed);
    });
    stop
}
