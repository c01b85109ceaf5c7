use hugewise_linux::machine::root::Root;
use hugewise_linux::proc::sockets::awaits_connections;
use hugewise_observe::inspect::view::{Benefit, Measure};

/// Without rules, only the command that measures the process is known.
pub fn of(root: &Root, pid: u32) -> Benefit {
    let measure = match awaits_connections(root, pid) {
        true => Measure::Service,
        false => Measure::Unknown,
    };
    Benefit {
        measure,
        ..Benefit::default()
    }
}
