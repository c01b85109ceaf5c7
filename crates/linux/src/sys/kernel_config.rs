//! The options that the kernel was built with: `/proc/config.gz`, or `/boot/config-RELEASE`.

use hugewise_base::gzip;

use crate::machine::root::Root;

/// Returns true if the kernel was built with an option, as `y` or `m`. Returns `None` if its
/// configuration cannot be read or lacks the option.
#[must_use]
pub fn read_option(root: &Root, name: &str) -> Option<bool> {
    let text = read_text(root)?;
    String::from_utf8_lossy(&text)
        .lines()
        .find_map(|line| parse_line(line, name))
}

fn read_text(root: &Root) -> Option<Vec<u8>> {
    let packed = root.read("proc/config.gz").ok();
    let unpacked = packed.and_then(|packed| Some(gzip::unpacked(&packed).ok()?.into_owned()));
    unpacked.or_else(|| {
        let release = root.read_trimmed("proc/sys/kernel/osrelease").ok()?;
        root.read(format!("boot/config-{release}")).ok()
    })
}

fn parse_line(line: &str, name: &str) -> Option<bool> {
    let unset = line
        .strip_prefix("# ")
        .and_then(|line| line.strip_suffix(" is not set"));
    if unset == Some(name) {
        return Some(false);
    }
    let (option, value) = line.split_once('=')?;
    (option == name).then_some(matches!(value, "y" | "m"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_option_is_set_unset_or_unknown() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::create_dir_all(folder.path().join("proc")).unwrap();
        let text = "CONFIG_A=y\n# CONFIG_B is not set\nCONFIG_AB=m\nCONFIG_N=n\n";
        let packed = gzip::gzip(text.as_bytes());
        std::fs::write(folder.path().join("proc/config.gz"), packed).unwrap();
        let root = Root::at(folder.path());
        let read = ["A", "B", "AB", "N", "C"].map(|it| read_option(&root, &format!("CONFIG_{it}")));
        assert_eq!(
            read,
            [Some(true), Some(false), Some(true), Some(false), None]
        );
        assert_eq!(
            read_option(&Root::at(folder.path().join("none")), "CONFIG_A"),
            None
        );
    }
}
