//! The experiment file, which says what flags say; and the flags before it.

use std::path::Path;

use anyhow::Result;

use super::Options;
use crate::exit;

impl Options {
    /// What is to be done, after the experiment file was read where the command is one; flags go
    /// before it. A server is the command then.
    pub fn complete(self) -> Result<Self> {
        self.with_file()?.with_service()
    }

    fn with_file(self) -> Result<Self> {
        let Some((first, more)) = self.command.split_first() else {
            return Ok(self);
        };
        let path = Path::new(first);
        if self.shell || path.extension().is_none_or(|extension| extension != "toml") {
            return Ok(self);
        }
        if !more.is_empty() {
            return Err(exit::usage(format!(
                "{} is an experiment file, and the command stands in it: leave out what follows, and put \
                 flags before it",
                path.display()
            )));
        }
        let text = std::fs::read_to_string(path).map_err(|error| {
            exit::usage(format!(
                "reading the experiment file {}: {error}",
                path.display()
            ))
        })?;
        let file: Self = toml::from_str(&text)
            .map_err(|error| exit::usage(format!("{}: {error}", path.display())))?;
        Ok(self.over(file))
    }

    /// The flags where they are given, else the file: one line for each, so that none is left out.
    fn over(self, file: Self) -> Self {
        // Policies and the matrix are one question: flags that answer it replace the file's answer.
        let (policy, matrix) = if self.policy.is_empty() && self.matrix.is_empty() {
            (file.policy, file.matrix)
        } else {
            (self.policy, self.matrix)
        };
        Self {
            policy,
            matrix,
            baseline: self.baseline.or(file.baseline),
            system: self.system || file.system,
            fragment: self.fragment.or(file.fragment),
            precision: self.precision.or(file.precision),
            threshold: self.threshold.or(file.threshold),
            min_rounds: self.min_rounds.or(file.min_rounds),
            max_rounds: self.max_rounds.or(file.max_rounds),
            max_time: self.max_time.or(file.max_time),
            warmup: self.warmup.or(file.warmup),
            seed: self.seed.or(file.seed),
            shell: self.shell || file.shell,
            setup: self.setup.or(file.setup),
            prepare: self.prepare.or(file.prepare),
            conclude: self.conclude.or(file.conclude),
            cleanup: self.cleanup.or(file.cleanup),
            stdin: self.stdin.or(file.stdin),
            output: self.output.or(file.output),
            directory: self.directory.or(file.directory),
            timeout: self.timeout.or(file.timeout),
            exit_hold: self.exit_hold.or(file.exit_hold),
            own_cgroup: self.own_cgroup.or(file.own_cgroup),
            counters: self.counters.or(file.counters),
            service: self.service.or(file.service),
            ready: self.ready.or(file.ready),
            load: self.load.or(file.load),
            warm_up_load: self.warm_up_load.or(file.warm_up_load),
            ready_timeout: self.ready_timeout.or(file.ready_timeout),
            load_policy: self.load_policy.or(file.load_policy),
            stop_signal: self.stop_signal.or(file.stop_signal),
            stop_command: self.stop_command.or(file.stop_command),
            grace: self.grace.or(file.grace),
            service_cpus: self.service_cpus.or(file.service_cpus),
            load_cpus: self.load_cpus.or(file.load_cpus),
            stalls: self.stalls.or(file.stalls),
            metric: first(self.metric, file.metric),
            latency: self.latency.or(file.latency),
            verdict_metric: self.verdict_metric.or(file.verdict_metric),
            fail_if: first(self.fail_if, file.fail_if),
            command: file.command,
        }
    }
}

fn first<T>(flags: Vec<T>, file: Vec<T>) -> Vec<T> {
    if flags.is_empty() { file } else { flags }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn the_file_says_what_the_flags_say() {
        let file: Options = toml::from_str(
            r#"
            command = ["sort", "-n", "data"]
            policies = ["thp=never", "big:thp=always"]
            baseline = "big"
            system = true
            precision = "0.5%"
            max-time = "5m"
            metrics = ["tps:1/s:higher=tps = ([0-9.]+)"]
            fail-if = ["wall_seconds > +2%"]
            "#,
        )
        .expect("a good file");
        assert_eq!(file.policy.len(), 2);
        assert_eq!(file.precision, Some(0.005));
        assert_eq!(file.max_time, Some(Duration::from_secs(300)));
        assert_eq!(file.command.len(), 3);
        let error = toml::from_str::<Options>("polices = []").expect_err("a typing error");
        assert!(error.to_string().contains("polices"), "{error}");
    }
    #[test]
    fn a_server_is_the_command() {
        let file = |text: &str| toml::from_str::<Options>(text).expect("a good file");
        let line = file("service = 'a --port {port}'\nready = 'tcp:{port}'\nload = ['b', 'c d']");
        let options = line.clone().with_service().expect("a server");
        assert!(options.shell);
        assert_eq!(options.command, ["a --port {port}"]);
        let words = file("service = ['java', 'X.java']\nservice-cpus = '0-1'");
        let options = words.over(line).with_service().expect("a server");
        assert!(!options.shell && options.load.is_some());
        assert_eq!(options.command, ["java", "X.java"]);
        assert!(
            file("service = 'a'\ncommand = ['b']")
                .with_service()
                .is_err()
        );
        assert!(file("load = 'a'\ncommand = ['b']").with_service().is_err());
        assert!(toml::from_str::<Options>("ready = 'soon'").is_err());
    }
}
