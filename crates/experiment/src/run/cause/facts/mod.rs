//! Facts about arms and trials other than causes: one function each, with a record as input.

mod load;
mod mechanism;
mod prices;
mod settings;

pub use super::breakdown::seconds;
pub use super::host_memory::{Rested, rested};
pub use load::{Limit, LoadLimit, load_limit};
pub use mechanism::{
    MadeHuge, MechanismCost, MechanismFacts, NothingMade, collapsed_later, huge_code, mechanism,
};
pub use prices::{is_price_of_memory, prices};
pub use settings::{
    InForce, NotApplied, Pool, Taken, in_force, not_applied, pool, taken_by_chance,
};

pub(in crate::run) use mechanism::not_reached;
pub(super) use mechanism::why_nothing;
pub(in crate::run) use settings::pool_bytes;
