use expect_test::{ExpectFile, expect_file};
use hugewise_monitor::watch::{Key, parse};
use ratatui::Terminal;
use ratatui::backend::TestBackend;
use ratatui::style::Color as Shade;

use super::*;

const RECORDING: &str = include_str!("../../../../../../fixtures/recordings/watch.jsonl");

/// The state after the whole recording and these keys.
fn state(keys: &[Key]) -> State {
    let recording = parse(RECORDING.as_bytes()).expect("a recording");
    let mut state = State::new(recording.header);
    recording
        .samples
        .into_iter()
        .for_each(|sample| state.push(sample));
    for key in keys {
        state.press(*key);
    }
    state
}

fn terminal(state: &mut State, columns: u16, rows: u16, color: Color) -> Terminal<TestBackend> {
    let mut terminal = Terminal::new(TestBackend::new(columns, rows)).expect("a terminal");
    terminal
        .draw(|frame| draw(frame, state, color))
        .expect("a frame");
    terminal
}

fn frame(state: &mut State, columns: u16, rows: u16) -> String {
    let terminal = terminal(state, columns, rows, Color::Never);
    let buffer = terminal.backend().buffer();
    let row = |row: u16| {
        let cells = (0..columns).map(|column| buffer[(column, row)].symbol());
        cells.collect::<String>().trim_end().to_owned() + "\n"
    };
    (0..rows).map(row).collect()
}

fn check(golden: &ExpectFile, keys: &[Key], columns: u16, rows: u16) {
    golden.assert_eq(&frame(&mut state(keys), columns, rows));
}

#[test]
fn frames_are_those_of_the_golden_files() {
    macro_rules! golden {
        ($name:literal) => {
            &expect_file![concat!(
                "../../../../../../fixtures/golden/watch-",
                $name,
                ".txt"
            )]
        };
    }
    let down = [Key::Down];
    check(golden!("overview-80x24"), &down, 80, 24);
    check(golden!("overview-200x60"), &down, 200, 60);
    check(golden!("sizes-80x24"), &[Key::Char('2')], 80, 24);
    check(golden!("free-memory-80x24"), &[Key::Char('3')], 80, 24);
    check(golden!("help-80x24"), &[Key::Char('?')], 80, 24);
    check(golden!("too-small"), &[], 60, 10);
}

/// The guide shows the program's actual output.
#[test]
fn the_frame_of_the_guide_is_a_frame() {
    let guide = include_str!("../../../../../../docs/guide/what-runs-now.md");
    let drawn = frame(&mut state(&[Key::Down]), 80, 24);
    assert!(guide.contains(&drawn), "the guide has not: \n{drawn}");
}

#[test]
fn help_scrolls_to_its_end_and_back() {
    let mut state = state(&[Key::Char('?')]);
    let first = frame(&mut state, 80, 24);
    state.press(Key::End);
    let last = frame(&mut state, 80, 24);
    assert!(last.contains("reclaim stalls") && !first.contains("reclaim stalls"));
    state.press(Key::Home);
    assert_eq!(frame(&mut state, 80, 24), first);
}

#[test]
fn without_colour_nothing_is_coloured() {
    let shades = |color| {
        let terminal = terminal(&mut state(&[]), 80, 24, color);
        let cells = terminal.backend().buffer().content().to_vec();
        cells
            .iter()
            .any(|cell| cell.fg != Shade::Reset || cell.bg != Shade::Reset)
    };
    assert!(!shades(Color::Never));
}

#[test]
fn any_size_is_drawn() {
    for (columns, rows) in [
        (1, 1),
        (80, 1),
        (1, 24),
        (79, 24),
        (80, 23),
        (81, 25),
        (300, 100),
    ] {
        terminal(&mut state(&[]), columns, rows, Color::Always);
    }
}
