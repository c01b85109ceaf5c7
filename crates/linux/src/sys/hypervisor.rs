//! Detects the hypervisor of the machine, from firmware names and CPUID.

use crate::machine::root::Root;
use crate::proc::cpuinfo::CpuInfo;

/// Firmware names of virtual machines: part of a DMI or ACPI text, and the name.
const FIRMWARE: &[(&str, &str)] = &[
    ("Firecracker", "Firecracker"),
    ("Cloud Hypervisor", "Cloud Hypervisor"),
    ("Amazon EC2", "Amazon EC2"),
    ("Google Compute Engine", "Google Compute Engine"),
    ("VMware", "VMware"),
    ("VirtualBox", "VirtualBox"),
    ("innotek", "VirtualBox"),
    ("Microsoft Corporation Virtual Machine", "Hyper-V"),
    ("Parallels", "Parallels"),
    ("BHYVE", "bhyve"),
    ("Xen", "Xen"),
    ("QEMU", "QEMU"),
    ("BOCHS", "QEMU"),
    ("KVM", "KVM"),
];

/// Signatures of CPUID leaf 0x4000_0000.
const SIGNATURES: &[(&str, &str)] = &[
    ("KVMKVMKVM", "KVM"),
    ("TCGTCGTCGTCG", "QEMU"),
    ("VMwareVMware", "VMware"),
    ("Microsoft Hv", "Hyper-V"),
    ("XenVMMXenVMM", "Xen"),
    ("bhyve bhyve ", "bhyve"),
];

/// Returns the name of the hypervisor; `None` on bare metal.
///
/// Firmware texts come first because they name the product; the processor's signature names only the technology. A
/// metal instance of a cloud has the cloud's firmware too. So firmware counts only if the processor (its `hypervisor`
/// flag or signature) indicates a guest, or, on architectures without that flag, if the product is not named `….metal`.
#[must_use]
pub fn read_hypervisor(root: &Root, cpu: &CpuInfo, signature: Option<&str>) -> Option<String> {
    let guest = cpu.hypervisor_flag || signature.is_some();
    if !guest && cpu.has_flags {
        return read_xen(root);
    }
    let firmware = read_firmware(root);
    if !guest && firmware.contains(".metal") {
        return None;
    }
    let from_firmware = lookup(FIRMWARE, &firmware);
    let from_signature = signature.and_then(|text| lookup(SIGNATURES, text));
    from_firmware
        .or_else(|| read_xen(root))
        .or(from_signature)
        .or_else(|| guest.then(|| "unknown hypervisor".to_owned()))
}

fn lookup(table: &[(&str, &str)], text: &str) -> Option<String> {
    let found = table.iter().find(|(part, _)| text.contains(part))?;
    Some(found.1.to_owned())
}

/// Returns the DMI and device tree texts, in one line. All users can read both, so they all see the same name; only
/// root can read an ACPI table, which also names the product.
fn read_firmware(root: &Root) -> String {
    let sources = [
        "sys/class/dmi/id/sys_vendor",
        "sys/class/dmi/id/product_name",
        "proc/device-tree/hypervisor/compatible",
        "sys/firmware/devicetree/base/hypervisor/compatible",
    ];
    let text = sources
        .iter()
        .filter_map(|path| root.read_trimmed(path).ok())
        .collect::<Vec<_>>()
        .join(" ");
    // The device tree names the technology, in the lower case of its bindings.
    text.replace("linux,kvm", "KVM").replace("xen,xen", "Xen")
}

fn read_xen(root: &Root) -> Option<String> {
    let kind = root.read_trimmed("sys/hypervisor/type").ok()?;
    (kind == "xen").then(|| "Xen".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn guest() -> CpuInfo {
        CpuInfo {
            hypervisor_flag: true,
            has_flags: true,
            ..CpuInfo::default()
        }
    }

    fn root_with(path: &str, content: &[u8]) -> (tempfile::TempDir, Root) {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join(path);
        std::fs::create_dir_all(file.parent().unwrap()).unwrap();
        std::fs::write(file, content).unwrap();
        let root = Root::at(folder.path());
        (folder, root)
    }

    #[test]
    fn the_product_wins_over_the_technique() {
        let (_folder, root) = root_with("sys/class/dmi/id/sys_vendor", b"Amazon EC2\n");
        let name = read_hypervisor(&root, &guest(), Some("KVMKVMKVM"));
        assert_eq!(name.as_deref(), Some("Amazon EC2"));
    }

    #[test]
    fn a_metal_instance_is_no_guest() {
        let (_folder, root) = root_with("sys/class/dmi/id/sys_vendor", b"Amazon EC2\n");
        let metal = CpuInfo {
            has_flags: true,
            ..CpuInfo::default()
        };
        assert_eq!(read_hypervisor(&root, &metal, None), None);
        assert!(read_hypervisor(&root, &guest(), None).is_some());
    }

    #[test]
    fn a_guest_of_nobody_known_is_still_a_guest() {
        let (_folder, root) = root_with("proc/nothing", b"");
        let name = read_hypervisor(&root, &guest(), Some("NobodyKnows "));
        assert_eq!(name.as_deref(), Some("unknown hypervisor"));
    }
}
