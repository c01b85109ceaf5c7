use std::collections::BTreeSet;

use crate::machine::error::Result;
use crate::machine::root::Root;

/// The functions of the running kernel and its modules, by name (`/proc/kallsyms`).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Functions {
    names: BTreeSet<String>,
}

/// The result of a function lookup.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FunctionLookup {
    /// Its name in this kernel.
    pub name: String,
    /// True if that is its source name; otherwise the compiler cloned it, with other parameters or part of the body.
    pub whole: bool,
}

/// Suffixes that compilers append to modified functions. `.cold` is not included: that part hardly ever runs.
const CHANGED: [&str; 3] = [".constprop.", ".isra.", ".part."];

impl Functions {
    /// Returns the first of these names that the kernel has; the plain name takes precedence over its clones.
    #[must_use]
    pub fn find(&self, names: impl IntoIterator<Item = impl AsRef<str>>) -> Option<FunctionLookup> {
        names
            .into_iter()
            .find_map(|name| self.find_one(name.as_ref()))
    }

    fn find_one(&self, name: &str) -> Option<FunctionLookup> {
        if self.names.contains(name) {
            return Some(FunctionLookup {
                name: name.to_owned(),
                whole: true,
            });
        }
        let start = format!("{name}.");
        let changed = self.beginning_with(&start).find(|found| {
            let rest = &found[name.len()..];
            CHANGED.iter().any(|mark| rest.starts_with(mark)) && !rest.contains(".cold")
        })?;
        Some(FunctionLookup {
            name: changed.to_owned(),
            whole: false,
        })
    }

    fn beginning_with<'a>(&'a self, start: &'a str) -> impl Iterator<Item = &'a str> {
        let from = self.names.range(start.to_owned()..);
        from.map(String::as_str)
            .take_while(move |name| name.starts_with(start))
    }

    /// Returns suggestions for a mistyped name: names that contain it, shortest first.
    #[must_use]
    pub fn like(&self, name: &str) -> Vec<&str> {
        const MOST: usize = 5;
        let mut similar: Vec<&str> = self
            .names
            .iter()
            .map(String::as_str)
            .filter(|found| found.contains(name) && !found.contains('.'))
            // Padding before a function is not a function (CONFIG_FUNCTION_PADDING_CFI).
            .filter(|found| !found.starts_with("__pfx_") && !found.starts_with("__cfi_"))
            .collect();
        similar.sort_by_key(|found| found.len());
        similar.truncate(MOST);
        similar
    }

    /// Returns true if there are no names, because the kernel keeps or shows none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.names.is_empty()
    }
}

/// Parses `/proc/kallsyms` (kernel/kallsyms.c): address, kind and name; malformed lines and symbols other than code are
/// ignored.
#[must_use]
pub fn parse_kallsyms(bytes: &[u8]) -> Functions {
    let lines = bytes.split(|&byte| byte == b'\n');
    Functions {
        names: lines.filter_map(function_of).map(str::to_owned).collect(),
    }
}

fn function_of(line: &[u8]) -> Option<&str> {
    let mut fields = std::str::from_utf8(line).ok()?.split_ascii_whitespace();
    let (_, kind, name) = (fields.next()?, fields.next()?, fields.next()?);
    matches!(kind, "t" | "T" | "w" | "W").then_some(name)
}

/// Reads `/proc/kallsyms`; addresses may be hidden, names never are.
///
/// # Errors
/// It does not exist: the kernel keeps no names (CONFIG_KALLSYMS).
pub fn read_kallsyms(root: &Root) -> Result<Functions> {
    Ok(parse_kallsyms(&root.read("proc/kallsyms")?))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn functions() -> Functions {
        parse_kallsyms(
            b"ffffffff816207e0 t __alloc_pages_slowpath.constprop.0\n\
              ffffffff816207e1 t __alloc_pages_slowpath.constprop.0.cold\n\
              0000000000000000 T folio_zero_user\n\
              0000000000000000 t do_wp_page.cold\n\
              0000000000000000 t zs_malloc\t[zsmalloc]\n\
              0000000000000000 D clear_huge_page\n\
              torn\n",
        )
    }

    #[test]
    fn what_the_compiler_changed_is_found_and_told() {
        let found = functions()
            .find(["__alloc_pages_slowpath"])
            .expect("it is there");
        assert_eq!(found.name, "__alloc_pages_slowpath.constprop.0");
        assert!(!found.whole);
    }

    #[test]
    fn the_first_name_that_is_there_is_taken() {
        let found = functions().find(["clear_huge_page", "folio_zero_user"]);
        let whole = FunctionLookup {
            name: "folio_zero_user".to_owned(),
            whole: true,
        };
        assert_eq!(found, Some(whole));
        assert_eq!(functions().find(["do_wp_page"]), None, "only its cold part");
        assert!(functions().find(["zs_malloc"]).is_some(), "in a module");
        assert_eq!(functions().like("zero"), ["folio_zero_user"]);
    }

    proptest! {
        #[test]
        fn no_bytes_panic(bytes: Vec<u8>, name: String) {
            let functions = parse_kallsyms(&bytes);
            let _ = functions.find([&name]);
            let _ = functions.like(&name);
        }
    }
}
