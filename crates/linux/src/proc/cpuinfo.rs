//! `/proc/cpuinfo`, whose fields depend on the architecture (arch/*/kernel/cpu/proc.c and similar files).

use crate::machine::error::Result;
use crate::machine::root::Root;

/// Processor facts from `/proc/cpuinfo`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CpuInfo {
    /// Model of the first processor: `model name` (x86), `CPU implementer` and `CPU part` (arm64), `cpu` (powerpc),
    /// `uarch` (riscv); empty if none of these is present.
    pub model: String,
    /// Number of processors listed.
    pub processors: u32,
    /// True if x86 feature flags are listed.
    pub has_flags: bool,
    /// True if the flags include `hypervisor`: the machine is a guest.
    pub hypervisor_flag: bool,
}

/// Parses the file; unknown lines are ignored.
#[must_use]
pub fn parse_cpuinfo(content: &[u8]) -> CpuInfo {
    let text = String::from_utf8_lossy(content);
    let mut info = CpuInfo::default();
    let (mut implementer, mut part) = (None, None);
    for (key, value) in text.lines().filter_map(|line| line.split_once(':')) {
        let value = value.trim();
        match key.trim() {
            "processor" => info.processors = info.processors.saturating_add(1),
            "model name" | "cpu" | "uarch" if info.model.is_empty() => {
                value.clone_into(&mut info.model);
            }
            "CPU implementer" => implementer = implementer.or(Some(value)),
            "CPU part" => part = part.or(Some(value)),
            "flags" => {
                info.has_flags = true;
                info.hypervisor_flag |= value.split(' ').any(|flag| flag == "hypervisor");
            }
            _ => {}
        }
    }
    if let (Some(implementer), Some(part), true) = (implementer, part, info.model.is_empty()) {
        info.model = format!("implementer {implementer} part {part}");
    }
    info
}

/// Reads the file.
///
/// # Errors
/// It could not be read.
pub fn read_cpuinfo(root: &Root) -> Result<CpuInfo> {
    Ok(parse_cpuinfo(&root.read("proc/cpuinfo")?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn x86_names_its_model_and_flags() {
        let info = parse_cpuinfo(
            b"processor\t: 0\nmodel name\t: AMD EPYC\nflags\t\t: fpu hypervisor\n\
              processor\t: 1\nmodel name\t: AMD EPYC\nflags\t\t: fpu hypervisor\n",
        );
        assert_eq!(info.model, "AMD EPYC");
        assert_eq!(info.processors, 2);
        assert!(info.has_flags && info.hypervisor_flag);
    }

    #[test]
    fn arm64_names_implementer_and_part() {
        let info = parse_cpuinfo(b"processor : 0\nCPU implementer : 0x41\nCPU part : 0xd0c\n");
        assert_eq!(info.model, "implementer 0x41 part 0xd0c");
        assert!(!info.has_flags);
    }
}
