//! Whole experiments of `live --by mapping`: periods of a running process, dealt to the rows of a design.

use expect_test::expect;
use fastrand::Rng;
use hugewise_attribute::{Attribution, Effect, rows};
use hugewise_experiment::run::metric::live::LiveMetric;
use hugewise_experiment::run::plan::{Bounds, JudgeBy, Live, Plan, Work};
use hugewise_experiment::run::policy::Policy;
use hugewise_experiment::run::record::Record;
use hugewise_experiment::run::site::{Identity, Site};
use hugewise_experiment::run::trial::{MappedSite, Mark, Reading, SiteMemory};

use crate::{MIB, is_huge, mapping, sample, text};

/// Work per processor second of consecutive periods of a redis whose pages stayed small; a blank line parts two records.
const PERIODS: &str = include_str!("../../../fixtures/live/redis-small-periods.txt");
const METRIC: &str = "cpu_work_per_second";

const EXPERIMENTS: usize = 1000;
/// The number of experiments that may find an effect that does not exist: 5 % plus three standard errors.
const FEW: usize = EXPERIMENTS * 5 / 100 + 21;

fn sites(count: u32) -> Vec<Site> {
    let largest = (1..count).map(|number| mapping(number, 26));
    largest.chain([Site::Others]).collect()
}

fn plan(sites: &[Site], seed: u64) -> Plan {
    let policies = rows(Identity::Mapping, sites).expect("a design");
    let plan = sample::plan(policies);
    Plan {
        command: vec!["redis-server".to_owned()],
        seed,
        bounds: Bounds {
            warmup_rounds: 0,
            ..plan.bounds
        },
        verdict_metric: METRIC.to_owned(),
        judge_by: JudgeBy::Typical,
        live: Some(Live {
            pids: vec![4711],
            cgroup: None,
            work: Work {
                source: "redis:6379".to_owned(),
                unit: "commands".to_owned(),
            },
            latency: None,
            period_seconds: 0.5,
            settle_seconds: 0.05,
            huge_page_bytes: 2 << 20,
            blocks: 32 * sites.len() as u64,
            found_huge: 0,
            left_out: 0,
            skipped: Vec::new(),
            max_stall_seconds: 0.001,
        }),
        ..plan
    }
}

/// The memory of the sites in a period of a row.
fn switched(policy: &Policy, sites: &[Site]) -> Vec<MappedSite> {
    let one = |(index, site): (u64, &Site)| MappedSite {
        site: *site,
        mappings: if *site == Site::Others { 5 } else { 1 },
        bytes: 64 * MIB,
        chain: Vec::new(),
        name: None,
        address: (*site != Site::Others).then_some(0x7f00_0000_0000 - index * 64 * MIB),
        at_end: Some(SiteMemory {
            mapped_bytes: 64 * MIB,
            resident_bytes: 64 * MIB,
            huge_bytes: if is_huge(policy, *site) { 64 * MIB } else { 0 },
            reach_bytes: Some(64 * MIB),
        }),
    };
    (0..).zip(sites).map(one).collect()
}

/// One experiment: `noise` has the logarithm of the work of each period, in their order, and `effects` the logarithms
/// of the effects of the sites.
fn experiment(
    (sites, effects): (&[Site], &[f64]),
    rounds: u32,
    seed: u64,
    mut noise: impl FnMut() -> f64,
) -> Record {
    let plan = plan(sites, seed);
    let arms = plan.policies.iter();
    let arms: Vec<(Policy, Vec<_>)> = arms.map(|it| (it.clone(), Vec::new())).collect();
    let mut record = sample::record_of(plan, &arms, rounds);
    for trial in &mut record.trials {
        let (policy, _) = arms
            .iter()
            .find(|(it, _)| it.name == trial.policy)
            .expect("a row");
        let own = sites.iter().zip(effects);
        let own = own.filter(|(site, _)| is_huge(policy, **site));
        let log = noise() + own.map(|(_, effect)| effect).sum::<f64>();
        let work = Reading::of(500_000.0 * log.exp());
        trial.readings.insert(METRIC.to_owned(), work);
        trial.read_back.switched = switched(policy, sites);
    }
    record
}

fn shown(record: &Record) -> Vec<(Site, Effect)> {
    let found = Attribution::of(record).expect("a design");
    let sites = found.sites.iter().map(|it| (it.site, it.effect));
    sites
        .filter(|(_, effect)| *effect != Effect::NotShown)
        .collect()
}

/// The load of a server: it drifts, each period has an error of its own, and one in thirty is disturbed.
struct Load {
    random: Rng,
    drift: f64,
}

impl Load {
    fn with_seed(seed: u64) -> Self {
        Self {
            random: Rng::with_seed(seed),
            drift: 0.0,
        }
    }

    fn normal(&mut self) -> f64 {
        let radius = (-2.0 * (1.0 - self.random.f64()).ln()).sqrt();
        radius * (std::f64::consts::TAU * self.random.f64()).cos()
    }

    fn next(&mut self) -> f64 {
        self.drift = 0.9 * self.drift + 0.01 * self.normal();
        let disturbed = if self.random.u32(..30) == 0 {
            -0.1
        } else {
            0.0
        };
        self.drift + 0.015 * self.normal() + disturbed
    }
}

#[test]
fn no_mapping_is_named_where_none_matters() {
    assert_eq!(LiveMetric::CpuWorkPerSecond.name(), METRIC);
    for (count, rounds) in [(2, 7), (5, 4), (7, 4)] {
        let sites = sites(count);
        let effects = vec![0.0; sites.len()];
        let found = (0..EXPERIMENTS as u64).filter(|seed| {
            let mut load = Load::with_seed(1000 + seed);
            let record = experiment((&sites, &effects), rounds, *seed, || load.next());
            !shown(&record).is_empty()
        });
        let found = found.count();
        assert!(found <= FEW, "{count} sites: {found}");
    }
}

#[test]
fn no_mapping_is_named_in_the_noise_of_a_server() {
    let parts = PERIODS.split("\n\n").map(|part| -> Vec<f64> {
        let lines = part
            .lines()
            .filter(|it| !it.starts_with('#') && !it.is_empty());
        lines
            .map(|it| it.parse::<f64>().expect("a number").ln())
            .collect()
    });
    let parts: Vec<Vec<f64>> = parts.filter(|it| it.len() >= 18).collect();
    let sites = sites(2);
    let (rounds, periods) = (2, 18);
    let mut random = Rng::with_seed(5);
    let found = (0..EXPERIMENTS).filter(|_| {
        let part = &parts[random.usize(..parts.len())];
        let first = random.usize(..=part.len() - periods);
        let mut periods = part[first..].iter();
        let noise = || *periods.next().expect("enough periods");
        let record = experiment((&sites, &[0.0, 0.0]), rounds, random.u64(..), noise);
        !shown(&record).is_empty()
    });
    let found = found.count();
    assert!(found <= FEW, "{found}");
}

#[test]
fn the_mappings_that_matter_are_named() {
    let sites = sites(5);
    let effects = [0.0, 0.08, 0.0, -0.04, 0.0];
    let (mut both, mut others) = (0, 0);
    for seed in 0..EXPERIMENTS as u64 {
        let mut load = Load::with_seed(5000 + seed);
        let record = experiment((&sites, &effects), 5, seed, || load.next());
        let shown = shown(&record);
        let helps = shown.contains(&(sites[1], Effect::Helps));
        both += usize::from(helps && shown.contains(&(sites[3], Effect::Hurts)));
        let is_planted = |site: &Site| [sites[1], sites[3]].contains(site);
        others += usize::from(shown.iter().any(|(site, _)| !is_planted(site)));
    }
    assert!(both >= EXPERIMENTS * 9 / 10, "{both}");
    assert!(others <= FEW, "{others}");
}

/// Five rounds with little noise: one mapping helps.
fn clear() -> Record {
    let mut random = Rng::with_seed(3);
    let noise = || 0.004 * (random.f64() - 0.5);
    experiment((&sites(3), &[0.1, 0.0, 0.0]), 5, 3, noise)
}

#[test]
fn the_report_names_the_mapping_and_its_address() {
    let found = Attribution::of(&clear()).expect("a design");
    assert_eq!(found.pids, [4711]);
    assert!(found.sites.iter().all(|it| it.added_bytes.is_none()));
    expect![[r#"
        By commands per CPU second, huge pages help at 1-64m: +10.6 % (+10.5 % to
        +10.7 %).
        Now: hugewise collapse 4711 --mapping 0x7f0000000000
        For the lines that map it: hugewise attribute --by site -- COMMAND

        site    commands per CPU second            interval    huge         address
        1-64m                   +10.6 %  +10.5 % to +10.7 %  64 MiB  0x7f0000000000
        2-64m                   +0.02 %   −0.04 % to +0.1 %  64 MiB  0x7efffc000000
        others                  −0.04 %   −0.1 % to +0.03 %  64 MiB

        The shares together: +10.6 %. All sites huge against none: +10.6 % (+10.5 % to
        +10.7 %).
        the best  commands per CPU second  of the gain    huge  of all huge
        1 site                    +10.6 %        100 %  64 MiB         33 %

        5 rounds of 8 rows; a period scatters by 0.1 %. A share is the mean over the
          periods in which the site is huge, less that of the others. Huge memory: at
          the end of a period.
        Again: hugewise report live.jsonl
    "#]]
    .assert_eq(&text(&found.document("live.jsonl")));
    let page = found.page("live.jsonl", b"{}");
    assert!(page.contains("hugewise report FILE"), "{page}");
}

#[test]
fn memory_that_is_left_out_is_said() {
    let mut record = clear();
    let live = record.header.plan.live.as_mut().expect("a process");
    live.left_out = 50;
    let found = Attribution::of(&record).expect("a design");
    assert_eq!(found.left_out_bytes, Some(100 * MIB));
    let said = text(&found.document("live.jsonl"));
    assert!(said.contains("100 MiB were left out"), "{said}");
}

#[test]
fn pages_that_do_not_hold_are_counted() {
    let mut record = clear();
    let small = mapping(2, 26);
    let plan = &record.header.plan;
    let is_small = |name: &str| {
        let mut policies = plan.policies.iter();
        policies.any(|it| it.name == name && !is_huge(it, small))
    };
    let rows: Vec<bool> = record
        .trials
        .iter()
        .map(|it| is_small(&it.policy))
        .collect();
    let row = rows.iter().position(|it| *it).expect("a row");
    let trial = &mut record.trials[row];
    for site in &mut trial.read_back.switched {
        if let (true, Some(memory)) = (site.site == small, &mut site.at_end) {
            memory.huge_bytes = 8 * MIB;
        }
    }
    trial.marks.push(Mark::NotApplied {
        detail: "12 % of the memory was huge".to_owned(),
    });
    let found = Attribution::of(&record).expect("a design");
    let failed = |site: Site| {
        let found = found.sites.iter().find(|it| it.site == site);
        found.map(|it| it.failed_treatments)
    };
    assert_eq!([failed(small), failed(mapping(1, 26))], [Some(1), Some(0)]);
    let said = text(&found.document("live.jsonl"));
    assert!(
        said.contains("In up to 1 period the memory of 2-64m"),
        "{said}"
    );
}
