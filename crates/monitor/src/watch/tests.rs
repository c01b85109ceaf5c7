use super::*;
use crate::export::Cgroup;
use hugewise_base::jsonl::to_line;
use hugewise_base::missing::Missing;
use hugewise_text::{Style, to_text};

const RECORDING: &str = include_str!("../../../../fixtures/recordings/watch.jsonl");

fn recording() -> Recording {
    parse(RECORDING.as_bytes()).expect("a recording")
}

/// The state after the whole recording.
fn state() -> State {
    let recording = recording();
    let mut state = State::new(recording.header);
    recording
        .samples
        .into_iter()
        .for_each(|sample| state.push(sample));
    state
}

fn press(state: &mut State, keys: &str) {
    for letter in keys.chars() {
        let key = match letter {
            '↓' => Key::Down,
            '⏎' => Key::Enter,
            letter => Key::Char(letter),
        };
        state.press(key);
    }
}

/// The first word of each row, and the selected row.
fn rows(state: &State) -> (Vec<String>, usize) {
    let Body::List(list) = state.screen(80).body else {
        panic!("no rows");
    };
    let names = list.grid.rows.iter().skip(1);
    let names = names.map(|row| row[1].text.clone());
    (names.collect(), list.selected)
}

fn text(state: &State) -> String {
    let Body::Text(document) = state.screen(80).body else {
        panic!("no text");
    };
    to_text(&document, &Style::default())
}

#[test]
fn what_is_written_is_read_again() {
    let recording = recording();
    let mut lines = to_line(&Line::Header(Box::new(recording.header.clone())));
    for sample in &recording.samples {
        lines += &to_line(&Line::Sample(Box::new(sample.clone())));
    }
    assert_eq!(parse(lines.as_bytes()), Ok(recording));
}

#[test]
fn a_torn_last_line_is_left_out_and_another_file_is_refused() {
    let torn = &RECORDING[..RECORDING.len() - 100];
    let read = parse(torn.as_bytes()).expect("a recording");
    assert_eq!(read.samples.len() + 1, recording().samples.len());
    assert!(parse(b"").is_err());
    let (header, _) = RECORDING.split_once('\n').expect("a header");
    assert!(parse(header.as_bytes()).is_err());
    assert!(parse(b"{\"format\":\"hugewise-stat 1\"}\n").is_err());
}

#[test]
fn a_part_that_could_not_be_read_says_why() {
    let mut recording = recording();
    let mut sample = recording.samples.remove(0);
    sample.machine.zones.value = Err(Missing::not_permitted("root"));
    let mut state = State::new(recording.header);
    state.push(sample);
    press(&mut state, "3");
    assert!(
        text(&state).contains("not permitted; needs root"),
        "{}",
        text(&state)
    );
}

#[test]
fn rates_begin_with_the_second_sample() {
    let recording = recording();
    let mut state = State::new(recording.header);
    let document = |state: &State| to_text(&state.document(80), &Style::default());
    state.push(recording.samples[0].clone());
    let faults = |text: &str| {
        let line = text.lines().find(|line| line.starts_with("huge faults"));
        line.expect("a line")
            .split_whitespace()
            .nth(2)
            .map(str::to_owned)
    };
    assert_eq!(faults(&document(&state)).as_deref(), Some("-"));
    state.push(recording.samples[1].clone());
    assert!(faults(&document(&state)).is_some_and(|rate| rate.ends_with("/s")));
}

#[test]
fn the_selection_stays_with_its_process() {
    let mut state = state();
    let (names, selected) = rows(&state);
    assert_eq!((names[0].as_str(), selected), ("python3", 0));
    press(&mut state, "↓");
    let pid = state.selected();
    assert!(pid.is_some());
    press(&mut state, "s");
    let (_, selected) = rows(&state);
    press(&mut state, "<");
    assert_eq!((state.selected(), rows(&state).1), (pid, 1));
    assert!(selected < names.len());
}

#[test]
fn a_filter_is_typed_kept_and_cleared() {
    let mut state = state();
    let all = rows(&state).0.len();
    press(&mut state, "/AWK⏎");
    assert!(rows(&state).0.iter().all(|name| name.contains("awk")));
    assert!(state.screen(80).status[0].contains("filter: AWK"));
    state.press(Key::Escape);
    assert_eq!(rows(&state).0.len(), all);
    // A filter from the command line is cleared in the same way as a typed one.
    let mut named = state.clone().filtered("awk");
    assert_eq!(rows(&named).0, rows(&state.clone().filtered("AWK")).0);
    named.press(Key::Escape);
    assert_eq!(rows(&named).0.len(), all);
    // While a filter is typed, q is a letter.
    press(&mut state, "/");
    assert_eq!(state.press(Key::Char('q')), None);
    assert_eq!(rows(&state).0.len(), 0);
    assert_eq!(state.press(Key::Control('c')), Some(Request::Quit));
}

#[test]
fn nothing_moves_while_the_screen_is_frozen() {
    let recording = recording();
    let mut state = State::new(recording.header);
    state.push(recording.samples[0].clone());
    press(&mut state, "f");
    let before = state.screen(80);
    state.push(recording.samples[1].clone());
    assert_eq!(state.screen(80), before);
    press(&mut state, "f");
    state.push(recording.samples[1].clone());
    assert_ne!(state.screen(80), before);
}

#[test]
fn a_look_is_asked_for_and_shown() {
    let mut state = state();
    press(&mut state, "↓");
    let pid = state.selected().expect("a process");
    assert_eq!(state.press(Key::Enter), Some(Request::LookInto(pid)));
    assert_eq!(state.tab(), Tab::Process);
    let look = hugewise_text::document::Section::default().with("All of it is huge.");
    state.show_look(Look {
        pid,
        document: hugewise_text::document::Document::new([look]),
    });
    assert_eq!(text(&state), "All of it is huge.\n");
}

#[test]
fn a_recording_is_stepped_through() {
    let recording = recording();
    let mut state = State::new(recording.header);
    assert_eq!(state.press(Key::Left), Some(Request::SampleBefore));
    assert_eq!(state.press(Key::Right), Some(Request::SampleAfter));
    state.rewind(&recording.samples[..3]);
    assert_eq!(state.pace(), Pace::Frozen);
    let shown = state.screen(80);
    state.rewind(&recording.samples[..4]);
    assert_ne!(state.screen(80), shown);
    state.rewind(&recording.samples[..3]);
    assert_eq!(state.screen(80), shown);
}

#[test]
fn every_key_has_one_meaning_and_the_help_has_all() {
    let mut state = state();
    press(&mut state, "?");
    let help = text(&state);
    let mut seen = Vec::new();
    for binding in &BINDINGS {
        assert!(help.contains(binding.meaning), "{}", binding.meaning);
        for key in binding.keys {
            assert!(!seen.contains(key), "{key:?} has two meanings");
            assert_eq!(Action::of(*key), Some(binding.action));
            assert!(help.contains(&key.name()), "{key:?}");
            seen.push(*key);
        }
    }
    for place in 1..=Tab::ALL.len() {
        let digit = char::from_digit(place as u32, 10).expect("a digit");
        assert!(seen.contains(&Key::Char(digit)), "tab {place} has no key");
    }
}

#[test]
fn cgroups_are_a_tree_with_rates() {
    let mut recording = recording();
    let group = |path: &str, anon_bytes, huge_faults| Cgroup {
        path: path.to_owned(),
        anon_bytes,
        anon_huge_bytes: Some(anon_bytes / 2),
        huge_faults: Some(huge_faults),
        collapses: None,
    };
    let mut state = State::new(recording.header);
    for (place, sample) in recording.samples.iter_mut().take(2).enumerate() {
        sample.at_ns = 1_000_000_000 * place as u64;
        let faults = 10 * place as u64;
        sample.groups = vec![
            group("/", 4 << 20, faults),
            group("/system.slice", 2 << 20, faults),
            group("/system.slice/redis.service", 1 << 20, 0),
        ];
        state.push(sample.clone());
    }
    press(&mut state, "4");
    expect_test::expect![[r#"
        cgroup             anonymous     huge  huge %  faults/s  collapses/s
        /                      4 MiB    2 MiB    50.0        10            -
          system.slice         2 MiB    1 MiB    50.0        10            -
            redis.service      1 MiB  512 KiB    50.0         0            -
        faults: page faults that got a huge page; collapses: huge pages that khugepaged
        made.
    "#]]
    .assert_eq(&text(&state));
}
