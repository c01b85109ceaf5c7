//! Ratios of counts to the instructions and cycles of the same group.

use std::collections::BTreeMap;

use super::Count;
use super::kind::{CYCLES, INSTRUCTIONS};
use hugewise_base::missing::Missing;
use hugewise_experiment::run::trial::Reading;

mod counts;

use counts::Counts;

/// A derived figure.
#[derive(Clone, Copy, Debug)]
pub struct Derived {
    /// Its name. `_ratio` is a share from 0 to 1, `_per_kinst` is per thousand instructions.
    pub name: &'static str,
    /// Its meaning.
    pub doc: &'static str,
    make: fn(&Counts<'_>) -> Value,
}

type Value = Result<f64, Missing>;

const fn derived(name: &'static str, doc: &'static str, make: fn(&Counts<'_>) -> Value) -> Derived {
    Derived { name, doc, make }
}

/// All figures derived from counts.
#[rustfmt::skip]
pub static DERIVED: &[Derived] = &[
    derived("instructions_per_cycle", "instructions over cycles", |c| c.per(INSTRUCTIONS, CYCLES)),
    derived(
        "walk_cycles_at_most_ratio",
        "share of cycles with a page walk under way, at most: walks for loads, stores and code may \
         overlap, and the core computes meanwhile",
        |c| c.at_most(),
    ),
    derived("walk_cycles_at_least_ratio", "the same, at least: the largest of the three", |c| c.at_least()),
    derived("data_walk_cycles_ratio", "share of cycles with a walk for data, at most", |c| c.data_cycles()),
    derived("code_walk_cycles_ratio", "share of cycles with a walk for code, at most",
        |c| c.cycles_of("itlb").map_err(no_cycles)),
    derived("stall_data_ratio", "share of cycles that waited for a data translation",
        |c| c.share("stall_backend_tlb")),
    derived("stall_code_ratio", "share of cycles that waited for a code translation",
        |c| c.share("stall_frontend_tlb")),
    derived("dtlb_walks_per_kinst", "walks for data", |c| c.data("walks")),
    derived("itlb_walks_per_kinst", "walks for code", |c| c.kinst("itlb_walks")),
    derived("dtlb_walks_4k_ratio", "walks for data that went to 4 KiB pages", |c| c.size("4k")),
    derived("dtlb_walks_2m_ratio", "to 2 MiB pages", |c| c.size("2m")),
    derived("dtlb_walks_1g_ratio", "to 1 GiB pages", |c| c.size("1g")),
    derived("dtlb_walks_coalesced_ratio", "to coalesced pages", |c| c.size("coalesced")),
    derived("dtlb_walks_small_ratio", "to single pages (Arm)", |c| c.size("small")),
    derived("dtlb_walks_large_ratio", "to blocks or contiguous pages (Arm)", |c| c.size("large")),
    derived("dtlb_l2_hits_per_kinst", "data, served by the second level",
        |c| c.data("l2_hits").or_else(|_| c.sum(&SIZES, "dtlb_l2_hits"))),
    derived("itlb_l2_hits_per_kinst", "code, served by the second level", |c| c.kinst("itlb_l2_hits")),
    derived("dtlb_l1_misses_per_kinst", "data, missed by the first level", |c| c.kinst("dtlb_l1_misses")),
    derived("walker_memory_loads_per_kinst", "loads of walks that went to memory",
        |c| c.kinst("walker_loads_data_memory")),
];

/// Page sizes that events distinguish.
const SIZES: [&str; 4] = ["4k", "coalesced", "2m", "1g"];
const ARM_SIZES: [&str; 2] = ["small", "large"];

/// Derives every figure that the counts allow; the others give the reason why not.
#[must_use]
pub fn derive(counts: &[Count], hardware: Option<&Missing>) -> BTreeMap<String, Reading> {
    let counts = Counts { counts, hardware };
    let one = |derived: &Derived| {
        let value = (derived.make)(&counts);
        (derived.name.to_owned(), Reading::from(value))
    };
    DERIVED.iter().map(one).collect()
}

impl Counts<'_> {
    /// All data accesses if an event counts them, otherwise loads and stores.
    fn data(&self, what: &str) -> Value {
        let loads = format!("dtlb_load_{what}");
        if self.has(&loads) {
            return Ok(self.kinst(&loads)? + self.kinst(&format!("dtlb_store_{what}"))?);
        }
        self.kinst(&format!("dtlb_{what}"))
    }

    /// Cycles with an active walk of one side. Uses cycles if they are counted, otherwise the active walks summed over
    /// cycles, which is never less.
    fn cycles_of(&self, side: &str) -> Value {
        let (active, pending) = (
            format!("{side}_walk_active"),
            format!("{side}_walk_pending"),
        );
        if !self.has(&active) && self.has(&pending) {
            return Ok(self.per(&pending, CYCLES)?.min(1.0));
        }
        self.share(&active)
    }

    fn data_cycles(&self) -> Value {
        let one = ["active", "pending"].map(|what| format!("dtlb_walk_{what}"));
        let cycles = if one.iter().any(|kind| self.has(kind)) {
            self.cycles_of("dtlb")
        } else {
            let loads = self.cycles_of("dtlb_load");
            loads.and_then(|loads| Ok((loads + self.cycles_of("dtlb_store")?).min(1.0)))
        };
        cycles.map_err(no_cycles)
    }

    fn at_most(&self) -> Value {
        let code = self.cycles_of("itlb").map_err(no_cycles);
        Ok((self.data_cycles()? + code?).min(1.0))
    }

    fn at_least(&self) -> Value {
        let sides = ["dtlb_load", "dtlb_store", "itlb"];
        let shares: Vec<f64> = sides
            .iter()
            .map(|side| self.share(&format!("{side}_walk_active")))
            .collect::<Result<_, _>>()
            .map_err(no_cycles)?;
        Ok(shares.into_iter().fold(0.0, f64::max))
    }

    /// The share of one page size in all data walks of known size.
    fn size(&self, size: &str) -> Value {
        let own = self.data(&format!("walks_{size}"))?;
        let others = if ARM_SIZES.contains(&size) {
            &ARM_SIZES[..]
        } else {
            &SIZES[..]
        };
        let known = others
            .iter()
            .filter_map(|size| self.data(&format!("walks_{size}")).ok());
        let all: f64 = known.sum();
        if all > 0.0 {
            Ok(own / all)
        } else {
            Err(Missing::TooShort)
        }
    }

    fn sum(&self, sizes: &[&str], prefix: &str) -> Value {
        let each = sizes
            .iter()
            .map(|size| self.kinst(&format!("{prefix}_{size}")));
        each.sum()
    }
}

fn no_cycles(why: Missing) -> Missing {
    match why {
        Missing::NotSupported { what } => {
            let place = what.find(" on ").map_or("", |place| &what[place..]);
            Missing::not_supported(format!("an event for the cycles of page walks{place}"))
        }
        other => other,
    }
}

#[cfg(test)]
mod tests;
