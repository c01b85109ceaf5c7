use super::*;
use crate::run::trial::timeline::{Held, LONG_NS, Second, Slowest, Timeline, Unrelated};
use crate::run::trial::{Timed, Times};

pub(super) const SECOND: u64 = 1_000_000_000;
/// The offset between 1970 and the start of the monotonic clock in these tests.
pub(super) const OFFSET: u64 = 1_789_000_000 * SECOND;
/// How long the trials of these tests last.
const LENGTH: u64 = 20 * SECOND;

fn timed(begin: u64, took_ns: u64) -> Timed {
    Timed {
        ended_unix_ns: OFFSET + begin + took_ns,
        took_ns,
    }
}

/// A trial that begins at second 100 of the monotonic clock.
pub(super) fn seen(stalls: &[(u64, u64)]) -> TrialSeconds {
    let began_ns = 100 * SECOND;
    let mut seen = TrialSeconds {
        began_ns,
        clock: Clock {
            first: (began_ns, OFFSET),
            last: (began_ns + LENGTH, OFFSET),
        },
        ..TrialSeconds::default()
    };
    seen.timeline.seconds = (1..=20)
        .map(|number| Second {
            to_seconds: f64::from(number),
            ..Second::default()
        })
        .collect();
    seen.add_stalls("direct_compaction_seconds", stalls.iter().copied());
    seen
}

fn held_of(timeline: &Timeline) -> &Held {
    match &timeline.slowest {
        Slowest::Held(held) => held,
        Slowest::CannotTell(why) => panic!("{why}"),
    }
}

pub(super) fn why_not(timeline: &Timeline) -> &Unrelated {
    match &timeline.slowest {
        Slowest::Held(held) => panic!("{held:?}"),
        Slowest::CannotTell(why) => why,
    }
}

/// Requests one after another, each of some microseconds, a few much longer; and stalls that come in clusters. The two
/// are independent.
fn unrelated(random: &mut fastrand::Rng) -> (Vec<Timed>, Vec<(u64, u64)>) {
    let mut at = 100 * SECOND;
    let mut requests = Vec::new();
    while at < 100 * SECOND + LENGTH - 30_000_000 {
        let slow = random.u32(0..700) == 0;
        let took = if slow { 20_000_000 } else { 3_000_000 } + random.u64(0..2_000_000);
        requests.push(timed(at, took));
        at += took;
    }
    let mut stalls = Vec::new();
    for _ in 0..random.u32(3..9) {
        let cluster = 100 * SECOND + random.u64(0..LENGTH);
        for _ in 0..random.u32(5..30) {
            let begin = cluster + random.u64(0..400_000_000);
            stalls.push((begin, random.u64(LONG_NS..5_000_000)));
        }
    }
    (requests, stalls)
}

/// False positives occur as often as allowed.
#[test]
fn no_relation_is_called_one_at_its_rate() {
    const TRIALS: u32 = 200;
    let mut random = fastrand::Rng::with_seed(20);
    let (mut by_one, mut by_three) = (0, 0);
    for _ in 0..TRIALS {
        let held: Vec<Held> = (0..3)
            .map(|_| {
                let (requests, stalls) = unrelated(&mut random);
                held_of(&join(
                    &seen(&stalls),
                    Ok(&Times::Requests(requests.to_vec())),
                ))
                .clone()
            })
            .collect();
        let p = |held: &[&Held]| pool(held).expect("slow requests").p;
        by_one += u32::from(p(&[&held[0]]) <= 0.05);
        by_three += u32::from(p(&held.iter().collect::<Vec<_>>()) <= 0.05);
    }
    // At most ten of 200 are expected: ties make it fewer.
    assert!((1..=10).contains(&by_one), "{by_one}");
    assert!((1..=10).contains(&by_three), "{by_three}");
}

#[test]
fn a_relation_is_found() {
    let mut random = fastrand::Rng::with_seed(21);
    let (requests, mut stalls) = unrelated(&mut random);
    // Each slow request has its stall.
    let slow = requests.iter().filter(|one| one.took_ns > 10_000_000);
    stalls.extend(slow.map(|one| (one.ended_unix_ns - OFFSET - 9_000_000, 8_000_000)));
    let timeline = join(&seen(&stalls), Ok(&Times::Requests(requests.to_vec())));
    let held = held_of(&timeline);
    assert_eq!(held.slow_in_stall, held.slow);
    assert_eq!(held.slow, requests.len().div_ceil(1000) as u64);
    let cause = held.slow_by_cause.get("direct_compaction_seconds");
    assert_eq!(cause, Some(&held.slow));
    let pooled = pool(&[held]).expect("slow requests");
    assert!(pooled.p <= 0.01, "{pooled:?}");
    assert!(pooled.by_chance < held.slow as f64 / 2.0, "{pooled:?}");
    assert!(held.in_stall < held.requests / 2, "{held:?}");
}

#[test]
fn sums_of_trials_are_those_of_all_pairings() {
    let one = |slow_in_stall, turned: &[(u64, u64)]| Held {
        slow: 3,
        slow_in_stall,
        turned: turned.to_vec(),
        slow_from_seconds: 0.25,
        ..Held::default()
    };
    let (a, b) = (one(2, &[(0, 3), (2, 1)]), one(1, &[(0, 1), (1, 2), (3, 1)]));
    let pooled = pool(&[&a, &b]).expect("slow requests");
    // Of 16 pairings (2 or 0) + (0, 1, 1 or 3): 3 or more with (0, 3) three times, (2, 1) twice and (2, 3) once.
    assert!((pooled.p - 6.0 / 16.0).abs() < 1e-12, "{pooled:?}");
    assert!(
        (pooled.by_chance - (0.5 + 1.25)).abs() < 1e-12,
        "{pooled:?}"
    );
    assert_eq!(pooled.chance_range, (0, 5));
    assert_eq!((pooled.slow, pooled.slow_in_stall), (6, 3));
    assert_eq!(pool(&[]), None);
}

#[test]
fn requests_are_in_the_second_in_which_they_ended() {
    let at = |second: u64| 100 * SECOND + second * SECOND;
    let requests = [
        timed(at(0) + 900_000_000, 200_000_000),
        timed(at(1) + 100_000_000, 1_000_000),
        timed(at(19) + 500_000_000, 3_000_000),
    ];
    let timeline = join(&seen(&[]), Ok(&Times::Requests(requests.to_vec())));
    let counts: Vec<u64> = timeline
        .seconds
        .iter()
        .map(|second| second.requests.map_or(0, |requests| requests.count))
        .collect();
    assert_eq!(counts[..3], [0, 2, 0]);
    assert_eq!(counts[19], 1);
    let second = timeline.seconds[1].requests.expect("two");
    assert!((second.max_seconds - 0.2).abs() < 1e-9);
    assert!((second.p50_seconds - 0.001).abs() < 1e-9);
}

#[test]
fn what_cannot_be_told_says_why() {
    let requests: Vec<Timed> = (0..3000_u64)
        .map(|index| timed(100 * SECOND + index * 5_000_000, 1_000_000 + index))
        .collect();
    let mut set = seen(&[]);
    set.clock.last.1 += SECOND;
    assert_eq!(
        why_not(&join(&set, Ok(&Times::Requests(requests.to_vec())))),
        &Unrelated::ClockSet
    );
    let mut other = requests.clone();
    other[7].ended_unix_ns -= 600 * SECOND;
    let (outside, count) = (1, 3000);
    assert_eq!(
        why_not(&join(&seen(&[]), Ok(&Times::Requests(other.to_vec())))),
        &Unrelated::OtherClock {
            outside,
            requests: count
        }
    );
    let mut lost = seen(&[]);
    lost.lost = 4;
    let lost = join(&lost, Ok(&Times::Requests(requests.to_vec())));
    assert_eq!(why_not(&lost), &Unrelated::StallsLost { lost: 4 });
    // The latencies are still there.
    assert!(lost.seconds[3].requests.is_some());
    let equal: Vec<Timed> = requests
        .iter()
        .map(|one| Timed {
            took_ns: 1_000,
            ..*one
        })
        .collect();
    assert_eq!(
        why_not(&join(&seen(&[]), Ok(&Times::Requests(equal.to_vec())))),
        &Unrelated::Coarse
    );
    let none = join(&seen(&[]), Err(Unrelated::NotAsked));
    assert_eq!(why_not(&none), &Unrelated::NotAsked);
    assert!(none.seconds.iter().all(|second| second.requests.is_none()));
}

/// A clock 300 ppm too fast is 6 ms ahead after 20 s: longer than these stalls.
#[test]
fn a_clock_that_is_slewed_is_followed() {
    let ahead = 6_000_000;
    let mut stalls = Vec::new();
    let requests: Vec<Timed> = (0..5000_u64)
        .map(|index| {
            let begin = 100 * SECOND + index * 4_000_000;
            let slow = index % 1000 == 500;
            let took = if slow { 900_000 } else { 10_000 + index };
            if slow {
                stalls.push((begin + 100_000, 700_000));
            }
            let drift = (begin + took - 100 * SECOND) * ahead / LENGTH;
            Timed {
                ended_unix_ns: OFFSET + begin + took + drift,
                took_ns: took,
            }
        })
        .collect();
    let mut slewed = seen(&stalls);
    slewed.clock.last.1 += ahead;
    let timeline = join(&slewed, Ok(&Times::Requests(requests.to_vec())));
    assert_eq!(held_of(&timeline).slow_in_stall, 5);
}
