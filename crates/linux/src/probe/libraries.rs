//! Finds the C library and the allocators available to dynamically linked programs.

use std::collections::BTreeMap;

use crate::machine::root::Root;

/// The library to preload for each value of `malloc=`, as a prefix of the file name.
const ALLOCATORS: [(&str, &str); 3] = [
    ("jemalloc", "libjemalloc.so."),
    ("mimalloc", "libmimalloc.so."),
    ("tcmalloc", "libtcmalloc_minimal.so."),
];

/// Reads the version of the system's glibc from the banner in `libc.so.6`. Asking our own process would answer for the
/// library that we were built with, or for none at all (musl).
#[must_use]
pub fn find_glibc(root: &Root, arch: &str) -> Option<(u32, u32)> {
    folders(root, arch)
        .iter()
        .filter_map(|folder| root.read(format!("{folder}/libc.so.6")).ok())
        .find_map(|content| parse_glibc_banner(&content))
}

/// `GNU C Library (Debian GLIBC 2.36-9) stable release version 2.36.`
#[must_use]
pub fn parse_glibc_banner(content: &[u8]) -> Option<(u32, u32)> {
    const BANNER: &[u8] = b"GNU C Library";
    let start = content
        .windows(BANNER.len())
        .position(|window| window == BANNER)?;
    let line = content[start..].split(|&byte| byte == b'\n').next()?;
    let text = String::from_utf8_lossy(line.get(..200).unwrap_or(line)).into_owned();
    let (_, version) = text.rsplit_once(" version ")?;
    let mut numbers = version.split(['.', ',', ' ']);
    let (major, minor) = (numbers.next()?, numbers.next()?);
    Some((major.parse().ok()?, minor.parse().ok()?))
}

/// Returns true if the loader of dynamically linked programs knows a tunable. Its file holds the names of all.
#[must_use]
pub fn loader_has_tunable(root: &Root, arch: &str, tunable: &str) -> bool {
    // `ld-linux-x86-64.so.2` and `ld-linux-aarch64.so.1`.
    let start = format!("ld-linux-{}.so.", arch.replace('_', "-"));
    let found = folders(root, arch).into_iter().find_map(|folder| {
        let names = root.list(&folder).unwrap_or_default();
        let name = names.into_iter().find(|name| name.starts_with(&start))?;
        root.read(format!("{folder}/{name}")).ok()
    });
    found.is_some_and(|image| holds_text(&image, tunable))
}

/// Returns true if an image holds a text that ends with a zero byte.
pub(crate) fn holds_text(image: &[u8], text: &str) -> bool {
    let ended = [text.as_bytes(), b"\0"].concat();
    image.windows(ended.len()).any(|window| window == ended)
}

/// Returns allocators by their policy value, with the path to preload.
#[must_use]
pub fn find_allocators(root: &Root, arch: &str) -> BTreeMap<String, String> {
    let mut found = BTreeMap::new();
    for folder in folders(root, arch) {
        for name in root.list(&folder).unwrap_or_default() {
            if let Some((value, _)) = ALLOCATORS.iter().find(|(_, start)| name.starts_with(start)) {
                found
                    .entry((*value).to_owned())
                    .or_insert_with(|| format!("/{folder}/{name}"));
            }
        }
    }
    found
}

/// Returns the library directories of the machine's architecture, without those for others: a 32-bit library cannot be
/// preloaded into a 64-bit program.
fn folders(root: &Root, arch: &str) -> Vec<String> {
    let multiarch = root.list("usr/lib").unwrap_or_default();
    let start = format!("{arch}-linux-gnu");
    multiarch
        .into_iter()
        .filter(|name| name.starts_with(&start))
        .map(|name| format!("usr/lib/{name}"))
        .chain(["usr/local/lib", "usr/lib64", "lib64", "usr/lib"].map(str::to_owned))
        .collect()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::machine::root::machine_of;

    #[test]
    fn the_banner_names_the_version() {
        let banner = |text: &[u8]| parse_glibc_banner(&[b"\0\x7f", text, b"\nCopyright"].concat());
        assert_eq!(
            banner(b"GNU C Library (Debian GLIBC 2.36-9+deb12u14) stable release version 2.36."),
            Some((2, 36))
        );
        assert_eq!(
            banner(b"GNU C Library stable release version 2.17, by Roland McGrath et al."),
            Some((2, 17))
        );
        assert_eq!(banner(b"musl libc"), None);
    }

    #[test]
    fn allocators_of_the_own_architecture_are_found() {
        let machine = tempfile::tempdir().unwrap();
        for file in [
            "usr/lib/x86_64-linux-gnu/libjemalloc.so.2",
            "usr/lib/i386-linux-gnu/libmimalloc.so.2",
            "usr/lib64/libtcmalloc_minimal.so.4",
        ] {
            let path = machine.path().join(file);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, "").unwrap();
        }
        let found = find_allocators(&Root::at(machine.path()), "x86_64");
        assert_eq!(
            found.into_iter().collect::<Vec<_>>(),
            [
                ("jemalloc", "/usr/lib/x86_64-linux-gnu/libjemalloc.so.2"),
                ("tcmalloc", "/usr/lib64/libtcmalloc_minimal.so.4"),
            ]
            .map(|(value, path)| (value.to_owned(), path.to_owned()))
        );
    }

    #[test]
    fn the_loader_of_the_own_architecture_is_asked() {
        let loader = "\u{7f}ELF\0glibc.elf.thp\0glibc.malloc.hugetlb\0";
        let (_folder, root) = machine_of(&[
            ("usr/lib/x86_64-linux-gnu/ld-linux-x86-64.so.2", loader),
            ("usr/lib/ld-linux-aarch64.so.1", "\0glibc.elf.thp.other\0"),
        ]);
        assert!(loader_has_tunable(&root, "x86_64", "glibc.elf.thp"));
        assert!(!loader_has_tunable(&root, "x86_64", "glibc.elf.th"));
        assert!(!loader_has_tunable(&root, "x86_64", "glibc.elf.other"));
        assert!(!loader_has_tunable(&root, "aarch64", "glibc.elf.thp"));
        assert!(!loader_has_tunable(&root, "riscv64", "glibc.elf.thp"));
    }

    proptest! {
        #[test]
        fn no_bytes_make_it_panic(bytes: Vec<u8>, tail in "[ -~]{0,60}") {
            let _ = parse_glibc_banner(&bytes);
            let _ = parse_glibc_banner(format!("GNU C Library{tail}").as_bytes());
        }
    }
}
