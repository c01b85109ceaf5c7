//! The readings of one trial by metric.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::iter::Zip;
use std::ops::Index;
use std::slice;
use std::sync::Arc;

use serde::de::{MapAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::Reading;

/// The readings of one trial by the names of their metrics, in the order of the names.
///
/// The trials of a record read the same metrics, so they share one list of names ([`Names`]). A lookup of one metric in
/// thousands of trials searches one cached list, and reads one place of each trial.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Readings {
    /// Ascending.
    names: Arc<Vec<String>>,
    /// One for each name.
    values: Vec<Reading>,
}

impl Readings {
    /// The reading of a metric.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<&Reading> {
        self.values.get(self.place(name).ok()?)
    }

    /// Returns true if a metric was read or its reading failed.
    #[must_use]
    pub fn contains_key(&self, name: &str) -> bool {
        self.place(name).is_ok()
    }

    /// The names, ascending.
    pub fn keys(&self) -> slice::Iter<'_, String> {
        self.names.iter()
    }

    /// The readings in the order of their names.
    pub fn values(&self) -> slice::Iter<'_, Reading> {
        self.values.iter()
    }

    /// The names with their readings.
    pub fn iter(&self) -> Iter<'_> {
        self.names.iter().zip(&self.values)
    }

    /// The same, mutable.
    pub fn iter_mut(&mut self) -> IterMut<'_> {
        self.names.iter().zip(&mut self.values)
    }

    /// Adds a reading, or replaces the one with the same name.
    pub fn insert(&mut self, name: String, reading: Reading) {
        // Records list them in order.
        let is_last = self.names.last().is_none_or(|last| *last < name);
        let place = if is_last {
            Err(self.names.len())
        } else {
            self.place(&name)
        };
        match place {
            Ok(at) => self.values[at] = reading,
            Err(at) => {
                Arc::make_mut(&mut self.names).insert(at, name);
                self.values.insert(at, reading);
            }
        }
    }

    /// The position of a name, or its insertion point.
    fn place(&self, name: &str) -> Result<usize, usize> {
        self.names
            .binary_search_by(|known| known.as_str().cmp(name))
    }

    /// Returns true if two trials share their names.
    fn shares(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.names, &other.names)
    }
}

/// Iterator over names and readings.
pub type Iter<'a> = Zip<slice::Iter<'a, String>, slice::Iter<'a, Reading>>;

/// The same, mutable.
pub type IterMut<'a> = Zip<slice::Iter<'a, String>, slice::IterMut<'a, Reading>>;

/// Lists of names, each stored once.
#[derive(Debug, Default)]
pub struct Names(BTreeSet<Arc<Vec<String>>>);

impl Names {
    /// Makes readings share their names with earlier ones that have the same names.
    pub fn share(&mut self, readings: &mut Readings) {
        match self.0.get(&readings.names) {
            Some(known) => readings.names = Arc::clone(known),
            None => {
                self.0.insert(Arc::clone(&readings.names));
            }
        }
    }
}

/// The names of all readings of some trials.
#[must_use]
pub fn names<'a>(all: impl IntoIterator<Item = &'a Readings>) -> BTreeSet<&'a str> {
    let mut names = BTreeSet::new();
    let mut last: Option<&Readings> = None;
    for readings in all {
        if last.is_none_or(|last| !last.shares(readings)) {
            names.extend(readings.keys().map(String::as_str));
        }
        last = Some(readings);
    }
    names
}

impl Index<&str> for Readings {
    type Output = Reading;

    fn index(&self, name: &str) -> &Reading {
        self.get(name).expect("no reading of this name")
    }
}

impl<'a> IntoIterator for &'a Readings {
    type Item = (&'a String, &'a Reading);
    type IntoIter = Iter<'a>;

    fn into_iter(self) -> Iter<'a> {
        self.iter()
    }
}

impl<'a> IntoIterator for &'a mut Readings {
    type Item = (&'a String, &'a mut Reading);
    type IntoIter = IterMut<'a>;

    fn into_iter(self) -> IterMut<'a> {
        self.iter_mut()
    }
}

impl Extend<(String, Reading)> for Readings {
    fn extend<T: IntoIterator<Item = (String, Reading)>>(&mut self, all: T) {
        for (name, reading) in all {
            self.insert(name, reading);
        }
    }
}

impl FromIterator<(String, Reading)> for Readings {
    fn from_iter<T: IntoIterator<Item = (String, Reading)>>(all: T) -> Self {
        let mut readings = Self::default();
        readings.extend(all);
        readings
    }
}

impl From<BTreeMap<String, Reading>> for Readings {
    fn from(all: BTreeMap<String, Reading>) -> Self {
        all.into_iter().collect()
    }
}

impl Serialize for Readings {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self)
    }
}

impl<'de> Deserialize<'de> for Readings {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(ReadingsVisitor)
    }
}

struct ReadingsVisitor;

impl<'de> Visitor<'de> for ReadingsVisitor {
    type Value = Readings;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a map")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Readings, A::Error> {
        let mut readings = Readings::default();
        while let Some((name, reading)) = map.next_entry()? {
            readings.insert(name, reading);
        }
        Ok(readings)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        /// They may come in any order.
        #[test]
        fn they_are_a_map_by_name(
            pairs in prop::collection::vec(("[a-d]{1,2}", 0.0_f64..9.0), 0..20),
        ) {
            let pairs = pairs.into_iter().map(|(name, value)| (name, Reading::of(value)));
            let map: BTreeMap<String, Reading> = pairs.clone().collect();
            let readings: Readings = pairs.collect();
            prop_assert!(readings.iter().eq(&map));
            for name in map.keys().map(String::as_str).chain(["", "b", "zz"]) {
                prop_assert_eq!(readings.get(name), map.get(name));
            }
            let text = serde_json::to_string(&readings).unwrap();
            prop_assert_eq!(&text, &serde_json::to_string(&map).unwrap());
            prop_assert_eq!(serde_json::from_str::<Readings>(&text).unwrap(), readings);
        }
    }

    #[test]
    fn trials_with_the_same_names_share_them() {
        let of = |names: &[&str]| -> Readings {
            let pairs = names
                .iter()
                .map(|name| ((*name).to_owned(), Reading::of(1.0)));
            pairs.collect()
        };
        let mut all = [of(&["a", "b"]), of(&["a"]), of(&["b", "a"])];
        let mut known = Names::default();
        all.iter_mut().for_each(|readings| known.share(readings));
        assert!(all[0].shares(&all[2]) && !all[0].shares(&all[1]));
        assert_eq!(names(&all), BTreeSet::from(["a", "b"]));
        // Additions to one do not appear in the other.
        all[2].insert("c".to_owned(), Reading::of(2.0));
        assert_eq!((all[0].keys().len(), all[2].keys().len()), (2, 3));
    }
}
