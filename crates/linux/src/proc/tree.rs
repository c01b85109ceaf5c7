use std::collections::BTreeSet;

use super::{lines, status};
use crate::root::Root;

/// Parses `/proc/PID/task/TID/children`: process ids; words that are none are left out.
#[must_use]
pub fn parse_children(bytes: &[u8]) -> Vec<u32> {
    lines(bytes)
        .flat_map(|(_, line)| {
            line.split_whitespace()
                .filter_map(|word| word.parse().ok())
                .collect::<Vec<u32>>()
        })
        .collect()
}

/// All descendants of `ancestor`, without itself.
///
/// From `task/*/children` (CONFIG_PROC_CHILDREN), else by the `PPid` of every process. The
/// tree may change meanwhile: who is born during the walk may be left out, and who dies too.
#[must_use]
pub fn read_descendants(root: &Root, ancestor: u32) -> BTreeSet<u32> {
    if root
        .path(format!("proc/{ancestor}/task/{ancestor}/children"))
        .exists()
    {
        by_children(root, ancestor)
    } else {
        by_parents(root, ancestor)
    }
}

fn by_children(root: &Root, ancestor: u32) -> BTreeSet<u32> {
    let mut found = BTreeSet::new();
    let mut todo = vec![ancestor];
    while let Some(pid) = todo.pop() {
        for tid in root.list(format!("proc/{pid}/task")).unwrap_or_default() {
            let path = format!("proc/{pid}/task/{tid}/children");
            let children = parse_children(&root.read(path).unwrap_or_default());
            todo.extend(children.into_iter().filter(|&child| found.insert(child)));
        }
    }
    found
}

fn by_parents(root: &Root, ancestor: u32) -> BTreeSet<u32> {
    let pids = root.list("proc").unwrap_or_default();
    let parents: Vec<(u32, u32)> = pids
        .iter()
        .filter_map(|name| {
            let pid = name.parse().ok()?;
            let bytes = root.read(format!("proc/{pid}/status")).ok()?;
            Some((pid, status::parse_status(&bytes).ok()?.parent))
        })
        .collect();
    let mut found = BTreeSet::new();
    let mut todo = vec![ancestor];
    while let Some(parent) = todo.pop() {
        let children = parents.iter().filter(|&&(_, other)| other == parent);
        todo.extend(
            children
                .map(|&(pid, _)| pid)
                .filter(|&pid| found.insert(pid)),
        );
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn frozen(with_children: bool) -> (tempfile::TempDir, Root) {
        let folder = tempfile::tempdir().unwrap();
        for (pid, parent, children) in [
            (10, 1, "11 12 "),
            (11, 10, "13 "),
            (12, 10, ""),
            (13, 11, ""),
            (14, 1, ""),
        ] {
            let task = folder.path().join(format!("proc/{pid}/task/{pid}"));
            std::fs::create_dir_all(&task).unwrap();
            let status = folder.path().join(format!("proc/{pid}/status"));
            std::fs::write(status, format!("PPid:\t{parent}\n")).unwrap();
            if with_children {
                std::fs::write(task.join("children"), children).unwrap();
            }
        }
        let root = Root::at(folder.path());
        (folder, root)
    }

    #[test]
    fn both_ways_find_the_same_tree() {
        for with_children in [true, false] {
            let (_folder, root) = frozen(with_children);
            let found: Vec<u32> = read_descendants(&root, 10).into_iter().collect();
            assert_eq!(found, [11, 12, 13], "children files: {with_children}");
        }
    }

    proptest! {
        #[test]
        fn no_bytes_panic(bytes: Vec<u8>) {
            let _ = parse_children(&bytes);
        }
    }
}
