//! The keys and their actions: one table, from which the help is made.

use super::tab::Tab;

/// A recognised key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Key {
    /// A letter, digit or sign.
    Char(char),
    /// With the control key.
    Control(char),
    /// An arrow.
    Up,
    /// An arrow.
    Down,
    /// An arrow.
    Left,
    /// An arrow.
    Right,
    /// A screen back.
    PageUp,
    /// A screen on.
    PageDown,
    /// To the beginning.
    Home,
    /// To the end.
    End,
    /// The next tab.
    Tab,
    /// The tab before: the tab key with shift.
    BackTab,
    /// Confirms.
    Enter,
    /// Cancels.
    Escape,
    /// Takes the last letter back.
    Backspace,
}

/// The action of a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action {
    /// Ends the program.
    Quit,
    /// Selects another row, or scrolls.
    Move(Step),
    /// Shows the next tab.
    NextTab,
    /// Shows the tab before.
    TabBefore,
    /// Shows the tab with the number on the key.
    NumberedTab,
    /// Inspects the selected process.
    LookInto,
    /// Sorts by the next column.
    SortNext,
    /// Sorts by the column before.
    SortBefore,
    /// Begins to type a filter.
    Filter,
    /// Takes the filter away.
    ClearFilter,
    /// Pauses the screen, or resumes it.
    Freeze,
    /// Shows the previous sample of a recording.
    SampleBefore,
    /// Shows the next sample of a recording.
    SampleAfter,
    /// Shows the keys.
    Help,
}

/// How far the selection moves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// To the row above.
    Up,
    /// To the row below.
    Down,
    /// A screen up.
    PageUp,
    /// A screen down.
    PageDown,
    /// To the first row.
    First,
    /// To the last row.
    Last,
}

/// Keys and their action.
#[derive(Clone, Copy, Debug)]
pub struct Binding {
    /// Any of them.
    pub keys: &'static [Key],
    /// The action.
    pub action: Action,
    /// The help text.
    pub meaning: &'static str,
}

const fn binding(keys: &'static [Key], action: Action, meaning: &'static str) -> Binding {
    Binding {
        keys,
        action,
        meaning,
    }
}

/// All keys, the most useful first.
pub const BINDINGS: [Binding; 19] = [
    binding(&[Key::Char('q'), Key::Control('c')], Action::Quit, "quit"),
    binding(
        &[Key::Down, Key::Char('j')],
        Action::Move(Step::Down),
        "next row",
    ),
    binding(
        &[Key::Up, Key::Char('k')],
        Action::Move(Step::Up),
        "row above",
    ),
    binding(
        &[Key::PageDown, Key::Control('d')],
        Action::Move(Step::PageDown),
        "a screen down",
    ),
    binding(
        &[Key::PageUp, Key::Control('u')],
        Action::Move(Step::PageUp),
        "a screen up",
    ),
    binding(
        &[Key::Home, Key::Char('g')],
        Action::Move(Step::First),
        "first row",
    ),
    binding(
        &[Key::End, Key::Char('G')],
        Action::Move(Step::Last),
        "last row",
    ),
    binding(&[Key::Tab], Action::NextTab, "next tab"),
    binding(&[Key::BackTab], Action::TabBefore, "tab before"),
    binding(
        &[
            Key::Char('1'),
            Key::Char('2'),
            Key::Char('3'),
            Key::Char('4'),
            Key::Char('5'),
            Key::Char('6'),
            Key::Char('7'),
        ],
        Action::NumberedTab,
        "the tab of this number",
    ),
    binding(
        &[Key::Enter],
        Action::LookInto,
        "why memory of the selected process is not huge",
    ),
    binding(
        &[Key::Char('>'), Key::Char('s')],
        Action::SortNext,
        "sort by the next column",
    ),
    binding(
        &[Key::Char('<')],
        Action::SortBefore,
        "sort by the column before",
    ),
    binding(
        &[Key::Char('/')],
        Action::Filter,
        "filter by name or PID; Enter keeps it",
    ),
    binding(&[Key::Escape], Action::ClearFilter, "no filter"),
    binding(
        &[Key::Char(' '), Key::Char('f')],
        Action::Freeze,
        "hold still, go on",
    ),
    binding(
        &[Key::Left],
        Action::SampleBefore,
        "in a recording: one sample back",
    ),
    binding(
        &[Key::Right],
        Action::SampleAfter,
        "in a recording: one sample on",
    ),
    binding(&[Key::Char('?'), Key::Char('h')], Action::Help, "this help"),
];

impl Action {
    /// The action of a key; `None` for an unused key.
    #[must_use]
    pub fn of(key: Key) -> Option<Self> {
        let found = BINDINGS.iter().find(|binding| binding.keys.contains(&key));
        found.map(|binding| binding.action)
    }
}

impl Key {
    /// The tab that a digit names.
    pub(super) fn tab(self) -> Option<Tab> {
        let Self::Char(letter) = self else {
            return None;
        };
        let place = letter.to_digit(10)?.checked_sub(1)?;
        Tab::ALL.get(usize::try_from(place).ok()?).copied()
    }

    /// Its name on the screen.
    #[must_use]
    pub fn name(self) -> String {
        let name = match self {
            Self::Char(' ') => "Space",
            Self::Char(letter) => return letter.to_string(),
            Self::Control(letter) => return format!("Ctrl-{}", letter.to_ascii_uppercase()),
            Self::Up => "↑",
            Self::Down => "↓",
            Self::Left => "←",
            Self::Right => "→",
            Self::PageUp => "PgUp",
            Self::PageDown => "PgDn",
            Self::Home => "Home",
            Self::End => "End",
            Self::Tab => "Tab",
            Self::BackTab => "Shift-Tab",
            Self::Enter => "Enter",
            Self::Escape => "Esc",
            Self::Backspace => "Backspace",
        };
        name.to_owned()
    }
}
