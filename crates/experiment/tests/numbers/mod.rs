//! Numbers that no valid measurement contains, and a time limit on their processing.

use std::sync::mpsc::channel;
use std::thread;
use std::time::Duration;

use proptest::prelude::*;

/// A second is plenty for a release build; a debug build on a busy machine gets ten.
const PATIENCE: Duration = Duration::from_secs(10);

/// Fails if `work` does not end.
pub fn ends<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> T {
    let (sender, done) = channel();
    let worker = thread::spawn(move || {
        let _ = sender.send(work());
    });
    match done.recv_timeout(PATIENCE) {
        Ok(result) => result,
        Err(_) if worker.is_finished() => panic!("it panicked"),
        Err(_) => panic!("it has not ended after {PATIENCE:?}"),
    }
}

/// 2^50, beyond which halves are lost.
pub const P50: f64 = (1_u64 << 50) as f64;

/// Any finite number, with a preference for extreme ones.
pub fn number() -> impl Strategy<Value = f64> {
    let worst = prop::sample::select(vec![
        0.0,
        -0.0,
        5e-324,
        -5e-324,
        f64::MIN_POSITIVE,
        1e-300,
        1.0,
        1.0 + f64::EPSILON,
        P50,
        P50 + 1500.0,
        -P50,
        1e15,
        1e308,
        -1e308,
        f64::MAX,
        f64::MIN,
    ]);
    let any = any::<u64>()
        .prop_map(f64::from_bits)
        .prop_filter("finite", |it| it.is_finite());
    prop_oneof![4 => worst, 1 => any, 1 => -9.0_f64..9.0]
}

/// Numbers of a few kinds, or a repeated one.
pub fn numbers(most: usize) -> impl Strategy<Value = Vec<f64>> {
    let few = prop::collection::vec(number(), 1..=3)
        .prop_flat_map(move |kinds| prop::collection::vec(prop::sample::select(kinds), 0..=most));
    prop_oneof![few, prop::collection::vec(number(), 0..=most)]
}
