//! The choice of huge sites.

use std::collections::BTreeSet;
use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use super::{Identity, Site};

/// The huge sites; all others are kept small.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Chosen {
    /// Every site.
    All,
    /// These, possibly none.
    These(BTreeSet<Site>),
}

/// A choice of sites, in one identity: `mapping:1-64m+2-16m`.
#[derive(Clone, Debug, Serialize, Deserialize, PartialEq, Eq)]
#[serde(try_from = "String", into = "String")]
pub struct SiteChoice {
    /// The identity that distinguishes sites.
    pub by: Identity,
    /// The huge ones.
    pub huge: Chosen,
}

impl SiteChoice {
    /// These sites.
    #[must_use]
    pub fn of(by: Identity, huge: impl IntoIterator<Item = Site>) -> Self {
        Self {
            by,
            huge: Chosen::These(huge.into_iter().collect()),
        }
    }

    /// Returns true if a site is in the list.
    #[must_use]
    pub fn names(&self, site: Site) -> bool {
        match &self.huge {
            Chosen::All => false,
            Chosen::These(sites) => sites.contains(&site),
        }
    }

    /// Returns true if a site is huge.
    #[must_use]
    pub fn has(&self, site: Site) -> bool {
        match &self.huge {
            Chosen::All => true,
            Chosen::These(sites) => sites.contains(&site),
        }
    }
}

impl fmt::Display for SiteChoice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let list = match &self.huge {
            Chosen::All => "all".to_owned(),
            Chosen::These(sites) if sites.is_empty() => "none".to_owned(),
            Chosen::These(sites) => {
                let sites: Vec<String> = sites.iter().map(ToString::to_string).collect();
                sites.join("+")
            }
        };
        write!(f, "{}:{list}", self.by)
    }
}

impl FromStr for SiteChoice {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let fault = || {
            format!(
                "`sites={text}`: expected mapping, site, library or chunk-SIZE, a colon, and all, \
                 none or sites with + between, as in mapping:1-64m+2-16m"
            )
        };
        let (by, list) = text.split_once(':').ok_or_else(fault)?;
        let by: Identity = by.parse().map_err(|_| fault())?;
        let huge = match list {
            "all" => Chosen::All,
            "none" => Chosen::These(BTreeSet::new()),
            list => Chosen::These(list.split('+').map(str::parse).collect::<Result<_, _>>()?),
        };
        let choice = Self { by, huge };
        match choice.foreign() {
            Some(site) => Err(format!("`{site}` is no site by {by}")),
            None => Ok(choice),
        }
    }
}

impl SiteChoice {
    /// A site in the syntax of the other identity.
    fn foreign(&self) -> Option<Site> {
        let Chosen::These(sites) = &self.huge else {
            return None;
        };
        let is_cut = self.by.part_bytes().is_some();
        let is_foreign = |site: &&Site| match site {
            Site::Heap | Site::Data => is_cut,
            Site::Mapping { .. } | Site::Others => self.by != Identity::Mapping,
            Site::Chain { .. } => self.by != Identity::Chain,
            Site::Library { .. } => self.by != Identity::Library,
            Site::Part { .. } => !is_cut,
        };
        sites.iter().find(is_foreign).copied()
    }
}

impl From<SiteChoice> for String {
    fn from(choice: SiteChoice) -> Self {
        choice.to_string()
    }
}

impl TryFrom<String> for SiteChoice {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        text.parse()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn choices_are_told_by_their_identity() {
        let choice: SiteChoice = "mapping:1-64m+heap".parse().expect("a choice");
        assert!(choice.has(Site::Heap) && !choice.has(Site::Data));
        for wrong in [
            "1-64m",
            "mapping:",
            "mapping:x00ff-2m",
            "site:1-2m",
            "mapping:0-2m",
            "chunk:1-2m.1",
            "chunk-1m:none",
            "chunk-64m:1-64m",
            "chunk-64m:heap",
            "mapping:1-64m.1",
            "library:1-64m",
        ] {
            assert!(wrong.parse::<SiteChoice>().is_err(), "{wrong}");
        }
        for (text, has_heap) in [("site:none", false), ("site:all", true)] {
            let choice: SiteChoice = text.parse().expect("a choice");
            assert_eq!(choice.has(Site::Heap), has_heap, "{text}");
        }
    }

    #[test]
    fn every_kind_of_choice_comes_back() {
        for text in [
            "mapping:2-16m+1-64m",
            "site:x0000beef-2m",
            "library:l0000beef+heap",
            "chunk-64m:heap.2+1-1g.1+1-1g.16",
        ] {
            let choice: SiteChoice = text.parse().expect("a choice");
            assert_eq!(choice.to_string().parse(), Ok(choice), "{text}");
        }
    }

    proptest! {
        #[test]
        fn no_text_panics(text: String) {
            let _ = text.parse::<SiteChoice>();
        }
    }
}
