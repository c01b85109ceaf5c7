//! Balloons: devices with which a hypervisor takes memory back from its guest.
//!
//! A guest with free page reporting (mm/page_reporting.c, Linux 5.7) reports free blocks to the hypervisor about two
//! seconds after they were freed. The hypervisor takes them back, and must allocate memory again at the next touch.

use hugewise_base::host::Balloon;

use crate::machine::number;
use crate::machine::root::Root;
use crate::proc::buddyinfo::read_buddyinfo;

/// The smallest order of reported blocks (Linux 5.14).
const ORDER: &str = "sys/module/page_reporting/parameters/page_reporting_order";
const DEVICES: &str = "sys/bus/virtio/devices";
/// In the `uevent` of a device bound to the driver.
const DRIVEN: &str = "DRIVER=virtio_balloon";
/// `VIRTIO_BALLOON_F_REPORTING`: both sides agreed on free page reporting.
const REPORTING: usize = 5;
/// The largest order of free blocks with base pages of 4 KiB (`MAX_PAGE_ORDER`).
const USUAL_LARGEST: u64 = 10;

/// Reads whether there is a balloon. `block_bytes` is the default if the kernel does not show the size of reported
/// blocks: a huge page.
#[must_use]
pub fn read_balloon(root: &Root, page_bytes: u64, block_bytes: u64) -> Option<Balloon> {
    let order = number::read(root, ORDER).ok();
    let features = read_features(root);
    let reports = features.as_deref().map(is_reporting);
    let reported = match (reports, order) {
        (Some(false), _) | (None, None) => None,
        // Reporting is disabled by an order larger than the largest block.
        (_, Some(order)) => (order <= largest_order(root)).then(|| page_bytes << order),
        (Some(true), None) => Some(block_bytes),
    };
    if features.is_none() && reported.is_none() {
        return None;
    }
    let driver = match features {
        Some(_) => "virtio_balloon",
        None => "unknown",
    };
    Some(Balloon {
        driver: driver.to_owned(),
        reported_block_bytes: reported,
    })
}

fn largest_order(root: &Root) -> u64 {
    match read_buddyinfo(root) {
        Ok(blocks) if !blocks.is_empty() => blocks.len() as u64 - 1,
        _ => USUAL_LARGEST,
    }
}

/// Reads the features negotiated by a balloon and its driver.
fn read_features(root: &Root) -> Option<String> {
    let names = root.list(DEVICES).ok()?;
    names.iter().find_map(|name| {
        let folder = format!("{DEVICES}/{name}");
        let event = root.read_trimmed(format!("{folder}/uevent")).ok()?;
        let features = || root.read_trimmed(format!("{folder}/features")).ok();
        event.lines().any(|line| line == DRIVEN).then(features)?
    })
}

/// One digit for each feature, starting with feature 0.
fn is_reporting(features: &str) -> bool {
    features.as_bytes().get(REPORTING) == Some(&b'1')
}

#[cfg(test)]
mod tests {
    use super::*;

    fn machine(files: &[(&str, &str)]) -> (tempfile::TempDir, Root) {
        let folder = tempfile::tempdir().unwrap();
        for (path, content) in files {
            let file = folder.path().join(path);
            std::fs::create_dir_all(file.parent().unwrap()).unwrap();
            std::fs::write(file, content).unwrap();
        }
        let root = Root::at(folder.path());
        (folder, root)
    }

    const DEVICE: (&str, &str) = (
        "sys/bus/virtio/devices/virtio0/uevent",
        "DRIVER=virtio_balloon\nMODALIAS=virtio:d00000005v554D4551\n",
    );
    const IDLE: (&str, &str) = (DEVICE.0, "MODALIAS=virtio:d00000005v554D4551\n");
    const FEATURES: &str = "sys/bus/virtio/devices/virtio0/features";

    fn reported(files: &[(&str, &str)]) -> Option<Option<u64>> {
        let (_folder, root) = machine(files);
        let balloon = read_balloon(&root, 4096, 2 << 20)?;
        Some(balloon.reported_block_bytes)
    }

    #[test]
    fn a_balloon_reports_if_both_sides_agreed() {
        let (yes, no) = ((FEATURES, "011001000\n"), (FEATURES, "011000000\n"));
        assert_eq!(
            reported(&[DEVICE, (ORDER, "9\n"), yes]),
            Some(Some(2 << 20))
        );
        assert_eq!(
            reported(&[DEVICE, (ORDER, "10\n"), yes]),
            Some(Some(4 << 20))
        );
        assert_eq!(reported(&[DEVICE, (ORDER, "11\n"), yes]), Some(None));
        assert_eq!(reported(&[DEVICE, yes]), Some(Some(2 << 20)));
        assert_eq!(reported(&[DEVICE, (ORDER, "9\n"), no]), Some(None));
        assert_eq!(reported(&[DEVICE, (FEATURES, "")]), Some(None));
    }

    #[test]
    fn another_driver_may_report() {
        assert_eq!(reported(&[(ORDER, "9\n")]), Some(Some(2 << 20)));
        assert_eq!(reported(&[(ORDER, "4294967295\n")]), None);
        assert_eq!(reported(&[IDLE, (FEATURES, "011001000\n")]), None);
        assert_eq!(reported(&[]), None);
    }
}
