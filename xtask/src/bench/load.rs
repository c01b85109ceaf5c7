//! Workloads of the laboratory that measure their time, and report how often they did their operation.

use std::path::Path;

/// One such workload.
#[derive(Clone, Debug)]
pub struct Load {
    verb: &'static str,
    /// Its operation on each page, in the singular: `fault`.
    pub each: &'static str,
    /// Pages of each pass.
    pages: u64,
    /// Counted passes; one uncounted pass runs before them.
    repeat: u64,
    options: Vec<String>,
}

impl Load {
    /// Small page faults, with this amount of work after each.
    pub fn pace(pages: u64, repeat: u64, work: u64) -> Self {
        Self {
            verb: "pace",
            each: "fault",
            pages,
            repeat,
            options: vec!["--work".to_owned(), work.to_string()],
        }
    }

    /// Pages of an empty (sparse) file in `folder`, read by a member of the cgroup `group`.
    pub fn pressure(pages: u64, repeat: u64, folder: &Path, group: &Path) -> Self {
        let options = [
            "--folder".to_owned(),
            folder.display().to_string(),
            "--group".to_owned(),
            group.display().to_string(),
        ];
        Self {
            verb: "pressure",
            each: "page",
            pages,
            repeat,
            options: options.to_vec(),
        }
    }

    /// Returns the same load, shorter by a factor.
    pub fn shorter(&self, factor: u64) -> Self {
        Self {
            pages: self.pages.div_ceil(factor),
            ..self.clone()
        }
    }

    /// Returns the minimum number of its operations.
    pub fn times(&self) -> u64 {
        self.pages * self.repeat
    }

    /// Returns the ratio of its total CPU time to that of the counted passes.
    pub fn whole(&self) -> f64 {
        (self.repeat + 1) as f64 / self.repeat as f64
    }

    /// Returns its command line; its output goes into the file `out`.
    pub fn words(&self, lab: &Path, out: &str) -> Vec<String> {
        let mut words = vec![lab.display().to_string(), self.verb.to_owned()];
        for (name, value) in [
            ("--pages", self.pages.to_string()),
            ("--repeat", self.repeat.to_string()),
            ("--out", out.to_owned()),
        ] {
            words.extend([name.to_owned(), value]);
        }
        words.extend(self.options.iter().cloned());
        words
    }
}
