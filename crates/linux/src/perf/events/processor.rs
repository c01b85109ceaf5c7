//! Identification of a processor, as the event tables use it.

use crate::machine::error::Result;
use crate::machine::root::Root;

/// A processor, as numbered by its vendor.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Processor {
    /// x86: `vendor_id`, `cpu family`, `model`.
    X86 {
        /// `GenuineIntel`, `AuthenticAMD`.
        vendor: String,
        /// Family.
        family: u32,
        /// Model within the family.
        model: u32,
    },
    /// Arm: `CPU implementer` and `CPU part`, fields of the register MIDR.
    Arm {
        /// Implementer; 0x41 is Arm.
        implementer: u32,
        /// Part number.
        part: u32,
    },
    /// Another processor, or one without numbers.
    Other,
}

/// Parses the processors in `/proc/cpuinfo` (arch/x86/kernel/cpu/proc.c, arch/arm64/kernel/cpuinfo.c), with their
/// numbers. Unknown processors are [`Processor::Other`].
#[must_use]
pub fn parse_processors(content: &[u8]) -> Vec<(u32, Processor)> {
    let text = String::from_utf8_lossy(content);
    let mut found = Vec::new();
    for block in text.split("processor\t").skip(1) {
        let block = format!("processor\t{block}");
        let field = |wanted: &str| {
            let mut lines = block.lines().filter_map(|line| line.split_once(':'));
            lines.find_map(|(key, value)| (key.trim() == wanted).then(|| value.trim().to_owned()))
        };
        let Some(number) = field("processor").and_then(|text| text.parse().ok()) else {
            continue;
        };
        let decimal = |wanted| field(wanted)?.parse().ok();
        let hex = |wanted| {
            let text = field(wanted)?;
            u32::from_str_radix(text.trim_start_matches("0x"), 16).ok()
        };
        let x86 = || {
            Some(Processor::X86 {
                vendor: field("vendor_id")?,
                family: decimal("cpu family")?,
                model: decimal("model")?,
            })
        };
        let arm = || {
            Some(Processor::Arm {
                implementer: hex("CPU implementer")?,
                part: hex("CPU part")?,
            })
        };
        found.push((number, x86().or_else(arm).unwrap_or(Processor::Other)));
    }
    found
}

/// Reads the processors of the machine.
///
/// # Errors
/// The file could not be read.
pub fn read_processors(root: &Root) -> Result<Vec<(u32, Processor)>> {
    Ok(parse_processors(&root.read("proc/cpuinfo")?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_architectures() {
        let x86 = b"processor\t: 0\nvendor_id\t: AuthenticAMD\ncpu family\t: 25\nmodel\t\t: 17\n\
            model name\t: AMD EPYC\n\nprocessor\t: 1\nvendor_id\t: AuthenticAMD\n\
            cpu family\t: 25\nmodel\t\t: 17\n";
        let zen4 = Processor::X86 {
            vendor: "AuthenticAMD".to_owned(),
            family: 25,
            model: 17,
        };
        assert_eq!(parse_processors(x86), [(0, zen4.clone()), (1, zen4)]);
        let arm = b"processor\t: 0\nCPU implementer\t: 0x41\nCPU part\t: 0xd0c\n";
        let n1 = Processor::Arm {
            implementer: 0x41,
            part: 0xd0c,
        };
        assert_eq!(parse_processors(arm), [(0, n1)]);
        assert_eq!(
            parse_processors(b"processor\t: 3\n"),
            [(3, Processor::Other)]
        );
        assert_eq!(parse_processors(b"nonsense"), []);
    }
}
