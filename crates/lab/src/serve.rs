//! A server for one connection at a time, and the client that loads it.

use std::io::{ErrorKind, Read, Write};
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::path::Path;
use std::process::ExitCode;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use crate::arguments::Arguments;
use crate::region::{Advice, Align, Region, page_bytes};
use crate::slow_faults::LatePage;
use crate::walk::{Order, Walk, bytes_of};
use crate::{Trouble, stacks};

/// The failure of a server.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Failing {
    /// Nothing.
    Never,
    /// It ends before it listens.
    AtStart,
    /// It aborts at the first request.
    UnderLoad,
    /// It ignores the request to end.
    AtEnd,
}

/// How long a late request takes.
const LATE: Duration = Duration::from_millis(20);
/// How long a stall lasts that makes no request late.
const STALL: Duration = Duration::from_millis(1);
/// Requests are late if their number is a square times this. No two gaps are equal, so late requests and stalls do not
/// coincide again after a shift against each other.
const APART: usize = 100;

/// Why some requests are late.
enum Late {
    /// No request is late.
    None,
    /// A page fault that is resolved late.
    Stall(LatePage),
    /// They sleep; a shorter stall comes in another request, half way to the next late one.
    Sleep(LatePage),
}

impl Late {
    fn read(arguments: &mut Arguments) -> Result<Self, Trouble> {
        Ok(match arguments.word("--late")?.as_deref() {
            None => Self::None,
            Some("stall") => Self::Stall(LatePage::new(LATE)?),
            Some("sleep") => Self::Sleep(LatePage::new(STALL)?),
            Some(other) => {
                let text = format!("--late is stall or sleep, not `{other}`");
                return Err(Trouble::Usage(text));
            }
        })
    }

    /// The delay before the answer to the request with this number.
    fn before(&self, number: usize) -> Result<(), Trouble> {
        match self {
            Self::Stall(page) if is_square(number) => page.touch()?,
            Self::Sleep(_) if is_square(number) => std::thread::sleep(LATE),
            Self::Sleep(page) if number.checked_sub(APART / 2).is_some_and(is_square) => {
                page.touch()?;
            }
            _ => {}
        }
        Ok(())
    }
}

/// Returns true if a number is a positive square times [`APART`]. 0 is excluded, because readiness checks send the
/// first request.
fn is_square(number: usize) -> bool {
    number > 0 && number.is_multiple_of(APART) && (number / APART).isqrt().pow(2) == number / APART
}

/// `serve`: listens on `--port` of this machine, prints `listening`, and answers each received byte with the same byte,
/// after it writes one byte to each of N fresh pages and frees them. `--huge` advises the pages. With `--folder` it
/// keeps a file there. With `--late` some requests take 20 ms more: `stall` in a page fault of that length, `sleep` in
/// a sleep. `--stacks` adds this many waiting threads. With `--order chase|stream --mib N` it reads words of N MiB that
/// stay, some for each request.
pub(crate) fn serve(arguments: &mut Arguments) -> Result<ExitCode, Trouble> {
    let port = port(arguments)?;
    let pages = arguments.needed("--pages")?;
    let advice = match arguments.switch("--huge") {
        true => Advice::Huge,
        false => Advice::None,
    };
    let folder = arguments.word("--folder")?;
    let failing = failing(arguments)?;
    let late = Late::read(arguments)?;
    let threads = arguments.number("--stacks")?.unwrap_or(0);
    let order = Order::read(arguments, "--order")?;
    let mib = arguments.number("--mib")?.unwrap_or(1);
    arguments.finish()?;
    if failing == Failing::AtStart {
        eprintln!("no configuration");
        return Ok(ExitCode::from(3));
    }
    if failing == Failing::AtEnd {
        // SAFETY: ignoring a signal has no preconditions.
        unsafe { libc::signal(libc::SIGTERM, libc::SIG_IGN) };
    }
    if let Some(folder) = folder {
        keep_a_file(Path::new(&folder))?;
    }
    stacks::start(threads)?;
    let region = Region::fresh(pages, Align::Huge, advice)?;
    let mut walk = order.map(|order| walk(order, mib, advice)).transpose()?;
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, port))
        .map_err(|error| Trouble::Kernel("listening", error))?;
    println!("listening");
    for stream in listener.incoming().flatten() {
        answer(stream, &region, failing, &late, walk.as_mut())?;
    }
    Ok(ExitCode::SUCCESS)
}

fn keep_a_file(folder: &Path) -> Result<(), Trouble> {
    std::fs::write(folder.join("data"), "x")
        .map_err(|error| Trouble::Kernel("writing into the folder", error))
}

/// Memory of so many MiB that stays, and the walk over it.
fn walk(order: Order, mib: usize, advice: Advice) -> Result<Walk, Trouble> {
    let bytes = bytes_of(mib)?;
    let start = Region::fresh(bytes / page_bytes(), Align::Huge, advice)?.start();
    let count = bytes / size_of::<u64>();
    // SAFETY: the region is ours, writable, aligned, zero, of this length, and never unmapped.
    let words = unsafe { std::slice::from_raw_parts_mut(start.cast::<u64>(), count) };
    Ok(Walk::fill(order, words))
}

/// Serves until the client disconnects. Readiness checks send nothing.
fn answer(
    mut stream: TcpStream,
    region: &Region,
    failing: Failing,
    late: &Late,
    mut walk: Option<&mut Walk>,
) -> Result<(), Trouble> {
    let (mut word, mut number) = ([0], 0);
    while stream.read_exact(&mut word).is_ok() {
        if failing == Failing::UnderLoad {
            std::process::abort();
        }
        region.write(page_bytes());
        region.discard()?;
        late.before(number)?;
        if let Some(walk) = &mut walk {
            walk.unit();
        }
        number += 1;
        if stream.write_all(&word).is_err() {
            break;
        }
    }
    Ok(())
}

/// `ask`: sends this many requests to `--port` over one connection, each after the answer to the last one, and prints a
/// table of one column, `latency_ns`. With `--times` there is a second column, `ended_ns`: the time of the answer in
/// nanoseconds since 1970.
pub(crate) fn ask(arguments: &mut Arguments) -> Result<ExitCode, Trouble> {
    let port = port(arguments)?;
    let requests = arguments.needed("--requests")?;
    let times = arguments.switch("--times");
    arguments.finish()?;
    let asked = answers(port, requests).map_err(|error| Trouble::Kernel("asking", error))?;
    let mut table = String::from(if times {
        "latency_ns,ended_ns\n"
    } else {
        "latency_ns\n"
    });
    for (took, ended) in asked {
        let row = match times {
            true => format!("{},{}\n", took.as_nanos(), ended.as_nanos()),
            false => format!("{}\n", took.as_nanos()),
        };
        table.push_str(&row);
    }
    print!("{table}");
    Ok(ExitCode::SUCCESS)
}

/// The latency of each request, and the time of its answer since 1970.
fn answers(port: u16, requests: usize) -> std::io::Result<Vec<(Duration, Duration)>> {
    let mut stream = TcpStream::connect((Ipv4Addr::LOCALHOST, port))?;
    stream.set_nodelay(true)?;
    let mut answer = [0];
    let mut answers = Vec::new();
    for _ in 0..requests {
        let began = Instant::now();
        stream.write_all(b"x")?;
        stream.read_exact(&mut answer)?;
        let took = began.elapsed();
        let ended = SystemTime::now().duration_since(UNIX_EPOCH);
        answers.push((took, ended.unwrap_or_default()));
        if answer != *b"x" {
            return Err(ErrorKind::InvalidData.into());
        }
    }
    Ok(answers)
}

fn port(arguments: &mut Arguments) -> Result<u16, Trouble> {
    let number = arguments.needed("--port")?;
    u16::try_from(number).map_err(|_| Trouble::Usage(format!("{number} is no port")))
}

fn failing(arguments: &mut Arguments) -> Result<Failing, Trouble> {
    Ok(match arguments.word("--fail")?.as_deref() {
        None => Failing::Never,
        Some("start") => Failing::AtStart,
        Some("load") => Failing::UnderLoad,
        Some("end") => Failing::AtEnd,
        Some(other) => {
            return Err(Trouble::Usage(format!(
                "--fail is start, load or end, not `{other}`"
            )));
        }
    })
}
