//! The first line of `/proc/stat`: how much of the time since boot was stolen
//! (Documentation/filesystems/proc.rst, 1.7).

use crate::root::Root;

/// `user nice system idle iowait irq softirq steal`; guest time is already in `user`.
const FIELDS: usize = 8;

/// The stolen share, 0 to 1; `None` where the kernel does not count it.
pub(super) fn read_steal_share(root: &Root) -> Option<f64> {
    parse_steal_share(&root.read("proc/stat").ok()?)
}

fn parse_steal_share(content: &[u8]) -> Option<f64> {
    let text = String::from_utf8_lossy(content);
    let line = text.lines().find_map(|line| line.strip_prefix("cpu "))?;
    let ticks: Vec<u64> = line
        .split_ascii_whitespace()
        .take(FIELDS)
        .map_while(|word| word.parse().ok())
        .collect();
    let steal = *ticks.get(FIELDS - 1)?;
    let all = ticks
        .iter()
        .fold(0_u64, |sum, &part| sum.saturating_add(part));
    #[expect(clippy::cast_precision_loss, reason = "a share; 53 bits are enough")]
    (all > 0).then(|| steal as f64 / all as f64)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn the_eighth_field_is_stolen() {
        assert_eq!(
            parse_steal_share(b"cpu  40 0 0 50 0 0 0 10 99 99\n"),
            Some(0.1)
        );
        assert_eq!(parse_steal_share(b"cpu  1 2 3 4\n"), None);
        assert_eq!(parse_steal_share(b"cpu  0 0 0 0 0 0 0 0\n"), None);
    }

    proptest! {
        #[test]
        fn it_is_a_share_or_nothing(bytes: Vec<u8>, ticks: [u64; 8]) {
            let _ = parse_steal_share(&bytes);
            let words = ticks.map(|tick| tick.to_string()).join(" ");
            if let Some(share) = parse_steal_share(format!("cpu  {words}").as_bytes()) {
                prop_assert!((0.0..=1.0).contains(&share));
            }
        }
    }
}
