//! `/proc/self/mountinfo` (proc_pid_mountinfo(5)).

/// One mount.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mount {
    /// Device of the file system, as `major:minor`.
    pub device: (u32, u32),
    /// The mounted part of the file system.
    pub root: String,
    /// The mount point.
    pub point: String,
    /// Type of the file system.
    pub kind: String,
    /// Options of the mount and of the file system, joined by commas.
    pub options: String,
}

impl Mount {
    /// Returns the value of an option such as `huge=always`.
    #[must_use]
    pub fn option(&self, name: &str) -> Option<&str> {
        self.options
            .split(',')
            .find_map(|option| option.strip_prefix(name)?.strip_prefix('='))
    }

    /// Returns true if an option is set, such as `ro` or, for a cgroup, the name of a controller.
    #[must_use]
    pub fn has_option(&self, name: &str) -> bool {
        self.options.split(',').any(|option| option == name)
    }
}

/// Parses the mounts, in the order of the file; malformed lines are ignored.
#[must_use]
pub fn parse_mounts(content: &[u8]) -> Vec<Mount> {
    String::from_utf8_lossy(content)
        .lines()
        .filter_map(parse_mount)
        .collect()
}

/// `id parent major:minor root point options [optional…] - type source super-options`
fn parse_mount(line: &str) -> Option<Mount> {
    let (left, right) = line.split_once(" - ")?;
    let mut left = left.split(' ').skip(2);
    let (major, minor) = left.next()?.split_once(':')?;
    let mut right = right.split(' ');
    let (root, point, own) = (left.next()?, left.next()?, left.next()?);
    let (kind, _source) = (right.next()?, right.next()?);
    Some(Mount {
        device: (major.parse().ok()?, minor.parse().ok()?),
        root: unescape(root),
        point: unescape(point),
        kind: kind.to_owned(),
        options: format!("{own},{}", right.next().unwrap_or_default()),
    })
}

/// Decodes blanks and backslashes, which are written as three octal digits (`seq_escape`, fs/seq_file.c).
fn unescape(text: &str) -> String {
    let mut parts = text.split('\\');
    let mut plain = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        match part
            .get(..3)
            .and_then(|code| u8::from_str_radix(code, 8).ok())
        {
            Some(code) => {
                plain.push(char::from(code));
                plain.push_str(&part[3..]);
            }
            None => {
                plain.push('\\');
                plain.push_str(part);
            }
        }
    }
    plain
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn optional_fields_end_at_the_dash() {
        let line = b"36 35 98:0 /a\\040b /mnt\\134x rw,noatime master:1 - ext4 /dev/root rw,errors=continue\n";
        let mounts = parse_mounts(line);
        assert_eq!(mounts.len(), 1);
        assert_eq!(mounts[0].device, (98, 0));
        assert_eq!(mounts[0].root, "/a b");
        assert_eq!(mounts[0].point, "/mnt\\x");
        assert_eq!(mounts[0].kind, "ext4");
        assert!(mounts[0].has_option("noatime"));
        assert!(!mounts[0].has_option("ro"));
    }

    #[test]
    fn torn_lines_are_left_out() {
        assert!(parse_mounts(b"36 35 98:0 / /mnt\n\n - \n").is_empty());
    }

    proptest! {
        #[test]
        fn no_path_makes_it_panic(path in "[\\\\0-7é ]{0,12}") {
            let _ = unescape(&path);
        }
    }
}
