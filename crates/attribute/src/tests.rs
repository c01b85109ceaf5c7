//! Simulated experiments with known shares and fixed seeds.

use fastrand::Rng;

use super::{Design, Groups, MOST_SITES, Shares, shares};
use hugewise_experiment::run::site::Site;

/// The true effects of simulated sites, as logarithms.
struct Truth {
    sites: Vec<f64>,
    pairs: Vec<(usize, usize, f64)>,
    triples: Vec<([usize; 3], f64)>,
}

impl Truth {
    fn sites(sites: &[f64]) -> Self {
        Self {
            sites: sites.to_vec(),
            pairs: Vec::new(),
            triples: Vec::new(),
        }
    }

    fn response(&self, row: &[bool]) -> f64 {
        let own = self.sites.iter().zip(row).filter(|(_, huge)| **huge);
        let own: f64 = own.map(|(effect, _)| effect).sum();
        let pairs = self.pairs.iter().filter(|(a, b, _)| row[*a] && row[*b]);
        let triples = self
            .triples
            .iter()
            .filter(|(of, _)| of.iter().all(|it| row[*it]));
        own + pairs.map(|it| it.2).sum::<f64>() + triples.map(|it| it.1).sum::<f64>()
    }

    /// Each site of a pair has half of their joint effect as its share.
    fn share(&self, site: usize) -> f64 {
        let of = |(a, b, _): &&(usize, usize, f64)| *a == site || *b == site;
        self.sites[site]
            + self
                .pairs
                .iter()
                .filter(of)
                .map(|it| it.2 / 2.0)
                .sum::<f64>()
    }
}

/// A normal draw (Box and Muller, 1958).
fn normal(random: &mut Rng) -> f64 {
    let radius = (-2.0 * (1.0 - random.f64()).ln()).sqrt();
    radius * (std::f64::consts::TAU * random.f64()).cos()
}

/// Noise of 3 % a run, and of 5 % a round.
fn experiment(truth: &Truth, rounds: usize, random: &mut Rng) -> Shares {
    let design = Design::new(truth.sites.len()).expect("a design");
    let mut round = || {
        let common = 0.05 * normal(random);
        let rows = design.rows().iter();
        rows.map(|row| common + truth.response(row) + 0.03 * normal(random))
            .collect()
    };
    let rounds: Vec<Vec<f64>> = (0..rounds).map(|_| round()).collect();
    shares(&design, &rounds).expect("whole rounds")
}

const EXPERIMENTS: usize = 2000;

/// The number of experiments in which a 95 % interval must hold the truth: 95 % minus three standard errors.
const MOST: usize = EXPERIMENTS * 95 / 100 - 30;
/// The number of experiments that may find an effect that does not exist: 5 % plus three standard errors.
const FEW: usize = EXPERIMENTS - MOST;

/// Counts the experiments for which `is_so` holds.
fn count(truth: &Truth, rounds: usize, seed: u64, is_so: impl Fn(&Shares) -> bool) -> usize {
    let mut random = Rng::with_seed(seed);
    let all = (0..EXPERIMENTS).map(|_| experiment(truth, rounds, &mut random));
    all.filter(is_so).count()
}

fn covers(shares: &Shares, truth: &Truth, site: usize) -> bool {
    shares.sites[site].effect.covers(truth.share(site))
}

#[test]
fn planted_shares_are_in_their_intervals() {
    let planted = Truth::sites(&[-0.08, -0.04, 0.0, 0.05, 0.0]);
    for site in 0..planted.sites.len() {
        let inside = count(&planted, 4, 11, |it| covers(it, &planted, site));
        assert!(inside >= MOST, "site {site}: {inside}");
    }
    let ranked = count(&planted, 4, 12, |it| {
        let shown: Vec<bool> = it.sites.iter().map(|it| it.is_shown()).collect();
        shown[0] && shown[1] && shown[3]
    });
    assert!(ranked >= MOST, "{ranked}");
}

#[test]
fn no_share_is_found_where_there_is_none() {
    for (sites, rounds) in [(3, 8), (7, 4), (15, 2)] {
        let found = count(&Truth::sites(&vec![0.0; sites]), rounds, 13, |it| {
            it.sites.iter().any(super::Share::is_shown)
        });
        assert!(found <= FEW, "{sites} sites: {found}");
    }
}

#[test]
fn a_pair_that_interacts_biases_no_share() {
    let planted = Truth {
        pairs: vec![(0, 1, 0.04)],
        ..Truth::sites(&[-0.08, -0.04, 0.0])
    };
    for site in 0..3 {
        let inside = count(&planted, 8, 14, |it| covers(it, &planted, site));
        assert!(inside >= MOST, "site {site}: {inside}");
        let mut random = Rng::with_seed(15);
        let all = (0..EXPERIMENTS).map(|_| experiment(&planted, 8, &mut random));
        let mean = all.map(|it| it.sites[site].effect.value).sum::<f64>() / EXPERIMENTS as f64;
        // A share has an error of 0.75 points, and so the mean of all one of 0.02.
        let error = (mean - planted.share(site)).abs();
        assert!(error < 0.0007, "site {site}: off by {error}");
    }
    let separable = count(&planted, 8, 16, Shares::is_separable);
    assert!(separable >= MOST, "{separable}");
}

#[test]
fn three_that_interact_are_not_separable() {
    let planted = Truth {
        triples: vec![([0, 1, 2], -0.2)],
        ..Truth::sites(&[0.0, 0.0, 0.0, 0.0])
    };
    let separable = count(&planted, 8, 17, Shares::is_separable);
    assert!(separable <= FEW, "{separable}");
}

#[test]
fn the_sum_is_the_whole_without_noise() {
    let truth = Truth {
        pairs: vec![(0, 2, -0.03), (1, 3, 0.02)],
        ..Truth::sites(&[-0.08, 0.01, 0.03, 0.0])
    };
    let design = Design::new(4).expect("a design");
    let round: Vec<f64> = design
        .rows()
        .iter()
        .map(|row| truth.response(row))
        .collect();
    let found = shares(&design, &[round.clone(), round]).expect("whole rounds");
    assert!((found.sum.value - found.whole.value).abs() < 1e-12);
    assert!(found.noise.abs() < 1e-12);
    for (site, share) in found.sites.iter().enumerate() {
        assert!(
            (share.effect.value - truth.share(site)).abs() < 1e-12,
            "{site}"
        );
    }
}

#[test]
fn parts_of_rounds_say_nothing() {
    let design = Design::new(3).expect("a design");
    assert_eq!(
        shares(&design, &[vec![0.0; 8]]),
        None,
        "one round shows no noise"
    );
    assert_eq!(shares(&design, &[vec![0.0; 8], vec![0.0; 7]]), None);
    assert_eq!(shares(&design, &[vec![0.0; 8], vec![f64::NAN; 8]]), None);
}

#[test]
fn an_interval_excludes_zero_where_the_effect_is_shown() {
    let planted = Truth::sites(&[-0.03, -0.02, 0.0, 0.01, 0.015, 0.0, 0.0]);
    let agree = count(&planted, 2, 18, |it| {
        let mut sites = it.sites.iter();
        sites.all(|share| share.is_shown() != share.effect.covers(0.0))
    });
    assert_eq!(agree, EXPERIMENTS);
}

/// Runs a complete screening of this number of sites, as `attribute` does; returns the sites that were shown.
fn screening(truth: &Truth, random: &mut Rng) -> Vec<usize> {
    let number = |site: &Site| match site {
        Site::Mapping { number, .. } => *number as usize - 1,
        _ => unreachable!("all are mappings"),
    };
    let all = 1..=u32::try_from(truth.sites.len()).expect("a number");
    let mut left: Vec<Site> = all
        .map(|number| Site::Mapping { number, class: 21 })
        .collect();
    while let Some(groups) = Groups::at_random(&left, random.u64(..)) {
        let factors: Vec<Vec<usize>> = groups
            .groups()
            .iter()
            .map(|sites| sites.iter().map(number).collect())
            .collect();
        left = groups.left(&measured(truth, &factors, random)).sites;
    }
    let factors: Vec<Vec<usize>> = left.iter().map(|site| vec![number(site)]).collect();
    if factors.is_empty() {
        return Vec::new();
    }
    let shares = measured(truth, &factors, random);
    let shown = shares.sites.iter().zip(&left);
    let shown = shown.filter(|(share, _)| share.is_shown());
    shown.map(|(_, site)| number(site)).collect()
}

/// Simulates at least 64 trials and two rounds of a design in which each factor is a group of sites.
fn measured(truth: &Truth, factors: &[Vec<usize>], random: &mut Rng) -> Shares {
    let design = Design::new(factors.len()).expect("a design");
    let rounds = 64_usize.div_ceil(design.rows().len()).max(2);
    let mut round = || -> Vec<f64> {
        let common = 0.05 * normal(random);
        let rows = design.rows().iter();
        rows.map(|row| {
            let mut huge = vec![false; truth.sites.len()];
            for (sites, _) in factors.iter().zip(row).filter(|(_, is)| **is) {
                sites.iter().for_each(|&site| huge[site] = true);
            }
            common + truth.response(&huge) + 0.03 * normal(random)
        })
        .collect()
    };
    let rounds: Vec<Vec<f64>> = (0..rounds).map(|_| round()).collect();
    shares(&design, &rounds).expect("whole rounds")
}

#[test]
fn a_screening_finds_nothing_where_there_is_nothing() {
    let mut random = Rng::with_seed(19);
    let nothing = Truth::sites(&[0.0; 100]);
    let found = (0..EXPERIMENTS).filter(|_| !screening(&nothing, &mut random).is_empty());
    let found = found.count();
    assert!(found <= FEW, "{found}");
}

#[test]
fn a_screening_finds_what_is_planted_among_a_hundred_and_no_more() {
    let mut random = Rng::with_seed(20);
    let mut sites = [0.0; 100];
    sites[41] = -0.05;
    let planted = Truth::sites(&sites);
    let (mut found, mut false_finds) = (0, 0);
    for _ in 0..EXPERIMENTS {
        let shown = screening(&planted, &mut random);
        found += usize::from(shown.contains(&41));
        false_finds += usize::from(shown.iter().any(|&site| site != 41));
    }
    assert!(found >= MOST, "{found}");
    assert!(false_finds <= FEW, "{false_finds}");
}

#[test]
fn a_screening_of_many_active_sites_ends() {
    let mut random = Rng::with_seed(21);
    let everywhere = Truth::sites(&[-0.05; 200]);
    let shown = screening(&everywhere, &mut random);
    assert!(!shown.is_empty() && shown.len() <= MOST_SITES, "{shown:?}");
}
