//! The terminal: its screen, restored at any end of the program, and its keys.

use std::io::{self, IsTerminal};
use std::sync::mpsc::Sender;
use std::thread;

use anyhow::{Context, Result};
use hugewise_monitor::watch::{Key, State};
use hugewise_text::Color;
use ratatui::DefaultTerminal;
use ratatui::crossterm::event::{self, KeyCode, KeyEventKind, KeyModifiers};

use super::draw::draw;
use super::event::Event;
use crate::exit;

/// The screen. Dropping it restores the terminal; a panic restores it before its message is printed.
pub(super) struct Screen {
    terminal: DefaultTerminal,
    color: Color,
}

impl Screen {
    /// Takes over the terminal.
    pub(super) fn open(color: Color) -> Result<Self> {
        if !io::stdout().is_terminal() {
            return Err(exit::usage(
                "watch draws on a terminal, and stdout is none; for text: hugewise watch --once",
            ));
        }
        let terminal = ratatui::try_init().context("taking over the terminal")?;
        Ok(Self { terminal, color })
    }

    /// Draws the current state.
    ///
    /// # Errors
    /// The terminal is gone, such as after a broken connection.
    pub(super) fn draw(&mut self, state: &mut State) -> io::Result<()> {
        let color = self.color;
        self.terminal.draw(|frame| draw(frame, state, color))?;
        Ok(())
    }
}

impl Drop for Screen {
    fn drop(&mut self) {
        // If the terminal is gone, there is nothing to restore.
        let _ = ratatui::try_restore();
    }
}

/// Returns true if drawing failed because the terminal is gone, which is a normal end as well.
pub(super) fn is_gone(drawn: io::Result<()>) -> Result<bool> {
    const EIO: i32 = 5;
    match drawn {
        Ok(()) => Ok(false),
        Err(error) if error.raw_os_error() == Some(EIO) => Ok(true),
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(true),
        Err(error) => Err(anyhow::Error::new(error).context("drawing on the terminal")),
    }
}

/// Reads keys in a separate thread, because reading from a closed terminal may never return.
pub(super) fn read_keys(events: Sender<Event>) -> Result<()> {
    let read = move || {
        loop {
            let event = match event::read() {
                Ok(event) => of(&event),
                Err(_) => Some(Event::KeysEnded),
            };
            let is_last = matches!(event, Some(Event::KeysEnded));
            let is_taken = event.is_none_or(|event| events.send(event).is_ok());
            if is_last || !is_taken {
                break;
            }
        }
    };
    let thread = thread::Builder::new().name("keys".to_owned());
    thread.spawn(read).context("starting the thread of keys")?;
    Ok(())
}

fn of(event: &event::Event) -> Option<Event> {
    match event {
        event::Event::Resize(..) => Some(Event::Resized),
        event::Event::Key(key) if key.kind != KeyEventKind::Release => {
            let control = key.modifiers.contains(KeyModifiers::CONTROL);
            key_of(key.code, control).map(Event::Key)
        }
        _ => None,
    }
}

fn key_of(code: KeyCode, control: bool) -> Option<Key> {
    Some(match code {
        KeyCode::Char(letter) if control => Key::Control(letter.to_ascii_lowercase()),
        KeyCode::Char(letter) => Key::Char(letter),
        KeyCode::Up => Key::Up,
        KeyCode::Down => Key::Down,
        KeyCode::Left => Key::Left,
        KeyCode::Right => Key::Right,
        KeyCode::PageUp => Key::PageUp,
        KeyCode::PageDown => Key::PageDown,
        KeyCode::Home => Key::Home,
        KeyCode::End => Key::End,
        KeyCode::Tab => Key::Tab,
        KeyCode::BackTab => Key::BackTab,
        KeyCode::Enter => Key::Enter,
        KeyCode::Esc => Key::Escape,
        KeyCode::Backspace => Key::Backspace,
        _ => return None,
    })
}
