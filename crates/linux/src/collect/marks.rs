//! What spoils a trial. A marked trial is told, never dropped in silence.

use std::collections::BTreeMap;
use std::time::Duration;

use hugewise_model::host::{Host, ThpDisable};
use hugewise_model::observation::{Mark, ReadBack, Reading};
use hugewise_model::policy::realise::ThpPrctl;

/// Other programs may use this share of the machine's processors, in thousandths.
const OTHER_LOAD_PERMILLE: u32 = 100;
/// The hypervisor may take this share of the time away, in thousandths.
const STEAL_PERMILLE: u32 = 10;
/// Ticks of /proc/stat are 10 ms: less than this many seconds of them say nothing.
const LEAST_SECONDS: f64 = 0.05;

/// Marks from the readings; `elapsed` is the time between the two looks at the machine.
pub(super) fn hazards(
    host: &Host,
    readings: &BTreeMap<String, Reading>,
    elapsed: Duration,
) -> Vec<Mark> {
    let value = |name: &str| match readings.get(name) {
        Some(Reading::Value { value }) => Some(*value),
        _ => None,
    };
    let share = |name: &str, limit: u32| {
        let seconds = value(name).filter(|&seconds| seconds >= LEAST_SECONDS)?;
        let permille = permille(seconds / (elapsed.as_secs_f64() * f64::from(host.cpus.max(1))));
        (permille > limit).then_some(permille)
    };
    let count = |name: &str| value(name).filter(|&value| value >= 1.0).map(whole);
    let marks = [
        share("other_busy_seconds", OTHER_LOAD_PERMILLE)
            .map(|permille| Mark::OtherLoad { permille }),
        share("steal_seconds", STEAL_PERMILLE).map(|permille| Mark::Steal { permille }),
        fragmented(
            host,
            value("free_huge_pages_before_total"),
            value("peak_rss_bytes"),
        ),
        count("major_faults_total").map(|major_faults| Mark::ColdCache { major_faults }),
        count("swapped_pages_total").map(|pages| Mark::Swapped { pages }),
    ];
    marks.into_iter().flatten().collect()
}

/// The free huge pages at the beginning would not have held the program.
#[expect(clippy::cast_precision_loss, reason = "page sizes are powers of two")]
fn fragmented(host: &Host, free_huge_pages: Option<f64>, peak_rss: Option<f64>) -> Option<Mark> {
    let (free, peak, huge) = (free_huge_pages?, peak_rss?, host.pmd_bytes()? as f64);
    (free * huge < peak).then(|| Mark::Fragmented {
        free_huge_pages: whole(free),
    })
}

/// Marks where the policy did not take.
pub(super) fn not_applied(asked: ThpPrctl, read_back: &ReadBack) -> Vec<Mark> {
    let wanted = match asked {
        ThpPrctl::Leave => None,
        ThpPrctl::Clear => Some(ThpDisable::Off),
        ThpPrctl::Disable => Some(ThpDisable::Disabled),
        ThpPrctl::ExceptAdvised => Some(ThpDisable::ExceptAdvised),
    };
    let mut marks = Vec::new();
    if let (Some(wanted), Some(found)) = (wanted, read_back.thp_disable)
        && wanted != found
    {
        marks.push(Mark::NotApplied {
            detail: format!("PR_SET_THP_DISABLE should be {wanted:?} and is {found:?}"),
        });
    }
    if read_back.allocator.as_deref() == Some("") {
        marks.push(Mark::NotApplied {
            detail: "the allocator library is not in the program's mappings (a static or \
                     set-user-id program ignores LD_PRELOAD)"
                .to_owned(),
        });
    }
    marks
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a share of a machine, clamped"
)]
fn permille(share: f64) -> u32 {
    (share * 1000.0).round().clamp(0.0, 1e6) as u32
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "counts read from the kernel"
)]
fn whole(value: f64) -> u64 {
    value.max(0.0) as u64
}
