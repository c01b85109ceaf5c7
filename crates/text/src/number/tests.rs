use super::*;
use proptest::prelude::*;

#[test]
fn times_in_a_unit_of_the_user_are_scaled_as_all_are() {
    let own = |name: &'static str, value| quantity(&Unit::Other(name.into()), value);
    assert_eq!(own("us", 15_419.0), "15.4 ms");
    assert_eq!(own("µs", 8.5), "8.50 µs");
    assert_eq!(own("ms", 0.25), "250 µs");
    assert_eq!(own("frames", 15_419.0), "15419 frames");
}

#[test]
fn nouns_follow_their_number() {
    assert_eq!(counted(1, "trial"), "1 trial");
    assert_eq!(counted(0, "process"), "0 processes");
    assert_eq!(counted(12_000, "page"), "12,000 pages");
    assert_eq!(counted(1, "policy"), "1 policy");
    assert_eq!(counted(3, "policy"), "3 policies");
    assert_eq!(counted(2, "day"), "2 days");
}

#[test]
fn three_digits_say_enough() {
    let cases = [
        (0.0, "0"),
        (4.2123, "4.21"),
        (51.23, "51.2"),
        (99.96, "100"),
        (9.999, "10.0"),
        (1234.6, "1235"),
        (3.0, "3.00"),
        (-0.5, "−0.500"),
        (f64::NAN, "~"),
    ];
    for (value, text) in cases {
        assert_eq!(three_digits(value), text, "{value}");
    }
}

#[test]
fn percentages_never_round_to_all_or_nothing() {
    let cases = [
        (-0.198, "−19.8"),
        (0.0731, "7.3"),
        (-0.999_7, "−99.97"),
        (0.000_04, "0.004"),
        (-1.0, "−100"),
        (1.562, "156"),
        (0.0, "0.0"),
        (-0.000_000_1, "0.0"),
    ];
    for (share, text) in cases {
        assert_eq!(percent(share), text, "{share}");
    }
}

#[test]
fn a_row_has_one_prefix() {
    let scaler = Scaler::for_row(&Unit::Seconds, &[4.21, 0.19]);
    assert_eq!(
        (scaler.show(4.21), scaler.show(0.19)),
        ("4210 ms".into(), "190 ms".into())
    );
    let scaler = Scaler::for_row(&Unit::Count, &[51_200.0, 140.0]);
    assert_eq!(
        (scaler.show(51_200.0), scaler.show(140.0)),
        ("51,200".into(), "140".into())
    );
    let scaler = Scaler::for_row(&Unit::Count, &[51_200.0, 2048.0]);
    assert_eq!(scaler.show(2048.0), "2048");
    let scaler = Scaler::for_row(&Unit::Count, &[51_200.0, 10_240.0]);
    assert_eq!(scaler.show(10_240.0), "10,240");
    let scaler = Scaler::for_row(&Unit::Count, &[512_000.0, 102_400.0]);
    assert_eq!(scaler.show(512_000.0), "512 k");
    let scaler = Scaler::for_row(&Unit::Bytes, &[0.0, 851_443_712.0]);
    assert_eq!(
        (scaler.show(0.0), scaler.show(851_443_712.0)),
        ("0".into(), "812 MiB".into())
    );
    let scaler = Scaler::for_row(&Unit::Bytes, &[4096.0, 1e12]);
    assert_eq!(scaler.show(1e12), "953674 MiB");
}

#[test]
fn thousands_are_parted_from_five_digits_on() {
    let cases = [
        (0.0, "0"),
        (9_999.0, "9999"),
        (36_442.0, "36,442"),
        (-109_000.0, "−109,000"),
        (1_234_567.0, "1,234,567"),
        (54_700.7, "54,701"),
        (0.5, "0.500"),
    ];
    for (value, text) in cases {
        assert_eq!(whole(value), text, "{value}");
    }
}

#[test]
fn one_value_has_the_prefix_that_suits_it() {
    assert_eq!(quantity(&Unit::Count, 1340.0), "1340");
    assert_eq!(quantity(&Unit::Count, 96.0), "96");
    assert_eq!(quantity(&Unit::Count, 96.5), "96.5");
    assert_eq!(chosen_percent(0.01), "1");
    assert_eq!(count(51_200), "51,200");
    assert_eq!(count(512_000), "512 k");
    assert_eq!(quantity(&Unit::Seconds, 0.000_16), "160 µs");
    assert_eq!(quantity(&Unit::Ratio, 0.0731), "7.31 %");
}

proptest! {
    #[test]
    fn no_number_breaks_a_table(value: f64, other: f64) {
        for unit in [
            Unit::Seconds,
            Unit::Bytes,
            Unit::Count,
            Unit::Ratio,
            Unit::BytesPerSecond,
            Unit::PerSecond,
        ] {
            let text = Scaler::for_row(&unit, &[value, other]).show(value);
            prop_assert!(!text.is_empty() && !text.contains("inf") && !text.contains("NaN"));
            prop_assert!(!quantity(&unit, value).is_empty());
        }
    }
}
