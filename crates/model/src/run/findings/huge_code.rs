//! Claims how much of the program's code a policy put into huge pages.

use super::context::Context;
use super::made_huge::{CODE, claim};
use super::{Finding, Rule};

/// The rule of this module.
#[derive(Debug)]
pub(super) struct HugeCode;

impl Rule for HugeCode {
    fn id(&self) -> &'static str {
        "huge-code"
    }

    fn explain(&self) -> &'static str {
        "Claims that text=huge put code into huge pages: blocks of code in use were copied into \
         anonymous memory, made huge there, and moved over the mapping of the file. Its times include \
         the stops of one thread for it. Evidence: the stops, the bytes that were huge afterwards, and \
         how long threads stood. Refuted by code that was huge without it. Next: fewer iTLB misses \
         (`hugewise stat`), or a program that is linked with its code aligned to huge pages."
    }

    fn is_about_huge_pages(&self) -> bool {
        true
    }

    fn check(&self, context: &Context<'_>) -> Vec<Finding> {
        context.of_all(self, |view| claim(view, &CODE))
    }
}
