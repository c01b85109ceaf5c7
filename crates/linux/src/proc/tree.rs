use std::collections::BTreeSet;

use super::lines;
use super::pid_stat::read_pid_stat;
use crate::machine::root::Root;

/// Parses `/proc/PID/task/TID/children`: PIDs; malformed words are ignored.
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

/// Returns all descendants of `ancestor`, without itself.
///
/// Uses `task/*/children` (CONFIG_PROC_CHILDREN), otherwise the parent (`/proc/PID/stat`) of every process. The tree
/// may change during the walk: processes that start or end may be missing.
#[must_use]
pub fn read_descendants(root: &Root, ancestor: u32) -> BTreeSet<u32> {
    let births = ParentLinks::read(root, ancestor);
    let mut found = BTreeSet::new();
    let mut todo = vec![ancestor];
    while let Some(pid) = todo.pop() {
        let children = births.of(root, pid);
        todo.extend(children.into_iter().filter(|&child| found.insert(child)));
    }
    found
}

/// Returns the children of one process, in the same way.
#[must_use]
pub fn read_children(root: &Root, parent: u32) -> Vec<u32> {
    ParentLinks::read(root, parent).of(root, parent)
}

/// Returns all threads of these processes.
#[must_use]
pub fn read_threads(root: &Root, processes: &BTreeSet<u32>) -> Vec<u32> {
    processes
        .iter()
        .flat_map(|pid| root.list(format!("proc/{pid}/task")).unwrap_or_default())
        .filter_map(|name| name.parse().ok())
        .collect()
}

/// The source of the parent-child relations.
enum ParentLinks {
    /// A file of each thread.
    Files,
    /// Only the files of the children: pairs of child and parent.
    Pairs(Vec<(u32, u32)>),
}

impl ParentLinks {
    fn read(root: &Root, any: u32) -> Self {
        let file = format!("proc/{any}/task/{any}/children");
        if root.path(file).exists() {
            return Self::Files;
        }
        let pids = root.list("proc").unwrap_or_default();
        let pairs = pids.iter().filter_map(|name| {
            let pid = name.parse().ok()?;
            Some((pid, read_pid_stat(root, pid).ok()?.parent))
        });
        Self::Pairs(pairs.collect())
    }

    fn of(&self, root: &Root, parent: u32) -> Vec<u32> {
        match self {
            Self::Pairs(pairs) => pairs
                .iter()
                .filter(|&&(_, other)| other == parent)
                .map(|&(pid, _)| pid)
                .collect(),
            Self::Files => root
                .list(format!("proc/{parent}/task"))
                .unwrap_or_default()
                .iter()
                .map(|tid| format!("proc/{parent}/task/{tid}/children"))
                .flat_map(|path| parse_children(&root.read(path).unwrap_or_default()))
                .collect(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::proc::pid_stat::line_of;

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
            let stat = folder.path().join(format!("proc/{pid}/stat"));
            std::fs::write(stat, line_of(pid, "x", 'S', &[(4, parent)])).unwrap();
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
}
