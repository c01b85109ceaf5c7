//! Guests in parallel: each emulates on one processor, and one runs per processor.

use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Instant;
use std::{fs, thread};

use anyhow::Result;

use super::boot::{self, Ended};
use super::kernels::Kernel;
use super::results::{self, Outcome};
use super::table::Column;
use super::{Disks, Matrix, Purpose, Ready, thaw};

/// Returns the results of all guests, in their order. A guest with a failed test is booted again, without others in
/// parallel: an emulated guest next to others times out more easily. Only the second result counts.
///
/// # Errors
/// The number of processors is unknown.
pub fn columns(guests: &[Ready], matrix: &Matrix) -> Result<Vec<Column>> {
    let lanes = thread::available_parallelism()?.get().min(guests.len());
    let next = AtomicUsize::new(0);
    let found: Mutex<Vec<(usize, Column)>> = Mutex::default();
    thread::scope(|scope| {
        for _ in 0..lanes {
            scope.spawn(|| {
                while let Some((index, guest)) = take(guests, &next) {
                    let column = column(guest, matrix);
                    if let Ok(mut found) = found.lock() {
                        found.push((index, column));
                    }
                }
            });
        }
    });
    let mut found = found.into_inner().unwrap_or_default();
    found.sort_by_key(|(index, _)| *index);
    let columns = found.into_iter().zip(guests);
    Ok(columns
        .map(|((_, first), guest)| {
            if lanes > 1 {
                once_more(first, guest, matrix)
            } else {
                first
            }
        })
        .collect())
}

fn take<'a>(guests: &'a [Ready], next: &AtomicUsize) -> Option<(usize, &'a Ready)> {
    let index = next.fetch_add(1, Ordering::Relaxed);
    Some((index, guests.get(index)?))
}

fn once_more(first: Column, guest: &Ready, matrix: &Matrix) -> Column {
    let failed = failed(&first);
    if failed.is_empty() || guest.parts.is_err() {
        return first;
    }
    eprintln!("{}: repeated separately: {}", first.name, failed.join("; "));
    column(guest, matrix)
}

fn failed(column: &Column) -> Vec<String> {
    let results = column.results.iter().flatten();
    let failed = results.filter_map(|result| match &result.outcome {
        Outcome::Failed(why) => Some(format!("{}, {}: {why}", result.user, result.test)),
        Outcome::Passed | Outcome::Skipped(_) => None,
    });
    failed.collect()
}

/// Returns the results of one kernel. A missing requirement for the architecture of this machine is an error and counts
/// as a failure. For another architecture it is a skip with its reason.
fn column(guest: &Ready, matrix: &Matrix) -> Column {
    let kernel = &guest.kernel;
    eprintln!("{} …", kernel.name);
    let began = Instant::now();
    let ended = match &guest.parts {
        Ok(disks) => run(kernel, disks, matrix).map_err(|error| format!("{error:#}")),
        Err(error) => Err(format!("{error:#}")),
    };
    let longest = ended.as_ref().ok().and_then(results::longest);
    let longest =
        longest.map(|(seconds, test)| format!("; the longest test took {seconds:.0} s: {test}"));
    eprintln!(
        "{}: {:.0} s{}",
        kernel.name,
        began.elapsed().as_secs_f64(),
        longest.unwrap_or_default()
    );
    let results = match ended {
        Ok(ended) => Ok(results::results(kernel, &ended)),
        Err(error) if kernel.machine.name() == std::env::consts::ARCH => Ok(vec![not_run(error)]),
        Err(error) => Err(error),
    };
    Column {
        name: kernel.name.clone(),
        results,
    }
}

fn run(kernel: &Kernel, disks: &Disks, matrix: &Matrix) -> Result<Ended> {
    let ended = boot::boot(kernel.machine, &disks.image, &disks.initramfs)?;
    fs::write(disks.folder.join("console.txt"), ended.lines.join("\n"))?;
    if matrix.console {
        eprintln!("{}", ended.lines.join("\n"));
    }
    if matrix.purpose == Purpose::Capture {
        thaw(&ended.lines, &matrix.sources.join("fixtures/hosts"))?;
    }
    Ok(ended)
}

fn not_run(why: String) -> results::Result {
    results::Result {
        user: "root".to_owned(),
        test: "the guest: booted and came to its end".to_owned(),
        outcome: Outcome::Failed(why),
    }
}
