use proptest::prelude::*;

use super::*;
use hugewise_base::units::Unit;

proptest! {
    #[test]
    fn whatever_is_drawn_is_well_formed(
        numbers in prop::collection::vec(any::<f64>(), 4), text: String, class: String,
    ) {
        let mut svg = Svg::default();
        let (one, other) = ((numbers[0], numbers[1]), (numbers[2], numbers[3]));
        svg.group(&class, |svg| {
            svg.line("grid", one, other);
            svg.curve(&class, &[Some(one), None, Some(other), Some(one)]);
            svg.rect("bar", one, other, Some(&text));
            svg.marker(Shape::of(numbers[0] as usize), Fill::Full, one, Some(&text));
            svg.cross(other, &text);
            svg.text(&class, Anchor::End, one, &text);
        });
        let svg = svg.finish(&text, numbers[0]);
        for wrong in ["NaN", "inf", "width=\"-", "height=\"-", "<script"] {
            prop_assert!(!svg.contains(wrong), "{wrong}: {svg}");
        }
        prop_assert_eq!(svg.matches("<g ").count(), svg.matches("</g>").count());
        prop_assert_eq!(svg.matches('"').count() % 2, 0);
    }

    #[test]
    fn axes_hold_their_values_and_ticks_are_few(
        values in prop::collection::vec(-1e12_f64..1e12, 1..20), most in 2_usize..12,
    ) {
        let linear = Axis::linear(values.iter().copied(), (10.0, 200.0)).expect("values");
        let logarithmic = Axis::logarithmic(values.iter().map(|it| it.abs()), (200.0, 10.0));
        for axis in [Some(linear), logarithmic].into_iter().flatten() {
            for value in &values {
                prop_assert!((10.0..=200.0).contains(&axis.place(value.abs())));
            }
            for unit in [Unit::Seconds, Unit::Bytes, Unit::Count] {
                let ticks = axis.ticks(&unit, most);
                prop_assert!(ticks.len() <= most + 2, "{ticks:?}");
                prop_assert!(ticks.iter().all(|tick| axis.holds(*tick)));
                prop_assert!(ticks.windows(2).all(|pair| pair[0] < pair[1]), "{ticks:?}");
            }
        }
        prop_assert!(values.iter().all(|value| linear.holds(*value)));
    }
}

#[test]
fn ticks_are_round() {
    let axis = |low, high| Axis::between(low, high, (0.0, 100.0)).expect("an axis");
    let seconds = axis(3.3, 4.3).ticks(&Unit::Seconds, 5);
    assert_eq!(seconds.len(), 5, "{seconds:?}");
    assert!((seconds[0] - 3.4).abs() < 1e-9, "{seconds:?}");
    let bytes = axis(0.0, 9e8).ticks(&Unit::Bytes, 5);
    assert_eq!(bytes[1], f64::from(1 << 28));
    let axis = Axis::logarithmic([1e-3, 1e3], (0.0, 100.0)).expect("an axis");
    assert_eq!(axis.ticks(&Unit::Seconds, 7).len(), 7);
    assert!(axis.ticks(&Unit::Seconds, 4).len() <= 4);
}

#[test]
fn a_text_is_shortened_to_its_room() {
    assert_eq!(fitted("thp=always", 100.0), "thp=always");
    assert_eq!(fitted("thp=always", 36.0), "thp=…");
    assert!(text_width(&fitted("a\u{1b}[31mb", 90.0)) <= 90.0);
}

#[test]
fn no_two_policies_look_alike() {
    let looks = |index| (colour(index), Shape::of(index) as u8);
    let marks: Vec<(String, u8)> = (0..16).map(looks).collect();
    for (index, mark) in marks.iter().enumerate() {
        let same_colour = |other: &&(String, u8)| other.0[..2] == mark.0[..2];
        let shapes = marks[..index].iter().filter(same_colour).map(|it| it.1);
        assert!(!shapes.into_iter().any(|shape| shape == mark.1), "{index}");
    }
}

/// A change far beyond those that decide is drawn at the edge, outside the break; one that decides never is.
#[test]
fn a_change_off_the_scale_breaks_the_axis() {
    let (far, near) = (0.12_f64.ln(), 0.05_f64.ln_1p());
    let broken = ChangeAxis::of(&[far, near], &[near], 0.01, (100.0, 400.0)).expect("an axis");
    assert_eq!(broken.place(far), 108.0);
    assert!(broken.axis.place(far) >= 124.0);
    assert!(broken.place(near) <= 400.0);
    let whole = ChangeAxis::of(&[far, near], &[far], 0.01, (100.0, 400.0)).expect("an axis");
    assert_eq!(whole.place(far), whole.axis.place(far));
    let mut svg = Svg::default();
    let field = PlotArea {
        left: 100.0,
        right: 400.0,
        top: 0.0,
        bottom: 50.0,
    };
    broken.draw_across(&mut svg, &field);
    assert_eq!(svg.finish("", 80.0).matches("\"fence\"").count(), 1);
}
