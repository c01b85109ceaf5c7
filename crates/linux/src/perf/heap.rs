use hugewise_observe::faults::Event;

use crate::machine::root::Root;
use crate::proc::pid_stat::read_pid_stat;

/// Returns the start of the brk(2) heap of a process that has just executed a program. The kernel announces the first
/// such mapping as unnamed memory, because at that moment it does not count as the heap yet (`vma_is_initial_heap`,
/// include/linux/mm.h).
///
/// `None` if the process has ended already, or has no heap yet.
pub(crate) fn after_exec(event: &Event) -> Option<Event> {
    let Event::Exec { time_ns, pid, .. } = event else {
        return None;
    };
    let stat = read_pid_stat(&Root::real(), *pid).ok()?;
    let address = Some(stat.heap_address).filter(|&address| address > 0)?;
    Some(Event::Heap {
        time_ns: *time_ns,
        pid: *pid,
        address,
    })
}
