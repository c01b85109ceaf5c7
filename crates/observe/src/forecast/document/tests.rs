use expect_test::expect;

use super::*;
use crate::forecast::UsedWhere;
use crate::stat::Mode;
use hugewise_base::tlb::{Room, Tlb};
use hugewise_text::document::Document;
use hugewise_text::{Style, Verbosity, to_text};

fn forecast(extent: Extent, fits: Fits) -> Forecast {
    let growth = |ranges, bytes_added| MemoryGrowth {
        ranges,
        bytes_added,
    };
    let need = |page_bytes, least, most| Need {
        page_bytes,
        least,
        most,
        room: Some(Room {
            level: 2,
            entries: 3072,
        }),
    };
    Forecast {
        bloat: Bloat {
            eligible_ranges: 1200,
            huge_ranges: 200,
            small_bytes: 1 << 30,
            populated: growth(700, 300 << 20),
            khugepaged_now: Ok(growth(0, 0)),
            khugepaged_always: Err(Missing::not_supported("khugepaged/max_ptes_none")),
            worst: growth(1000, 900 << 20),
        },
        worth: Worth {
            extent,
            small_bytes: 1 << 30,
            hot_bytes: match extent {
                Extent::Used { .. } => Ok(100 << 20),
                Extent::Resident => Err(Missing::NotAsked),
            },
            used_where: UsedWhere {
                damon: Missing::not_supported("DAMON"),
                idle_pages: Missing::not_permitted("a tool"),
            },
            base: need(4096, 25_600, 25_600),
            huge: need(2 << 20, 50, 512),
            tlb: Ok(Tlb {
                source: "CPUID 18h".to_owned(),
                structures: Vec::new(),
            }),
            walk_share: Err(Missing::NoHardware),
            processor: None,
            fits,
        },
    }
}

fn text(forecast: &Forecast, verbose: Verbosity) -> String {
    let style = Style {
        verbose,
        ..Style::default()
    };
    to_text(&Document::new(forecast.sections()), &style)
}

#[test]
fn every_number_says_what_it_assumes() {
    let shown = text(
        &forecast(Extent::Used { seconds: 5.0 }, Fits::InHugePages),
        Verbosity::Verbose,
    );
    expect![[r#"
        Forecast: TLB reach
        With huge pages the TLB covers all memory in use; with small ones it does not:
        huge pages have the most to gain here.
        page size  TLB entries needed         TLB has
            4 KiB              25,600  3072 (level 2)
            2 MiB           50 to 512  3072 (level 2)
        100 MiB of 1 GiB in small pages were used within 5.00 s. Which pages of a
          mapping is unknown, so the need for huge pages is a range: used pages close
          together, or far apart.
        DAMON (not on this machine: DAMON) or idle page tracking (not permitted; needs a
          tool) would show which pages are in use.
        TLB by CPUID 18h: of one core, shared with all that runs on it; entries that the
          processor merges are not counted.
        Cycles in page walks, the upper bound of any gain by cheaper translation: this
          machine has no hardware counters.

        Forecast: resident memory
        if huge                              ranges     adds
        all populated ranges                    700  300 MiB
        by khugepaged, as set now                 0        0
        by khugepaged, with enabled=always  unknown
        all ranges, untouched ones too         1000  900 MiB
        200 of 1200 eligible ranges of private anonymous memory are huge; the others
          hold 1 GiB in small pages. Assumed: pages stay as they are, and khugepaged's
          limits on absent and swapped pages alone decide (not those on shared or unused
          pages).
        khugepaged's limits: not on this machine: khugepaged/max_ptes_none.
    "#]]
    .assert_eq(&shown);
}

#[test]
fn a_process_that_sleeps_has_nothing_to_gain() {
    let mut forecast = forecast(Extent::Resident, Fits::InHugePages);
    let mut answer = |used_seconds| {
        forecast.worth.processor = Some(ProcessorTime {
            used_seconds,
            seconds: 0.5,
        });
        conclusion(&forecast.worth)
    };
    expect!["With huge pages the TLB covers all memory that is small now; with small ones it does not. The process used 0.4 % of a processor in 500 ms, so there was nothing to gain."]
    .assert_eq(&answer(0.002));
    assert!(answer(0.4).ends_with("huge pages have the most to gain here."));
}

#[test]
fn the_bound_of_any_gain_says_what_it_is_of() {
    let walked = |at_least| {
        walks(&Ok(WalkShare {
            at_most: 0.1234,
            at_least,
            mode: Mode::User,
            seconds: 5.0,
            counts: Vec::new(),
        }))
    };
    expect!["Cycles in page walks, the upper bound of any gain by cheaper translation: 8.1 to 12.3 % (user mode only, 5.00 s, the process and its children)."]
    .assert_eq(&walked(Some(0.081)));
    for alone in [None, Some(0.1234)] {
        assert!(walked(alone).contains("at most 12.3 % ("), "{alone:?}");
    }
    assert!(walks(&Err(Missing::NotAsked)).contains("or stat -p"));
}

#[test]
fn it_fits_eighty_columns_whatever_follows() {
    let all = [
        Fits::AlreadyInBasePages,
        Fits::InHugePages,
        Fits::InNeither,
        Fits::CannotTell,
        Fits::NotKnown,
    ];
    for fits in all {
        let shown = text(&forecast(Extent::Resident, fits), Verbosity::Verbose);
        assert!(
            shown.lines().all(|line| line.chars().count() <= 80),
            "{shown}"
        );
        let first = text(&forecast(Extent::Resident, fits), Verbosity::Normal);
        assert!(first.lines().count() <= 14, "{first}");
    }
}
