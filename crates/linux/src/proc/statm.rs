use std::collections::BTreeSet;

use super::Parsed;
use crate::machine::root::Root;

/// Parses the resident pages of a process (`/proc/PID/statm`, second field; fs/proc/array.c): from counters, without a
/// walk of page tables. hugetlb is not included, and a few pages per processor may be missing.
///
/// # Errors
/// The line has too few fields, or one is not a number.
pub fn parse_resident(bytes: &[u8]) -> Parsed<u64> {
    let text = String::from_utf8_lossy(bytes);
    let field = text.split_whitespace().nth(1);
    super::number(1, "resident", field.ok_or("line 1: too few fields")?)
}

/// Returns the resident memory of these processes in bytes; shared pages count in each. `None` if no process could be
/// read. `page_bytes` is the size of a base page of their machine.
#[must_use]
pub fn read_resident(root: &Root, processes: &BTreeSet<u32>, page_bytes: u64) -> Option<u64> {
    let of = |pid: &u32| parse_resident(&root.read(format!("proc/{pid}/statm")).ok()?).ok();
    let pages = processes
        .iter()
        .filter_map(of)
        .reduce(u64::saturating_add)?;
    Some(pages.saturating_mul(page_bytes))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_second_field_is_what_is_resident() {
        assert_eq!(parse_resident(b"2519 1133 815 246 0 430 0\n"), Ok(1133));
        assert!(parse_resident(b"2519").is_err());
        assert!(parse_resident(b"1 -4").is_err());
    }

    #[test]
    fn processes_add_up_and_those_that_are_gone_do_not_count() {
        let folder = tempfile::tempdir().unwrap();
        for (pid, pages) in [(5, 10), (6, 7)] {
            let path = folder.path().join(format!("proc/{pid}"));
            std::fs::create_dir_all(&path).unwrap();
            std::fs::write(path.join("statm"), format!("100 {pages} 3 1 0 9 0\n")).unwrap();
        }
        let root = Root::at(folder.path());
        assert_eq!(
            read_resident(&root, &[5, 6, 7].into(), 16 << 10),
            Some(17 << 14)
        );
        assert_eq!(read_resident(&root, &[7].into(), 16 << 10), None);
    }
}
