//! A server of one connection at a time, and the client that loads it.

use std::io::{ErrorKind, Read, Write};
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::path::Path;
use std::process::ExitCode;
use std::time::Instant;

use crate::Trouble;
use crate::arguments::Arguments;
use crate::region::{Advice, Align, Region, page_bytes};

/// What goes wrong with a server.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Failing {
    /// Nothing.
    Never,
    /// It ends before it listens.
    AtStart,
    /// It aborts at the first request.
    UnderLoad,
    /// It does not end when it is asked to.
    AtEnd,
}

/// `serve`: listens at `--port` of this machine, prints `listening`, and answers each byte that
/// it is sent with the same byte, after writing one byte to each of N fresh pages and giving them
/// back. `--huge` advises them. With `--folder` it keeps a file there.
pub(crate) fn serve(arguments: &mut Arguments) -> Result<ExitCode, Trouble> {
    let port = port(arguments)?;
    let pages = arguments.needed("--pages")?;
    let advice = if arguments.switch("--huge") {
        Advice::Huge
    } else {
        Advice::None
    };
    let folder = arguments.word("--folder")?;
    let failing = failing(arguments)?;
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
        std::fs::write(Path::new(&folder).join("data"), "x")
            .map_err(|error| Trouble::Kernel("writing into the folder", error))?;
    }
    let region = Region::fresh(pages, Align::Huge, advice)?;
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, port))
        .map_err(|error| Trouble::Kernel("listening", error))?;
    println!("listening");
    for stream in listener.incoming().flatten() {
        answer(stream, &region, failing)?;
    }
    Ok(ExitCode::SUCCESS)
}

/// Until the client goes. Whoever only looks whether somebody listens sends nothing.
fn answer(mut stream: TcpStream, region: &Region, failing: Failing) -> Result<(), Trouble> {
    let mut word = [0];
    while stream.read_exact(&mut word).is_ok() {
        if failing == Failing::UnderLoad {
            std::process::abort();
        }
        region.write(page_bytes());
        region.discard()?;
        if stream.write_all(&word).is_err() {
            break;
        }
    }
    Ok(())
}

/// `ask`: sends so many requests to `--port` over one connection, each after the answer to the
/// one before it, and prints a table of one column, `latency_ns`.
pub(crate) fn ask(arguments: &mut Arguments) -> Result<ExitCode, Trouble> {
    let port = port(arguments)?;
    let requests = arguments.needed("--requests")?;
    arguments.finish()?;
    let latencies = latencies(port, requests).map_err(|error| Trouble::Kernel("asking", error))?;
    let mut table = String::from("latency_ns\n");
    for nanos in latencies {
        table.push_str(&format!("{nanos}\n"));
    }
    print!("{table}");
    Ok(ExitCode::SUCCESS)
}

fn latencies(port: u16, requests: usize) -> std::io::Result<Vec<u128>> {
    let mut stream = TcpStream::connect((Ipv4Addr::LOCALHOST, port))?;
    stream.set_nodelay(true)?;
    let mut answer = [0];
    let mut latencies = Vec::new();
    for _ in 0..requests {
        let began = Instant::now();
        stream.write_all(b"x")?;
        stream.read_exact(&mut answer)?;
        latencies.push(began.elapsed().as_nanos());
        if answer != *b"x" {
            return Err(ErrorKind::InvalidData.into());
        }
    }
    Ok(latencies)
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
