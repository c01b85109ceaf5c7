use std::str::FromStr;

use strum::VariantArray;

/// A value that is written as one of a few words, which for kernel settings are also what the
/// sysfs file takes.
pub(super) trait Word: VariantArray + Copy + Into<&'static str> + FromStr {
    /// The word.
    fn word(self) -> &'static str {
        self.into()
    }

    /// Every word, in the order in which it is offered.
    fn words() -> Vec<&'static str> {
        Self::VARIANTS.iter().map(|each| each.word()).collect()
    }
}

impl<T: VariantArray + Copy + Into<&'static str> + FromStr> Word for T {}
