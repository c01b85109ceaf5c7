//! Facts about arms and trials that are no causes: one function each. The list is in [the module above](super).

mod equal_coverage;
mod host_memory;
mod in_force;
mod load;
mod made_huge;
mod mechanism;
mod noise;
mod pool;
mod prices;
mod rested;
mod short;
mod taken;

pub use super::breakdown::seconds;
pub use equal_coverage::{SameCoverage, equal_coverage};
pub use host_memory::{Uneven, first_touch, uneven};
pub use in_force::{InForce, NotApplied, in_force, not_applied};
pub use load::{Limit, LoadLimit, load_limit, load_limits};
pub use made_huge::{MadeHuge, NothingMade, collapsed_later, huge_code};
pub use mechanism::{MechanismCost, MechanismFacts, mechanism};
pub use noise::{Noise, noise};
pub use pool::{Pool, pool};
pub use prices::{is_price_of_memory, losses, prices};
pub use rested::{Rested, rested};
pub use short::{TooShort, too_short};
pub use taken::{Taken, taken_by_chance};

pub(super) use host_memory::{huge_bytes, uneven_of};
pub(super) use made_huge::why_nothing;
pub(super) use pool::pool_bytes;
