//! Allocations at the limit of a memory cgroup: the kernel has to reclaim before it can allocate.

use std::fs::File;
use std::os::fd::AsRawFd;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::process::ExitCode;
use std::time::Instant;

use crate::Trouble;
use crate::arguments::Arguments;
use crate::planted::processor_ns;
use crate::region::page_bytes;

/// `pressure`: joins the cgroup at the folder `--group`, if given, and reads one byte of each page of a sparse file of
/// N pages, R times. Writes `pages N wall_ns W processor_ns P` for the whole run into the file `--out`. The file is in
/// `--folder` and has no name.
///
/// A page of a sparse file is allocated and cleared without reading a disk. If the group's limit is smaller than the
/// file, nearly every page needs reclaim. Read-ahead is off, so that pages are allocated one by one.
pub(crate) fn run(arguments: &mut Arguments) -> Result<ExitCode, Trouble> {
    let pages = arguments.needed("--pages")?;
    let repeat = arguments.number("--repeat")?.unwrap_or(1);
    let folder = arguments.word("--folder")?;
    let group = arguments.word("--group")?;
    let out = arguments.word("--out")?;
    arguments.finish()?;
    let (Some(folder), Some(out)) = (folder, out) else {
        return Err(Trouble::Usage("--folder or --out is missing".to_owned()));
    };

    let file = nameless(Path::new(&folder), pages)?;
    if let Some(group) = group {
        std::fs::write(Path::new(&group).join("cgroup.procs"), "0")
            .map_err(|error| Trouble::Kernel("joining the cgroup of --group", error))?;
    }
    read(&file, pages)?;
    let _ = (processor_ns(), Instant::now().elapsed());
    let processor_before = processor_ns();
    let began = Instant::now();
    for _ in 0..repeat {
        read(&file, pages)?;
    }
    let wall_ns = began.elapsed().as_nanos();
    let processor_ns = processor_ns() - processor_before;
    let read = pages * repeat;
    let line = format!("pages {read} wall_ns {wall_ns} processor_ns {processor_ns}\n");
    std::fs::write(&out, line)
        .map_err(|error| Trouble::Kernel("writing the file of --out", error))?;
    Ok(ExitCode::SUCCESS)
}

/// A sparse file of this many pages, with its name removed.
fn nameless(folder: &Path, pages: usize) -> Result<File, Trouble> {
    let kernel = |error| Trouble::Kernel("making a file in --folder", error);
    let too_large = || Trouble::Usage(format!("{pages} pages are more than fit"));
    let bytes = pages.checked_mul(page_bytes()).ok_or_else(too_large)?;
    let path = folder.join(format!("hugewise-lab-{}", std::process::id()));
    let mut options = File::options();
    let file = options.read(true).write(true).create_new(true).open(&path);
    let file = file.map_err(kernel)?;
    std::fs::remove_file(&path).map_err(kernel)?;
    file.set_len(bytes as u64).map_err(kernel)?;
    // SAFETY: a descriptor of our own, and numbers.
    let refused = unsafe { libc::posix_fadvise(file.as_raw_fd(), 0, 0, libc::POSIX_FADV_RANDOM) };
    match refused {
        0 => Ok(file),
        number => Err(kernel(std::io::Error::from_raw_os_error(number))),
    }
}

fn read(file: &File, pages: usize) -> Result<(), Trouble> {
    let mut byte = [0];
    for page in 0..pages {
        file.read_exact_at(&mut byte, (page * page_bytes()) as u64)
            .map_err(|error| Trouble::Kernel("reading the file in --folder", error))?;
    }
    Ok(())
}
