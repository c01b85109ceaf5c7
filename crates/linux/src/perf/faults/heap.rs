use hugewise_model::observe::faults::Event;

use crate::proc::{Parsed, number};
use crate::root::Root;

/// Where brk(2) begins in a process that has just become another program. The kernel announces
/// the first such mapping as memory without a name, because at that moment it is not yet part
/// of what it calls the heap (`vma_is_initial_heap`, include/linux/mm.h).
///
/// `None` where the process is gone already, or not that far yet.
pub(in crate::perf) fn after_exec(event: &Event) -> Option<Event> {
    let Event::Exec { time_ns, pid, .. } = event else {
        return None;
    };
    let bytes = Root::real().read(format!("proc/{pid}/stat")).ok()?;
    let address = parse_start_brk(&bytes)
        .ok()
        .filter(|&address| address > 0)?;
    Some(Event::Heap {
        time_ns: *time_ns,
        pid: *pid,
        address,
    })
}

/// Parses `start_brk`, field 47 of `/proc/PID/stat`; 0 for those who may not know it.
fn parse_start_brk(bytes: &[u8]) -> Parsed<u64> {
    let text = String::from_utf8_lossy(bytes);
    // The name in parentheses may hold anything, parentheses included: the last one ends it.
    let (_, rest) = text.rsplit_once(')').ok_or("line 1: no name")?;
    let field = rest.split_whitespace().nth(44);
    number(1, "start_brk", field.ok_or("line 1: too few fields")?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn our_own_heap_is_where_maps_shows_it() {
        let root = Root::real();
        let address = parse_start_brk(&root.read("proc/self/stat").unwrap()).unwrap();
        let maps = root.read("proc/self/maps").unwrap();
        let maps = String::from_utf8_lossy(&maps);
        let heap = maps.lines().find(|line| line.ends_with("[heap]"));
        let start = heap.and_then(|line| line.split('-').next()).unwrap();
        assert_eq!(u64::from_str_radix(start, 16), Ok(address));
    }

    proptest! {
        #[test]
        fn no_bytes_panic(bytes: Vec<u8>) {
            let _ = parse_start_brk(&bytes);
        }
    }
}
