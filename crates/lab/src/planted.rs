//! Workloads with one planted trait each, whose cause a measuring program must find.

use std::os::fd::{FromRawFd, OwnedFd};
use std::process::ExitCode;

use crate::Trouble;
use crate::arguments::Arguments;
use crate::region::{Advice, Align, Region, huge_bytes, page_bytes};

const MIB: usize = 1 << 20;

/// `small`: N mappings of 1 MiB (half a huge page if that is smaller), each in a separate huge-page slot: 256 faults of
/// 4 KiB each, whatever the policy for PMD-sized pages.
pub(crate) fn small(arguments: &mut Arguments) -> Result<ExitCode, Trouble> {
    let mappings = arguments.needed("--mappings")?;
    arguments.finish()?;
    let stride = huge_bytes();
    let bytes = MIB.min(stride / 2);
    let too_many = || Trouble::Usage(format!("{mappings} mappings are more than fit"));
    let region = Region::reserved(mappings.checked_mul(stride).ok_or_else(too_many)?)?;
    for index in 0..mappings {
        region.open(index * stride, bytes)?;
        region.write_part(index * stride, bytes);
    }
    Ok(ExitCode::SUCCESS)
}

/// `read-first`: reads N pages before writing them. With huge pages the reads map the shared
/// huge zero page; with `--only` it is still mapped at the end.
pub(crate) fn read_first(arguments: &mut Arguments) -> Result<ExitCode, Trouble> {
    let pages = arguments.needed("--pages")?;
    let advice = if arguments.switch("--huge") {
        Advice::Huge
    } else {
        Advice::None
    };
    let only_read = arguments.switch("--only");
    arguments.finish()?;
    let region = Region::fresh(pages, Align::Huge, advice)?;
    region.read(page_bytes());
    if !only_read {
        region.write(page_bytes());
    }
    Ok(ExitCode::SUCCESS)
}

/// `sparse`: one byte in each of N advised huge pages, so that resident memory is up to 512
/// times what is used.
pub(crate) fn sparse(arguments: &mut Arguments) -> Result<ExitCode, Trouble> {
    let huge_pages = arguments.needed("--huge-pages")?;
    arguments.finish()?;
    let pages = huge_pages.saturating_mul(huge_bytes() / page_bytes());
    Region::fresh(pages, Align::Huge, Advice::Huge)?.write(huge_bytes());
    Ok(ExitCode::SUCCESS)
}

/// `split`: fills N advised huge pages and then makes one small page in each read-only. The
/// kernel splits the N mappings (`thp_split_pmd`); the huge pages stay, mapped by small ones.
pub(crate) fn split(arguments: &mut Arguments) -> Result<ExitCode, Trouble> {
    let huge_pages = arguments.needed("--huge-pages")?;
    arguments.finish()?;
    let each = huge_bytes();
    let pages = huge_pages.saturating_mul(each / page_bytes());
    let region = Region::fresh(pages, Align::Huge, Advice::Huge)?;
    region.write(page_bytes());
    for index in 0..huge_pages {
        region.protect_page(index * each + each / 2)?;
    }
    Ok(ExitCode::SUCCESS)
}

/// `spin`: processor time only.
pub(crate) fn spin(arguments: &mut Arguments) -> Result<ExitCode, Trouble> {
    let milliseconds = arguments.needed("--ms")? as u128;
    arguments.finish()?;
    while processor_ns() < milliseconds * 1_000_000 {
        for _ in 0..10_000 {
            std::hint::spin_loop();
        }
    }
    Ok(ExitCode::SUCCESS)
}

/// The processor time of this process so far.
pub(crate) fn processor_ns() -> u128 {
    let mut time = libc::timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    // SAFETY: `time` is a valid place for the answer.
    unsafe { libc::clock_gettime(libc::CLOCK_PROCESS_CPUTIME_ID, &raw mut time) };
    time.tv_sec as u128 * 1_000_000_000 + time.tv_nsec as u128
}

/// `tree`: N children that touch P pages each, and hold them until all have done so.
pub(crate) fn tree(arguments: &mut Arguments) -> Result<ExitCode, Trouble> {
    let processes = arguments.needed("--processes")?;
    let pages = arguments.needed("--pages")?;
    let hold = arguments.number("--hold")?.unwrap_or(0);
    arguments.finish()?;
    let (touched_out, touched_in) = pipe()?;
    let (release_out, release_in) = pipe()?;
    for _ in 0..processes {
        if let Side::Child = fork()? {
            drop((touched_out, release_in));
            Region::fresh(pages, Align::Huge, Advice::None)?.write(page_bytes());
            drop(touched_in);
            wait_for_end(release_out);
            return Ok(ExitCode::SUCCESS);
        }
    }
    drop((touched_in, release_out));
    wait_for_end(touched_out);
    std::thread::sleep(std::time::Duration::from_millis(hold as u64));
    drop(release_in);
    reap_all();
    Ok(ExitCode::SUCCESS)
}

/// `orphan`: ends while a daemon that it started holds P pages; prints the daemon's pid.
pub(crate) fn orphan(arguments: &mut Arguments) -> Result<ExitCode, Trouble> {
    let pages = arguments.number("--pages")?.unwrap_or(16);
    arguments.finish()?;
    let (ready_out, ready_in) = pipe()?;
    if let Side::Child = fork()? {
        drop(ready_out);
        // SAFETY: setsid has no preconditions.
        unsafe { libc::setsid() };
        if let Side::Child = fork()? {
            Region::fresh(pages, Align::Huge, Advice::None)?.write(page_bytes());
            println!("{}", std::process::id());
            drop(ready_in);
            loop {
                std::thread::sleep(std::time::Duration::from_secs(3600));
            }
        }
        return Ok(ExitCode::SUCCESS);
    }
    drop(ready_in);
    wait_for_end(ready_out);
    reap_all();
    Ok(ExitCode::SUCCESS)
}

/// `fail`: ends with a status or by a signal.
pub(crate) fn fail(arguments: &mut Arguments) -> Result<ExitCode, Trouble> {
    let code = arguments.number("--code")?;
    let signal = arguments.number("--signal")?;
    arguments.finish()?;
    match (code, signal) {
        (Some(code), None) => u8::try_from(code)
            .map(ExitCode::from)
            .map_err(|_| Trouble::Usage("--code is at most 255".to_owned())),
        (None, Some(signal)) => {
            let number = i32::try_from(signal).unwrap_or(i32::MAX);
            // SAFETY: raise has no preconditions.
            unsafe { libc::raise(number) };
            Err(Trouble::last("raising the signal"))
        }
        _ => Err(Trouble::Usage("give --code or --signal".to_owned())),
    }
}

pub(crate) enum Side {
    Parent,
    Child,
}

pub(crate) fn fork() -> Result<Side, Trouble> {
    // SAFETY: the workloads that fork have one thread.
    match unsafe { libc::fork() } {
        -1 => Err(Trouble::last("forking")),
        0 => Ok(Side::Child),
        _ => Ok(Side::Parent),
    }
}

/// A pipe: its read end and its write end.
pub(crate) fn pipe() -> Result<(OwnedFd, OwnedFd), Trouble> {
    let mut ends = [0; 2];
    // SAFETY: `ends` has room for both descriptors.
    if unsafe { libc::pipe2(ends.as_mut_ptr(), libc::O_CLOEXEC) } != 0 {
        return Err(Trouble::last("making a pipe"));
    }
    // SAFETY: both descriptors are fresh and belong to nobody else.
    Ok(unsafe { (OwnedFd::from_raw_fd(ends[0]), OwnedFd::from_raw_fd(ends[1])) })
}

/// Waits until every holder of the write end has closed it.
fn wait_for_end(reading: OwnedFd) {
    let mut rest = Vec::new();
    let _ = std::io::Read::read_to_end(&mut std::fs::File::from(reading), &mut rest);
}

pub(crate) fn reap_all() {
    // SAFETY: waiting for any child, without asking for its status.
    while unsafe { libc::waitpid(-1, std::ptr::null_mut(), 0) } > 0 {}
}
