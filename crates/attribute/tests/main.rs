//! Attribution from a hand-made record: shares, treatments, and their description.

#[path = "../../experiment/tests/sample/mod.rs"]
mod sample;

mod live;

use expect_test::expect;
use hugewise_attribute::{
    Attribution, Effect, Listing, Refusal, SitesFile, rows, that_became_huge, whole,
};
use hugewise_experiment::run::policy::Policy;
use hugewise_experiment::run::record::Record;
use hugewise_experiment::run::site::{Identity, Site};
use hugewise_experiment::run::trial::{MappedSite, SiteMemory, Tracing, Trial};
use hugewise_text::document::Document;
use hugewise_text::{Color, Style, Verbosity, to_text};

const MIB: u64 = 1 << 20;

fn mapping(number: u32, class: u8) -> Site {
    Site::Mapping { number, class }
}

/// Three sites: one that gains 10 %, one that costs 5 %, one without effect: 256, 512 and 32 MiB.
fn sites() -> [Site; 3] {
    [mapping(1, 28), mapping(1, 29), mapping(1, 25)]
}

const EFFECTS: [f64; 3] = [-0.1, 0.05, 0.0];

fn is_huge(policy: &Policy, site: Site) -> bool {
    policy
        .settings
        .sites
        .as_ref()
        .is_some_and(|it| it.has(site))
}

fn seconds(policy: &Policy) -> f64 {
    let sites = sites();
    let own = sites
        .iter()
        .zip(EFFECTS)
        .filter(|(site, _)| is_huge(policy, **site));
    2.0 * own.map(|(_, effect)| effect).sum::<f64>().exp()
}

/// The mappings of a trial under a policy; only the second site adds huge memory.
fn mapped(policy: &Policy) -> Vec<MappedSite> {
    let site = |(site, mib): (Site, u64)| {
        let huge = is_huge(policy, site);
        let is_sparse = site == mapping(1, 29);
        let resident = if huge || !is_sparse { mib } else { 1 };
        MappedSite {
            site,
            mappings: 1,
            bytes: mib * MIB,
            chain: Vec::new(),
            name: None,
            address: None,
            at_end: Some(SiteMemory {
                mapped_bytes: mib * MIB,
                resident_bytes: resident * MIB,
                huge_bytes: if huge { mib * MIB } else { 0 },
                reach_bytes: Some(mib * MIB),
            }),
        }
    };
    sites().into_iter().zip([256, 512, 32]).map(site).collect()
}

fn traced(trial: &mut Trial, sites: Vec<MappedSite>) {
    trial.read_back.tracing = Some(Tracing {
        sites,
        ..Tracing::default()
    });
}

fn record(policies: Vec<Policy>, rounds: u32) -> Record {
    let arms = policies.into_iter().map(|policy| {
        let figures = vec![("wall_seconds", seconds(&policy))];
        (policy, figures)
    });
    let arms: Vec<_> = arms.collect();
    let mut record = sample::record(&arms, rounds);
    for trial in &mut record.trials {
        let own = arms.iter().find(|(policy, _)| policy.name == trial.policy);
        traced(trial, mapped(&own.expect("an arm").0));
    }
    record
}

fn design() -> Record {
    record(rows(Identity::Mapping, &sites()).expect("three sites"), 4)
}

fn text(document: &Document) -> String {
    let style = Style {
        width: 80,
        color: Color::Never,
        verbose: Verbosity::Normal,
    };
    to_text(document, &style)
}

#[test]
fn the_sites_are_ranked_with_their_memory() {
    let found = Attribution::of(&design()).expect("a design");
    let effects: Vec<(Site, Effect)> = found.sites.iter().map(|it| (it.site, it.effect)).collect();
    let [helps, hurts, inert] = sites();
    let expected = [
        (helps, Effect::Helps),
        (inert, Effect::NotShown),
        (hurts, Effect::Hurts),
    ];
    assert_eq!(effects, expected);
    for (site, truth) in [(0, -0.1_f64), (2, 0.05)] {
        let share = found.sites[site].share;
        assert!(
            share.low < truth.exp_m1() && truth.exp_m1() < share.high,
            "{share:?}"
        );
    }
    assert!(found.separable);
    let added: Vec<Option<i64>> = found.sites.iter().map(|it| it.added_bytes).collect();
    assert_eq!(added, [Some(0), Some(0), Some(511 * MIB as i64)]);
    assert!(
        found
            .sites
            .iter()
            .all(|it| it.failed_treatments == 0 && it.unseen == 0)
    );
}

#[test]
fn the_report_says_which_memory_earns_it() {
    let found = Attribution::of(&design()).expect("a design");
    expect![[r#"
        By wall time, huge pages help at 1-256m: −9.5 % (−9.9 % to −9.1 %); huge pages
        hurt at 1-512m: +5.0 % (+4.7 % to +5.4 %).
        Without the source: hugewise attribute --from design.jsonl --sites FILE
        then: hugewise exec --sites FILE -- COMMAND
        For the lines that map it: hugewise attribute --by site -- COMMAND

        site    wall time          interval     huge     added
        1-256m     −9.5 %  −9.9 % to −9.1 %  256 MiB         0
        1-32m     +0.01 %  −0.3 % to +0.3 %   32 MiB         0
        1-512m     +5.0 %  +4.7 % to +5.4 %  512 MiB  +511 MiB

        The shares together: −4.9 %. All sites huge against none: −4.9 % (−5.5 % to
        −4.3 %).
        the best  wall time  of the gain     huge  of all huge
        1 site       −9.5 %        100 %  256 MiB         32 %

        4 rounds of 8 rows; a run scatters by 0.4 %. A share is the mean over the runs
          in which the site is huge, less that of the others. Huge and added memory: at
          the end; ? where it was unmapped by then.
        Again: hugewise attribute --from design.jsonl
    "#]]
    .assert_eq(&text(&found.document("design.jsonl")));
}

#[test]
fn a_site_is_called_by_its_line_and_the_call_to_write_is_said() {
    let mut found = Attribution::of(&design()).expect("a design");
    for (site, place) in found
        .sites
        .iter_mut()
        .zip(["map a.c:3", "map a.c:3", "fill b.c:7"])
    {
        site.site = Site::Chain { hash: 1, class: 28 };
        site.place = Some(place.to_owned());
    }
    let said = text(&found.document("design.jsonl"));
    for line in [
        "In the source, after map a.c:3: madvise(address, length, MADV_HUGEPAGE)\n",
        "In the source, after fill b.c:7: madvise(address, length, MADV_NOHUGEPAGE)\n",
        "\nmap a.c:3 (x00000001-256m)  ",
        "\nfill b.c:7  ",
    ] {
        assert!(said.contains(line), "{line}: {said}");
    }
}

#[test]
fn memory_that_is_not_as_the_row_says_is_counted() {
    let mut record = design();
    let trial = record
        .trials
        .iter_mut()
        .find(|it| it.policy == "row 1")
        .expect("all huge");
    let tracing = trial.read_back.tracing.as_mut().expect("traced");
    tracing.sites[0].at_end = Some(SiteMemory {
        huge_bytes: 0,
        ..tracing.sites[0].at_end.expect("seen")
    });
    tracing.sites[1].at_end = None;
    let was_control = trial.role != hugewise_experiment::run::trial::Role::Arm;
    let found = Attribution::of(&record).expect("a design");
    let of = |site: Site| {
        found
            .sites
            .iter()
            .find(|it| it.site == site)
            .expect("a site")
    };
    let [first, second, _] = sites();
    // A control is not a row.
    let expected = usize::from(!was_control);
    assert_eq!(
        (of(first).failed_treatments, of(second).unseen),
        (expected, expected)
    );
}

#[test]
fn a_file_keeps_what_helps_and_comes_back() {
    let found = Attribution::of(&design()).expect("a design");
    let file = SitesFile::of(&found, 2).expect("one helps");
    let text = serde_json::to_string(&file).expect("JSON");
    assert!(
        text.starts_with(r#"{"format":"hugewise-sites 1","sites":"mapping:1-256m""#),
        "{text}"
    );
    assert_eq!(SitesFile::parse(&text), Ok(file));
    assert!(SitesFile::parse("{}").is_err());
}

#[test]
fn other_records_are_refused() {
    let error = Attribution::of(&record(whole(Identity::Mapping, &sites()).to_vec(), 4));
    assert!(error.is_err_and(|it| it.contains("not the rows of a design")));
    let mut short = design();
    short
        .trials
        .retain(|trial| trial.round == 0 || trial.policy != "row 2");
    let error = Attribution::of(&short);
    assert!(error.is_err_and(|it| it.contains("1 whole round")));
}

#[test]
fn a_site_that_does_not_recur_is_refused() {
    let mut listed = record(vec![whole(Identity::Mapping, &[])[0].clone()], 2);
    let second = listed.trials.last_mut().expect("two runs");
    let tracing = second.read_back.tracing.as_mut().expect("traced");
    tracing.sites[1].bytes = 400 * MIB;
    tracing.sites[2].bytes = 31 * MIB;
    let listing = Listing::of(listed.trials.iter());
    let [kept, changed, little] = sites();
    assert_eq!(listing.sites(), [kept, little]);
    let refused: Vec<(Site, Refusal)> = listing
        .refused
        .iter()
        .map(|(it, why)| (it.site, *why))
        .collect();
    assert_eq!(refused, [(changed, Refusal::DoesNotRecur)]);
}

#[test]
fn what_holds_most_is_listed_first_and_what_holds_nothing_is_refused() {
    let mut listed = record(vec![whole(Identity::Mapping, &[])[0].clone()], 2);
    let holding = |(number, reach): (u32, u64)| MappedSite {
        site: mapping(number, 30),
        mappings: 1,
        bytes: 1024 * MIB,
        chain: Vec::new(),
        name: None,
        address: None,
        at_end: Some(SiteMemory {
            reach_bytes: Some(reach * MIB),
            ..SiteMemory::default()
        }),
    };
    for trial in &mut listed.trials {
        let sites = [(1, 0), (2, 100), (3, 300)];
        traced(trial, sites.map(holding).to_vec());
    }
    let listing = Listing::of(listed.trials.iter());
    assert_eq!(listing.sites(), [mapping(3, 30), mapping(2, 30)]);
    let refused = listing.refused.iter().map(|(it, why)| (it.site, *why));
    assert!(refused.eq([(mapping(1, 30), Refusal::HoldsNothing)]));
    // 10 parts of 32 MiB and 4; of 16 MiB there would be 26.
    assert_eq!(listing.chunks(), Identity::chunks(32 * MIB));
}

#[test]
fn what_never_became_huge_is_left_out() {
    let mut whole_effect = record(whole(Identity::Mapping, &sites()).to_vec(), 3);
    let [helps, hurts, inert] = sites();
    assert_eq!(that_became_huge(&whole_effect, &sites()), sites());
    for trial in &mut whole_effect.trials {
        let tracing = trial.read_back.tracing.as_mut().expect("traced");
        for mapped in tracing.sites.iter_mut().filter(|it| it.site == inert) {
            let at_end = mapped.at_end.as_mut().expect("seen");
            at_end.huge_bytes = 0;
        }
    }
    let left = that_became_huge(&whole_effect, &sites());
    assert_eq!(left, [helps, hurts]);
}

/// The page shows the same as the text, and returns its record.
#[test]
fn the_page_has_the_numbers_of_the_text() {
    let found = Attribution::of(&design()).expect("a design");
    let figure = found.figure().expect("sites");
    let said = text(&found.document("record.jsonl"));
    for row in figure.table.rows.iter().skip(1) {
        for cell in row {
            assert!(said.contains(&cell.text), "{}:\n{said}", cell.text);
        }
    }
    let shown = figure.svg.matches("hollow").count();
    assert_eq!(shown, 1, "{}", figure.svg);
    let page = found.page("record.jsonl", b"a record");
    let again = hugewise_text::page::source(page.into_bytes());
    assert_eq!(again.expect("a page"), b"a record");
}
