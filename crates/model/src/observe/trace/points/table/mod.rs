//! The table itself, by subject: each point with its means, the best first.

use std::borrow::Cow;

use super::{Decode, Hook, Key, Point, Preset};

mod allocation;
mod khugepaged;
mod locks;
mod pages;
mod reclaim;

const ORDER: Key = Key {
    parameters: &["order"],
    decode: Decode::Order,
};

/// Every point that has a name, in the order in which they are shown. The names of functions
/// are those of Linux 5.10 to 7.3.
#[must_use]
pub fn points() -> Vec<Point> {
    [
        allocation::allocation(),
        reclaim::reclaim(),
        khugepaged::khugepaged(),
        pages::pages(),
        locks::locks(),
    ]
    .concat()
}

/// A function, by the names that it has had, newest first.
fn function(names: &[&'static str], key: Option<Key>, includes: &'static str) -> Hook {
    Hook::Function {
        names: names.iter().map(|name| Cow::Borrowed(*name)).collect(),
        key,
        includes,
    }
}

fn point(
    preset: Preset,
    name: &'static str,
    title: &'static str,
    means: impl IntoIterator<Item = Hook>,
) -> Point {
    Point {
        name: Cow::Borrowed(name),
        title: Cow::Borrowed(title),
        preset,
        means: means.into_iter().collect(),
    }
}

fn event_by(key: Key, group: &'static str, name: &'static str, includes: &'static str) -> Hook {
    Hook::Event {
        group,
        name,
        key,
        includes,
    }
}
