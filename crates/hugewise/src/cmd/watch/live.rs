//! The live screen.

use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread::JoinHandle;

use anyhow::{Result, bail};
use hugewise_linux::observe::watch::Watcher;
use hugewise_monitor::watch::{Request, State};

use super::collecting::{Wanted, collect};
use super::event::{Event, Going, SOON};
use super::looking::Looking;
use super::recorder::Recorder;
use super::terminal::{Screen, is_gone, read_keys};
use super::{Arguments, state};
use crate::exit::Exit;
use crate::interrupt::Interrupt;
use crate::output;
use hugewise_text::Style;

/// Shows the screen until the user quits, a signal comes, or the terminal is closed.
pub(super) fn run(watcher: Watcher, recorder: Recorder, arguments: &Arguments) -> Result<Exit> {
    let interrupt = Interrupt::catch()?;
    let state = state(&watcher, arguments)?;
    let mut screen = Screen::open(output::color(arguments.color))?;
    let (sender, events) = channel();
    let (focus, wanted) = channel();
    let mut session = Session {
        state,
        recorder,
        looking: Looking::default(),
        style: output::plain_style(arguments.color),
        wanted: Wanted::default(),
        focus,
        samples: collect(watcher, arguments.interval, wanted, sender.clone())?,
        sender: sender.clone(),
    };
    read_keys(sender)?;
    while !interrupt.asked() {
        if is_gone(screen.draw(&mut session.state))?
            || session.wait(&events, &interrupt)? == Going::Over
        {
            break;
        }
    }
    // A signal is the normal way to end an observation.
    Ok(Exit::Done)
}

struct Session {
    state: State,
    recorder: Recorder,
    looking: Looking,
    style: Style,
    wanted: Wanted,
    focus: Sender<Wanted>,
    samples: JoinHandle<()>,
    sender: Sender<Event>,
}

impl Session {
    /// Waits for an event, and handles all events until then.
    fn wait(&mut self, events: &Receiver<Event>, interrupt: &Interrupt) -> Result<Going> {
        let first = loop {
            match events.recv_timeout(SOON) {
                Ok(event) => break event,
                Err(RecvTimeoutError::Disconnected) => return Ok(Going::Over),
                Err(RecvTimeoutError::Timeout) if interrupt.asked() => return Ok(Going::Over),
                Err(RecvTimeoutError::Timeout) if self.samples.is_finished() => {
                    bail!("the thread that takes samples has ended");
                }
                Err(RecvTimeoutError::Timeout) => {}
            }
        };
        for event in std::iter::once(first).chain(events.try_iter()) {
            if self.take(event)? == Going::Over {
                return Ok(Going::Over);
            }
        }
        self.tell_focus();
        Ok(Going::On)
    }

    fn take(&mut self, event: Event) -> Result<Going> {
        match event {
            Event::Key(key) => match self.state.press(key) {
                Some(Request::Quit) => return Ok(Going::Over),
                Some(Request::LookInto(pid)) => {
                    let obstacle = self.looking.begin(pid, self.style, &self.sender)?;
                    self.state
                        .notice(obstacle.unwrap_or(format!("looking into process {pid}")));
                }
                Some(Request::SampleBefore | Request::SampleAfter) => {
                    self.state.notice("only a recording can be stepped through");
                }
                None => {}
            },
            Event::Sample(sample) => {
                self.recorder.sample(&sample)?;
                self.state.push(*sample);
            }
            Event::Stalls(document) => self.state.show_stalls(document),
            Event::Experiment(document) => self.state.show_experiment(document),
            Event::Look(look, took) => {
                self.looking.finish(took);
                self.state.show_look(*look);
            }
            Event::Resized => {}
            Event::KeysEnded => return Ok(Going::Over),
        }
        Ok(Going::On)
    }

    /// Sends the data to show to the sampling thread, if it has changed.
    fn tell_focus(&mut self) {
        let wanted = Wanted::of(self.state.tab(), self.state.selected());
        if wanted != self.wanted {
            self.wanted = wanted;
            // If the thread has ended, the next wait reports that.
            let _ = self.focus.send(wanted);
        }
    }
}
