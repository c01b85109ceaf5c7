use expect_test::expect;

use super::*;
use crate::base::tlb::{Room, Tlb};
use crate::observe::forecast::UsedWhere;
use crate::observe::stat::Mode;

fn forecast(extent: Extent, fits: Fits) -> Forecast {
    let growth = |ranges, bytes_added| Growth {
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
            khugepaged_always: Err(Missing::NotSupported {
                what: "khugepaged/max_ptes_none".to_owned(),
            }),
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
                damon: Missing::NotSupported {
                    what: "DAMON".to_owned(),
                },
                idle_pages: Missing::NotPermitted {
                    grant: "a tool".to_owned(),
                },
            },
            base: need(4096, 25_600, 25_600),
            huge: need(2 << 20, 50, 512),
            tlb: Ok(Tlb {
                source: "CPUID 18h".to_owned(),
                structures: Vec::new(),
            }),
            walk_share: Err(Missing::NoHardware),
            fits,
        },
    }
}

fn text(forecast: &Forecast) -> String {
    let mut text = String::new();
    render_text(forecast, 80, &mut text).expect("text");
    text
}

#[test]
fn every_number_says_what_it_assumes() {
    let shown = text(&forecast(Extent::Used { seconds: 5.0 }, Fits::InHugePages));
    expect![[r#"
        Forecast: resident memory
          if these became huge                 ranges     adds
          every range with a page in it           700  300 MiB
          by khugepaged, as set now                 0        0
          by khugepaged, if enabled=always  not known
          every range, untouched ones too        1000  900 MiB
          Of 1200 ranges of private anonymous memory that can be huge, 200 are; 1 GiB
            lie in small pages of the others. Assumed: pages stay as they are now, and
            khugepaged's limits on absent and swapped pages alone decide (not on shared
            or unused ones).
          What khugepaged would do: not on this machine: khugepaged/max_ptes_none.

        Forecast: translations
          pages of  translations needed         TLB has
          4 KiB                  25.6 k  3072 (level 2)
          2 MiB               50 to 512  3072 (level 2)
          With huge pages all that was used fits, with small ones it does not: the case
            in which there is most to gain.
          Of 1 GiB in small pages, 100 MiB were used within 5.00 s. Which pages of a
            mapping were used is not known, so huge pages are a range: close together,
            or far apart.
          Which pages would be told by DAMON (not on this machine: DAMON) or by idle
            page tracking (not permitted; needs a tool).
          TLB by CPUID 18h; one core, shared with whatever else runs on it; neighbours
            that the processor merges into one entry are not counted.
          The share of cycles in page walks, the upper bound of any gain by cheaper
            translation: this machine has no hardware counters.
    "#]]
    .assert_eq(&shown);
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
    expect![[r#"
        A page walk was under way in 8.1 to 12.3 % of the cycles (user mode only, within 5.00 s, of the process and what it started): no page size saves more by cheaper translation."#]]
    .assert_eq(&walked(Some(0.081)));
    for alone in [None, Some(0.1234)] {
        assert!(walked(alone).contains("in at most 12.3 % of"), "{alone:?}");
    }
    assert!(walks(&Err(Missing::NotAsked)).contains("`stat -p` counts it"));
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
        let shown = text(&forecast(Extent::Resident, fits));
        assert!(
            shown.lines().all(|line| line.chars().count() <= 80),
            "{shown}"
        );
    }
}
