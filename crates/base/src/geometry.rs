//! Checks page sizes from a file: as divisors, impossible sizes would cause endless loops and unlimited memory.

use super::units::bytes_text;

/// No kernel has smaller or larger pages.
const SIZES: std::ops::RangeInclusive<u64> = 1 << 12..=1 << 40;
/// The largest number of entries in a page table, as with pages of 64 KiB.
const MOST_ENTRIES: u64 = 1 << 13;

/// A field and its value, in bytes.
pub type Named<'a> = (&'a str, u64);

/// Refuses sizes that no machine has: of base pages, of the huge pages built from them, and of pages between the two.
///
/// # Errors
/// The wrong field, with the reason.
pub fn check(
    base: Named<'_>,
    huge: Option<Named<'_>>,
    between: Option<(&str, &[u64])>,
) -> Result<(), String> {
    is_size(base)?;
    let huge = huge.map(|huge| {
        is_size(huge)?;
        if huge.1 < base.1 || huge.1 / base.1 > MOST_ENTRIES {
            let (least, most) = (bytes_text(base.1), bytes_text(base.1 * MOST_ENTRIES));
            return Err(wrong(
                huge,
                &format!("with pages of {least} it is at most {most}"),
            ));
        }
        Ok(huge)
    });
    huge.transpose()?;
    let (name, sizes) = between.unwrap_or_default();
    sizes.iter().try_for_each(|&size| is_size((name, size)))
}

fn is_size(field: Named<'_>) -> Result<(), String> {
    match field.1.is_power_of_two() && SIZES.contains(&field.1) {
        true => Ok(()),
        false => Err(wrong(
            field,
            "a page has a power of two of bytes, 4096 or more",
        )),
    }
}

fn wrong((name, size): Named<'_>, why: &str) -> String {
    format!("`{name}` is {size}, and {why}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_of_machines_are_sizes() {
        for (page, huge) in [(12, 21), (14, 25), (16, 29), (12, 12)] {
            let huge = Some(("pmd_bytes", 1 << huge));
            assert_eq!(
                check(
                    ("page_bytes", 1 << page),
                    huge,
                    Some(("folios", &[1 << 16]))
                ),
                Ok(())
            );
        }
        assert_eq!(check(("page_bytes", 4096), None, None), Ok(()));
    }

    #[test]
    fn other_numbers_are_refused_by_the_name_of_their_field() {
        for wrong in [0, 1, 4095, 4097, 1 << 31 | 1, 1 << 63, u64::MAX] {
            let error = check(("page_bytes", wrong), None, None).unwrap_err();
            assert!(
                error.contains("`page_bytes`") && error.contains(&wrong.to_string()),
                "{error}"
            );
            let error = check(("page_bytes", 4096), Some(("pmd_bytes", wrong)), None).unwrap_err();
            assert!(error.contains("`pmd_bytes`"), "{error}");
            let error =
                check(("page_bytes", 4096), None, Some(("folio_sizes", &[wrong]))).unwrap_err();
            assert!(error.contains("`folio_sizes`"), "{error}");
        }
        assert!(check(("page_bytes", 4096), Some(("pmd_bytes", 1 << 30)), None).is_err());
        assert!(check(("page_bytes", 1 << 16), Some(("pmd_bytes", 1 << 12)), None).is_err());
    }
}
