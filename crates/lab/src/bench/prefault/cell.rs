//! A cell of the suite, `METHOD/BYTES/THREADS`.

use std::io;

use super::super::backing::{Buffer, Request};
use super::super::words::{Words, median};
use super::super::{Line, Measured, Reason};
use super::{Brought, METHODS, Method, bring_in, write_all};
use crate::Trouble;

/// The measured passes; the result is the median. One unmeasured pass comes first, because memory that the host of a
/// virtual machine has not backed yet costs a thousand times more at its first touch.
const REPEATS: usize = 3;

const GIB: f64 = (1 << 30) as f64;

/// Prefaults memory and writes it, each time in a fresh mapping.
pub(in crate::bench) fn measure(cell: &str, request: Request) -> Result<Measured<'_>, Trouble> {
    let mut words = Words::of(cell);
    let method = words.name(&METHODS)?;
    let (bytes, threads) = (words.number()?, words.number()?);
    words.finish()?;
    Ok(measured(cell, method, bytes, threads, request))
}

fn measured(
    cell: &str,
    method: Method,
    bytes: usize,
    threads: usize,
    request: Request,
) -> Measured<'_> {
    // The prefaulted memory, to which times per GiB refer: whole pages.
    let bytes = request.taken(bytes);
    request.check_room(bytes, "this cell")?;
    let bytes = bytes as usize;
    let mut passes = Vec::new();
    let mut line = Line::of(cell);
    for repeat in 0..=REPEATS {
        let buffer = Buffer::fresh(bytes, method.laid_out(request))?;
        let span = buffer.span();
        let refused = |error| refusal(method, &error);
        let brought = bring_in(span, threads, method, request).map_err(refused)?;
        let pages = buffer.pages(bytes);
        let written = write_all(span, threads).map_err(refused)?;
        if repeat == REPEATS {
            line = line
                .pages("brought", pages)
                .pages("written", buffer.pages(bytes));
        }
        if repeat > 0 {
            passes.push((brought, written));
        }
    }
    let of = |read: &dyn Fn(&(Brought, Brought)) -> f64| median(passes.iter().map(read));
    let per_gib = |brought: &Brought| brought.time.as_secs_f64() * GIB / bytes as f64;
    let splits = |pass: &(Brought, Brought)| {
        let splits = |brought: &Brought| brought.splits.map_or(f64::NAN, |splits| splits as f64);
        splits(&pass.0) + splits(&pass.1)
    };
    Ok(line
        .metric("time_per_gib_seconds", of(&|pass| per_gib(&pass.0)))
        .metric("faults_total", of(&|pass| pass.0.faults as f64))
        .metric("later_time_per_gib_seconds", of(&|pass| per_gib(&pass.1)))
        .metric("later_faults_total", of(&|pass| pass.1.faults as f64))
        .metric("splits_total", of(&splits))
        .metric("repeats_total", REPEATS as f64))
}

fn refusal(method: Method, error: &io::Error) -> Reason {
    let name = METHODS.iter().find(|(_, known)| *known == method);
    let name = name.map_or("", |(name, _)| name);
    match (method, error.raw_os_error()) {
        (Method::Lock, Some(libc::EPERM | libc::ENOMEM | libc::EAGAIN)) => {
            Reason::NotPermitted("CAP_IPC_LOCK, or a higher RLIMIT_MEMLOCK".to_owned())
        }
        _ => Reason::NotSupported(format!("{name}: {error}")),
    }
}
