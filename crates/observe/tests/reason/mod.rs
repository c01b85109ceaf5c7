//! Reasons on constructed address spaces: one case for each code, and the results with fewer privileges.

#![expect(clippy::unwrap_used, reason = "a panic is a test that fails")]

mod any;
mod cases;
mod doubt;
mod planted;
mod shape;
mod waste;

use std::collections::BTreeSet;

use cases::cases;
use hugewise_observe::address_space::Permissions;
use hugewise_observe::inspect::reasons::{Certainty, Code, Wording, judge};
use hugewise_observe::inspect::view::Inspection;
use planted::{changed, single};

#[test]
fn every_reason_is_found_where_it_is_planted() {
    for (code, planted) in cases() {
        let judgements = judge(&planted.space, &planted.settings, &Wording::All);
        let of_it = judgements.iter().find(|one| one.code == code);
        let Some(found) = of_it else {
            panic!("{code} was planted, and found was {judgements:#?}");
        };
        assert!(!found.evidence.is_empty(), "{code} has no evidence");
        for sentence in &found.evidence {
            assert!(!sentence.trim().is_empty(), "{code}: {found:?}");
        }
        assert_eq!(
            found.certainty == Certainty::Unknown,
            code == Code::Unknown,
            "{code}"
        );
        if let Certainty::OneOf(codes) = &found.certainty {
            assert_eq!(codes.first(), Some(&code), "the reason given is the first");
        }
    }
}

/// Reasons that no range shows directly: they are reported with another reason, or never.
#[test]
fn every_reason_is_planted_or_told_beside_another() {
    let mut told: BTreeSet<Code> = cases().into_iter().map(|(code, _)| code).collect();
    let sparse = changed(single(9), |it| {
        it.settings.numa_nodes = 2;
        it.settings.arch = "aarch64".to_owned();
        it.mapping().runs[0].pages.zero = Some(3);
        for event in [
            "thp_fault_fallback",
            "thp_split_page",
            "thp_underused_split_page",
        ] {
            it.event(event);
        }
    });
    let mut read_only = changed(single(512), |it| {
        it.settings.khugepaged_wants_writable = Some(true);
    });
    read_only.mapping().permissions = Permissions(*b"r--p");
    let unregistered = changed(single(512), |it| {
        it.thp().enabled = "always".to_owned();
        it.flags(&["rd", "wr"]);
    });
    let off = changed(single(512), |it| it.settings.khugepaged_runs = Some(false));
    let limits = changed(single(12), |it| {
        it.thp().khugepaged.insert("max_ptes_none".to_owned(), 409);
    });
    for planted in [&sparse, &read_only, &unregistered, &off, &limits] {
        let one = planted.only();
        let still = one.still.map(|still| still.certainty);
        for certainty in [Some(one.certainty), still].into_iter().flatten() {
            if let Certainty::OneOf(codes) = certainty {
                told.extend(codes);
            }
        }
    }
    for (planted, code) in [
        (off, Code::KhpOff),
        (limits, Code::KhpLimits),
        (read_only, Code::ReadonlyAnon),
    ] {
        let still = planted.only().still.unwrap();
        assert_eq!((still.code, still.certainty), (code, Certainty::Proved));
        told.insert(code);
    }
    let silent: Vec<Code> = Code::all().filter(|code| !told.contains(code)).collect();
    assert_eq!(silent, [Code::NotMapped, Code::Host4K]);
}

#[test]
fn a_summary_adds_up() {
    for (code, planted) in cases() {
        let inspection = Inspection::of(planted.space, planted.settings);
        let of_ranges: u64 = inspection.summary.reasons.iter().map(|one| one.bytes).sum();
        assert_eq!(of_ranges, inspection.summary.mapped, "{code}");
    }
}
