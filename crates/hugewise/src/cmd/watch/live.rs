//! The screen of what happens now.

use std::io;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread::JoinHandle;
use std::time::Duration;

use anyhow::{Result, bail};
use hugewise_linux::observe::watch::Watcher;
use hugewise_model::observe::watch::{Key, Look, Request, Sample, State};

use super::Arguments;
use super::collecting::{Wanted, collect};
use super::looking::Looking;
use super::recorder::Recorder;
use super::terminal::{Screen, read_keys};
use crate::exit::Exit;
use crate::interrupt::Interrupt;
use crate::output;
use hugewise_model::text::Style;
use hugewise_model::text::document::Document;

/// How soon a signal is noticed.
pub(super) const SOON: Duration = Duration::from_millis(200);

/// What happens while the screen is shown.
#[derive(Debug)]
pub(super) enum Event {
    /// A key was pressed.
    Key(Key),
    /// The terminal has another size.
    Resized,
    /// No key will come any more: the terminal is gone.
    KeysEnded,
    /// A sample was taken.
    Sample(Box<Sample>),
    /// How long the kernel stalls.
    Stalls(Document),
    /// What the newest record says.
    Experiment(Document),
    /// A look into a process has ended, and took so long.
    Look(Box<Look>, Duration),
}

/// Whether the screen is still wanted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Going {
    On,
    Over,
}

/// Shows the screen until the user quits, a signal comes, or the terminal is gone.
pub(super) fn run(watcher: Watcher, recorder: Recorder, arguments: &Arguments) -> Result<Exit> {
    let interrupt = Interrupt::catch()?;
    let mut screen = Screen::open(output::color(arguments.color))?;
    let (sender, events) = channel();
    let (focus, wanted) = channel();
    let mut session = Session {
        state: State::new(watcher.header().clone()),
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
    // Observing has no end of its own: a signal is an ordinary way to end it.
    Ok(Exit::Done)
}

/// Whether drawing failed because the terminal is gone, which is an ordinary end as well.
pub(super) fn is_gone(drawn: io::Result<()>) -> Result<bool> {
    const EIO: i32 = 5;
    match drawn {
        Ok(()) => Ok(false),
        Err(error) if error.raw_os_error() == Some(EIO) => Ok(true),
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(true),
        Err(error) => Err(anyhow::Error::new(error).context("drawing on the terminal")),
    }
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
    /// Waits for something to happen, and takes in all that has happened until then.
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

    /// Tells the thread of samples what the user looks at, where that has changed.
    fn tell_focus(&mut self) {
        let wanted = Wanted::of(self.state.tab(), self.state.selected());
        if wanted != self.wanted {
            self.wanted = wanted;
            // Where the thread has ended, the next wait says so.
            let _ = self.focus.send(wanted);
        }
    }
}
