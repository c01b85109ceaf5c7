//! Processes that `/proc` does not show: the mount option `hidepid` (proc(5)).

use crate::machine::root::Root;
use crate::proc::mounts::parse_mounts;

/// `CAP_SYS_PTRACE`, as a bit of `CapEff`.
const TRACING: u64 = 1 << 19;

/// Returns the option that hides processes of other users, such as `hidepid=invisible`; `None` if all are visible or
/// the mounts cannot be read.
pub(super) fn hiding(root: &Root) -> Option<String> {
    let mounts = parse_mounts(&root.read("proc/self/mountinfo").ok()?);
    // The last of several mounts on one mount point is the visible one.
    let mut mounts = mounts.iter().rev();
    let mount = mounts.find(|mount| mount.kind == "proc" && mount.point == "/proc")?;
    let value = mount.option("hidepid")?;
    let reader = root.read("proc/self/status").unwrap_or_default();
    let reader = Reader::parse(&String::from_utf8_lossy(&reader));
    // Without `gid=` the group is that of root.
    let group = mount.option("gid").unwrap_or("0");
    let shows = match value {
        "0" | "off" => true,
        "4" | "ptraceable" => reader.traces,
        _ => reader.traces || reader.groups.iter().any(|own| own == group),
    };
    (!shows).then(|| format!("hidepid={value}"))
}

/// The credentials of the reading process. Unknown credentials grant nothing.
#[derive(Debug, Default, PartialEq, Eq)]
struct Reader {
    /// True if the reader may trace all processes of the namespace.
    traces: bool,
    /// The group IDs, the filesystem group first.
    groups: Vec<String>,
}

impl Reader {
    /// Parses `/proc/self/status`.
    fn parse(status: &str) -> Self {
        let mut reader = Self::default();
        for line in status.lines() {
            let Some((field, value)) = line.split_once(':') else {
                continue;
            };
            let mut words = value.split_ascii_whitespace().map(str::to_owned);
            match field {
                "CapEff" => {
                    let rights = u64::from_str_radix(value.trim(), 16).unwrap_or(0);
                    reader.traces = rights & TRACING != 0;
                }
                // Real, effective, saved and filesystem group ID; `/proc` checks the last.
                "Gid" => reader.groups.extend(words.nth(3)),
                "Groups" => reader.groups.extend(words),
                _ => {}
            }
        }
        reader
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::machine::root::machine_of;

    const USER: &str = "Gid:\t100\t100\t100\t100\nGroups:\t100 44\nCapEff:\t0000000000000000\n";
    const TRACER: &str = "Gid:\t100\t100\t100\t100\nGroups:\t\nCapEff:\t0000000000080000\n";
    const ROOT_GROUP: &str = "Gid:\t0\t0\t0\t0\nGroups:\t\nCapEff:\t0000000000000000\n";

    fn hidden(options: &str, status: &str) -> Option<String> {
        let mounts = format!(
            "22 1 0:21 / /proc rw,nosuid - proc proc rw{options}\n\
             23 22 0:22 / /proc/fs rw - tmpfs tmpfs rw\n"
        );
        let files = [
            ("proc/self/mountinfo", mounts.as_str()),
            ("proc/self/status", status),
        ];
        let (_folder, root) = machine_of(&files);
        hiding(&root)
    }

    #[test]
    fn an_option_hides_from_who_has_no_right() {
        for (options, status, hides) in [
            ("", USER, None),
            (",hidepid=off", USER, None),
            (",hidepid=2", USER, Some("hidepid=2")),
            (",hidepid=invisible", USER, Some("hidepid=invisible")),
            (",hidepid=invisible", TRACER, None),
            (",hidepid=invisible", ROOT_GROUP, None),
            (",hidepid=invisible,gid=44", USER, None),
            (",gid=7,hidepid=noaccess", USER, Some("hidepid=noaccess")),
            (
                ",hidepid=ptraceable,gid=44",
                USER,
                Some("hidepid=ptraceable"),
            ),
            (",hidepid=ptraceable", TRACER, None),
        ] {
            assert_eq!(hidden(options, status).as_deref(), hides, "{options}");
        }
    }

    #[test]
    fn the_last_mount_counts() {
        let mounts = "22 1 0:21 / /proc rw - proc proc rw\n\
                      29 22 0:30 / /proc rw - proc proc rw,hidepid=invisible\n";
        let files = [("proc/self/mountinfo", mounts), ("proc/self/status", USER)];
        let (_folder, root) = machine_of(&files);
        assert_eq!(hiding(&root).as_deref(), Some("hidepid=invisible"));
    }
}
