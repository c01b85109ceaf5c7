//! The stratum of a host.

use hugewise_base::host::Host;
use hugewise_fleet::plan::{Plan, Trait};

/// The facts that a plan names, joined by slashes; `all` if it names none.
pub(super) fn of_host(plan: &Plan, host: &Host) -> String {
    let of = |fact: &Trait| match fact {
        Trait::Kernel => host.kernel.clone(),
        Trait::Architecture => host.arch.clone(),
        Trait::Memory => host.memory_bytes.next_power_of_two().to_string(),
    };
    let facts: Vec<String> = plan.strata.iter().map(of).collect();
    match facts.is_empty() {
        true => "all".to_owned(),
        false => facts.join("/"),
    }
}
