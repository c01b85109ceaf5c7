//! The screen of a recording, at its original speed or sample by sample.

use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::{Duration, Instant};

use anyhow::Result;
use hugewise_monitor::watch::{Pace, Recording, Request, Sample, State};

use super::Arguments;
use super::event::{Event, Going, SOON};
use super::looking::sentence;
use super::terminal::{Screen, is_gone, read_keys};
use crate::exit::Exit;
use crate::interrupt::Interrupt;
use crate::output;

/// How many earlier samples are kept as history.
const PAST: usize = 121;

/// Shows a recording until the user quits.
pub(super) fn run(recording: Recording, arguments: &Arguments) -> Result<Exit> {
    let interrupt = Interrupt::catch()?;
    let mut screen = Screen::open(output::color(arguments.color))?;
    let (sender, events) = channel();
    read_keys(sender)?;
    let mut player = Player::new(recording);
    while !interrupt.asked() {
        if is_gone(screen.draw(&mut player.state))? || player.wait(&events) == Going::Over {
            break;
        }
    }
    Ok(Exit::Done)
}

struct Player {
    state: State,
    samples: Vec<Sample>,
    interval: Duration,
    /// The index of the shown sample.
    at: usize,
    due: Instant,
}

impl Player {
    fn new(recording: Recording) -> Self {
        let interval = Duration::from_nanos(recording.header.interval_ns);
        let mut state = State::new(recording.header);
        state.show_stalls(sentence(
            "A recording holds no stalls; see: hugewise trace.",
        ));
        state.show_experiment(sentence(
            "A recording holds no experiment; see: hugewise report.",
        ));
        state.push(recording.samples[0].clone());
        Self {
            state,
            samples: recording.samples,
            interval,
            at: 0,
            due: Instant::now() + interval,
        }
    }

    /// Waits for a key, a signal, or the time of the next sample.
    fn wait(&mut self, events: &Receiver<Event>) -> Going {
        let left = self.due.saturating_duration_since(Instant::now());
        match events.recv_timeout(left.min(SOON)) {
            Ok(event) => return self.take(&event),
            Err(RecvTimeoutError::Disconnected) => return Going::Over,
            Err(RecvTimeoutError::Timeout) => {}
        }
        if Instant::now() >= self.due {
            self.due = Instant::now() + self.interval;
            self.play();
        }
        Going::On
    }

    /// Shows the next sample, unless the replay is paused.
    fn play(&mut self) {
        if self.state.pace() == Pace::Live && self.at + 1 < self.samples.len() {
            self.at += 1;
            self.state.push(self.samples[self.at].clone());
        }
    }

    fn take(&mut self, event: &Event) -> Going {
        let Event::Key(key) = event else {
            let is_over = matches!(event, Event::KeysEnded);
            return if is_over { Going::Over } else { Going::On };
        };
        match self.state.press(*key) {
            Some(Request::Quit) => return Going::Over,
            Some(Request::SampleBefore) => self.show(self.at.saturating_sub(1)),
            Some(Request::SampleAfter) => self.show(self.at + 1),
            Some(Request::LookInto(_)) => {
                self.state
                    .notice("a recording holds no address spaces; see: hugewise inspect");
            }
            None => {}
        }
        Going::On
    }

    fn show(&mut self, place: usize) {
        self.at = place.min(self.samples.len() - 1);
        let past = self.at.saturating_sub(PAST);
        self.state.rewind(&self.samples[past..=self.at]);
        let shown = format!("sample {} of {}", self.at + 1, self.samples.len());
        self.state.notice(shown);
    }
}
