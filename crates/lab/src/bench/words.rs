//! The words of a cell, and their parsing for all suites.

use crate::Trouble;

/// The words of a cell that were not read yet.
pub(crate) struct Words<'a> {
    cell: &'a str,
    rest: std::str::Split<'a, char>,
}

impl<'a> Words<'a> {
    pub(crate) fn of(cell: &'a str) -> Self {
        Self {
            cell,
            rest: cell.split('/'),
        }
    }

    fn next(&mut self) -> Result<&'a str, Trouble> {
        let missing = || Trouble::Usage(format!("the cell `{}` has too few words", self.cell));
        self.rest.next().ok_or_else(missing)
    }

    /// Takes the next word, which must be one of these names.
    pub(crate) fn name<T: Copy>(&mut self, known: &[(&str, T)]) -> Result<T, Trouble> {
        let word = self.next()?;
        let found = known.iter().find(|(name, _)| *name == word);
        found.map(|&(_, one)| one).ok_or_else(|| {
            let names: Vec<&str> = known.iter().map(|(name, _)| *name).collect();
            let cell = self.cell;
            let names = names.join(", ");
            Trouble::Usage(format!("`{word}` in the cell `{cell}` is none of {names}"))
        })
    }

    /// Takes the next word, which must be a number above 0.
    pub(crate) fn number(&mut self) -> Result<usize, Trouble> {
        let word = self.next()?;
        let number = word.parse().ok().filter(|&number| number > 0);
        number.ok_or_else(|| {
            let cell = self.cell;
            Trouble::Usage(format!(
                "`{word}` in the cell `{cell}` is no number above 0"
            ))
        })
    }

    /// Takes the next word, which must be a share in percent: 0 to 99.
    pub(crate) fn share(&mut self) -> Result<usize, Trouble> {
        let word = self.next()?;
        let percent = word.parse().ok().filter(|&percent| percent < 100);
        percent.ok_or_else(|| {
            let cell = self.cell;
            Trouble::Usage(format!(
                "`{word}` in the cell `{cell}` is no percentage from 0 to 99"
            ))
        })
    }

    /// Fails if words are left.
    pub(crate) fn finish(mut self) -> Result<(), Trouble> {
        match self.rest.next() {
            None => Ok(()),
            Some(word) => {
                let cell = self.cell;
                Err(Trouble::Usage(format!(
                    "the cell `{cell}` goes on after its end: `{word}`"
                )))
            }
        }
    }
}

/// The median of an odd number of values; of an even number, the mean of the two in the middle. NaN without values.
pub(crate) fn median(values: impl Iterator<Item = f64>) -> f64 {
    let mut values: Vec<f64> = values.collect();
    values.sort_unstable_by(f64::total_cmp);
    let middle = values.len() / 2;
    match (values.get(middle), values.len() % 2) {
        (None, _) => f64::NAN,
        (Some(&value), 1) => value,
        (Some(&above), _) => (values[middle - 1] + above) / 2.0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_names_and_numbers_to_the_end() {
        let known = [("load", 1), ("store", 2)];
        let mut words = Words::of("store/64");
        assert_eq!(words.name(&known).unwrap(), 2);
        assert_eq!(words.number().unwrap(), 64);
        assert!(matches!(words.number(), Err(Trouble::Usage(_))));
        let mut words = Words::of("0/99/100");
        assert_eq!((words.share().unwrap(), words.share().unwrap()), (0, 99));
        assert!(matches!(words.share(), Err(Trouble::Usage(_))));
        let mut words = Words::of("jump/0/x");
        assert!(matches!(words.name(&known), Err(Trouble::Usage(_))));
        assert!(matches!(words.number(), Err(Trouble::Usage(_))));
        assert!(matches!(words.finish(), Err(Trouble::Usage(_))));
    }

    #[test]
    fn medians_of_few() {
        assert_eq!(median([3.0, 1.0, 2.0].into_iter()), 2.0);
        assert_eq!(median([4.0, 1.0].into_iter()), 2.5);
        assert!(median([].into_iter()).is_nan());
    }
}
