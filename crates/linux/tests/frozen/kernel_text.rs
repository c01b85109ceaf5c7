//! Every parser of kernel text that accepts arbitrary bytes. The fuzzer uses the same list.

use hugewise_linux::machine::{lock, number};
use hugewise_linux::observe::{address_space, memory_trace};
use hugewise_linux::perf::events::processor;
use hugewise_linux::proc::{
    buddyinfo, cpuinfo, kallsyms, loadavg, meminfo, mounts, pid_stat, smaps_rollup, stat, statm,
    status, tree, vmstat,
};
use hugewise_linux::sys::{cache, cgroup, cpu, thp, tunables};
use hugewise_linux::{bpf, probe, tracepoint};

fn of_processes(bytes: &[u8]) {
    let _ = cgroup::parse_membership(bytes);
    let _ = memory_trace::parse_line(bytes);
    let _ = lock::parse_holder(bytes, (254, 0), 1);
    let _ = probe::libraries::parse_glibc_banner(bytes);
    let _ = pid_stat::parse_pid_stat(bytes);
    let _ = smaps_rollup::parse_smaps_rollup(bytes);
    let _ = address_space::parse_mappings(bytes);
    let _ = statm::parse_resident(bytes);
    let _ = status::parse_status(bytes);
    let _ = tree::parse_children(bytes);
}

fn of_the_machine(bytes: &[u8]) {
    let _ = bpf::types::parse_types(bytes.to_vec());
    let _ = buddyinfo::parse_buddyinfo(bytes);
    let _ = cache::parse_size(bytes);
    let _ = cpu::parse_list(bytes);
    let _ = cpu::parse_members(bytes);
    let _ = cpuinfo::parse_cpuinfo(bytes);
    let _ = kallsyms::parse_kallsyms(bytes);
    let _ = loadavg::parse_loadavg(bytes);
    let _ = meminfo::parse_meminfo(bytes);
    let _ = mounts::parse_mounts(bytes);
    let _ = number::parse(bytes);
    let _ = processor::parse_processors(bytes);
    let _ = stat::parse_stat(bytes);
    let _ = thp::parse_choice(bytes);
    let _ = tracepoint::parse_format(bytes);
    let _ = tunables::parse_cache(bytes);
    let _ = vmstat::parse_vmstat(bytes);
}

/// Passes the bytes to each parser: the result is a value or an error, never a panic.
pub fn parse(bytes: &[u8]) {
    of_processes(bytes);
    of_the_machine(bytes);
}
