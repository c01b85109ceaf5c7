//! How much of the memory in huge pages holds only zeros, by reading a bounded sample of it
//! (process_vm_readv(2)).
//!
//! No content is kept. A read marks the page as accessed, as a read by the program would: reclaim and idle-page
//! tracking then consider it used. A page freed by the program at this moment reappears as a zero page.

use std::io;

use hugewise_base::missing::{Fact, Missing};
use hugewise_observe::address_space::{Contents, Mapping, Space};

use crate::machine::clock::monotonic_ns;
use crate::machine::root::Root;
use crate::proc::pid_stat::read_pid_stat;

/// The most pages to read: 4 MiB, about a millisecond. The interval of a share of one half is 6 %
/// wide.
const MOST: u64 = 1024;
/// Pages that one call reads.
const AT_ONCE: usize = 64;
/// The right to read the memory of another process (`PTRACE_MODE_ATTACH`).
const GRANT: &str = "CAP_SYS_PTRACE, or the same user id and kernel.yama.ptrace_scope=0";

/// Reads a sample of PMD-mapped memory; `None` if there is none.
///
/// # Errors
/// No source shows which memory is PMD-mapped, the kernel refuses, or the process has ended.
pub fn read_contents(root: &Root, space: &Space) -> Fact<Option<Contents>> {
    if let Some(missing) = space.read_with.page_scan.missing() {
        return Err(missing.clone());
    }
    let pid = space.process.pid;
    let page = space.page_bytes.max(1);
    let spans = huge_spans(&space.mappings);
    let pages: u64 = spans.iter().map(|(start, end)| (end - start) / page).sum();
    if pages == 0 {
        return Ok(None);
    }
    if !root.is_real() {
        return Err(Missing::NotAsked);
    }
    let addresses = chosen(&spans, pages, page);
    let (read, zero) = read_pages(pid, &addresses, page)?;
    let after = read_pid_stat(root, pid).map_err(|_| Missing::TooShort)?;
    if after.started_ticks != space.process.started_ticks {
        return Err(Missing::TooShort);
    }
    Ok(Some(Contents { pages, read, zero }))
}

/// Stretches of anonymous and shared memory that a PMD maps, without the huge zero page.
fn huge_spans(mappings: &[Mapping]) -> Vec<(u64, u64)> {
    let wanted = |mapping: &&Mapping| mapping.kind.is_anonymous() || mapping.kind.is_shmem();
    let runs = mappings
        .iter()
        .filter(wanted)
        .flat_map(|mapping| &mapping.runs);
    runs.filter(|run| run.pages.huge.unwrap_or(0) > 0 && run.pages.zero.unwrap_or(0) == 0)
        .map(|run| (run.start, run.end))
        .collect()
}

/// Returns the addresses of all pages, or of [`MOST`] drawn with equal chances.
fn chosen(spans: &[(u64, u64)], pages: u64, page: u64) -> Vec<u64> {
    let mut random = Random(monotonic_ns() | 1);
    let mut numbers: Vec<u64> = match pages <= MOST {
        true => (0..pages).collect(),
        false => (0..MOST).map(|_| random.below(pages)).collect(),
    };
    numbers.sort_unstable();
    let mut addresses = Vec::with_capacity(numbers.len());
    let (mut spans, mut before) = (spans.iter(), 0);
    let mut span = spans.next();
    for number in numbers {
        while let Some((start, end)) = span {
            let within = number - before;
            let length = (end - start) / page;
            if within < length {
                addresses.push(start + within * page);
                break;
            }
            before += length;
            span = spans.next();
        }
    }
    addresses
}

/// Returns the number of pages read, and the number of pages with only zeros. Pages that have disappeared are not
/// counted.
fn read_pages(pid: u32, addresses: &[u64], page: u64) -> Fact<(u64, u64)> {
    let length = usize::try_from(page).unwrap_or(usize::MAX);
    let mut buffer = vec![0_u8; length * AT_ONCE];
    let zeros = vec![0_u8; length];
    let (mut read, mut zero) = (0, 0);
    let mut refusal = None;
    let mut rest = addresses;
    while !rest.is_empty() {
        let some = &rest[..rest.len().min(AT_ONCE)];
        let whole = match read_some(pid, some, &mut buffer, length) {
            Ok(bytes) => bytes / length,
            Err(error) => {
                refusal.get_or_insert(error);
                0
            }
        };
        read += whole as u64;
        let pages = buffer.chunks_exact(length).take(whole);
        zero += pages.filter(|page| *page == zeros).count() as u64;
        // The page behind the last is what stopped it.
        let tried = if whole < some.len() { whole + 1 } else { whole };
        rest = &rest[tried..];
        if read == 0
            && refusal
                .as_ref()
                .is_some_and(|error| error.raw_os_error() != Some(libc::EFAULT))
        {
            break;
        }
    }
    match refusal {
        Some(error) if read == 0 => Err(missing(&error)),
        _ => Ok((read, zero)),
    }
}

fn missing(error: &io::Error) -> Missing {
    match error.raw_os_error() {
        Some(libc::EPERM | libc::EACCES) => Missing::not_permitted(GRANT),
        Some(libc::ESRCH | libc::EFAULT) => Missing::TooShort,
        Some(libc::ENOSYS) => Missing::not_supported("process_vm_readv(2)"),
        _ => Missing::unreadable(format!("memory of the process: {error}")),
    }
}

/// Reads pages of a process one after the other into the buffer; the bytes until one could not
/// be read.
fn read_some(pid: u32, addresses: &[u64], buffer: &mut [u8], length: usize) -> io::Result<usize> {
    let remote: Vec<libc::iovec> = addresses
        .iter()
        .map(|&address| libc::iovec {
            iov_base: std::ptr::without_provenance_mut(usize::try_from(address).unwrap_or(0)),
            iov_len: length,
        })
        .collect();
    let local = libc::iovec {
        iov_base: buffer.as_mut_ptr().cast(),
        iov_len: buffer.len().min(addresses.len() * length),
    };
    // SAFETY: the local vector is the buffer, which lives and nobody else uses. The kernel checks
    // the remote addresses itself.
    let read = unsafe {
        libc::process_vm_readv(
            pid.cast_signed(),
            &raw const local,
            1,
            remote.as_ptr(),
            remote.len() as libc::c_ulong,
            0,
        )
    };
    usize::try_from(read).map_err(|_| io::Error::last_os_error())
}

/// Random numbers, good enough to choose pages (splitmix64).
struct Random(u64);

impl Random {
    fn below(&mut self, limit: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (mixed ^ (mixed >> 31)) % limit.max(1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_page_of_little_memory_is_chosen_once() {
        let spans = [(0x1000, 0x3000), (0x8000, 0x9000)];
        assert_eq!(chosen(&spans, 3, 0x1000), [0x1000, 0x2000, 0x8000]);
    }

    #[test]
    fn a_sample_of_much_memory_lies_in_all_of_it() {
        let spans = [(0, 1 << 30), (1 << 40, (1 << 40) + (3 << 30))];
        let all = chosen(&spans, 1 << 20, 4096);
        assert_eq!(all.len() as u64, MOST);
        let first = all.iter().filter(|&&address| address < 1 << 30).count();
        assert!((100..412).contains(&first), "{first} of a quarter");
        let lies = |address: &u64| {
            spans
                .iter()
                .any(|(start, end)| (start..end).contains(&address))
        };
        assert!(
            all.iter()
                .all(|address| lies(address) && address % 4096 == 0)
        );
    }

    #[test]
    fn pages_of_zeros_are_counted_and_what_is_gone_is_left_out() {
        let page = 4096_u64;
        let mut memory = vec![0_u8; 4 * 4096];
        memory[4096 + 17] = 1;
        let first = memory.as_ptr() as u64;
        let addresses = [first, 16, first + page, first + 2 * page];
        let own = std::process::id();
        assert_eq!(read_pages(own, &addresses, page), Ok((3, 2)));
        assert_eq!(read_pages(own, &[16], page), Err(Missing::TooShort));
        assert_eq!(read_pages(own, &[], page), Ok((0, 0)));
    }
}
