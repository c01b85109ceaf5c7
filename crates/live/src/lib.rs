//! An experiment inside a running process: switches between huge and small pages, with the work of
//! each period.
//!
//! This crate reads no file: it chooses blocks, sizes calls, sets the times of a period, and parses
//! the answers of sources. To add a source of work, add a variant of [`Source`].

mod answers;
mod blocks;
mod course;
mod exposure;
mod guard;
mod latency;
mod pace;
mod placebo;
mod resp;
mod sites;
mod source;
mod timing;

pub use answers::{field_of_info, field_of_stats, printed_count, sample_of_metrics, sum_of_io};
pub use blocks::{Block, Blocks, blocks, mapping_skip, own_pages, shared_block};
pub use course::Courses;
pub use exposure::{Exposure, HELD};
pub use guard::{Guard, Limit, Watched};
pub use latency::{Histogram, LatencySource, histogram_of_metrics, histogram_of_redis};
pub use pace::{Call, Hold, Longest, Pace};
pub use placebo::Placebos;
pub use resp::Reply;
pub use sites::{Layout, MOST_SITES, Mapped, MappedProcess, SwitchedSite, mapped};
pub use source::{FORMS as SOURCE_FORMS, Place, Source};
pub use timing::{Calibration, Order, Times, settle, thinned, times};
