//! Facts from the sources: the machine, the options of a JVM, a configuration file.

use super::fact::Facts;
use hugewise_base::host::Host;

/// Facts of the machine from a [`Host`].
#[must_use]
pub fn host_facts(host: &Host) -> Facts {
    let mut facts = Facts::default();
    facts.set("kernel.version", host.kernel.as_str());
    facts.set("arch", host.arch.as_str());
    facts.set("page.bytes", host.page_bytes);
    facts.set("memory.bytes", host.memory_bytes);
    facts.set("swap.bytes", host.swap_bytes);
    facts.set("host.virtual", host.hypervisor.is_some());
    facts.set("thp.boot", boot_mode(&host.boot_line));
    let pool = |pages: fn(&hugewise_base::host::HugetlbPool) -> u64| -> u64 {
        let pools = host.hugetlb.iter();
        pools.map(|(size, pool)| size * pages(pool)).sum()
    };
    facts.set("hugetlb.pool.bytes", pool(|pool| pool.total));
    facts.set("hugetlb.free.bytes", pool(|pool| pool.free));
    facts.set(
        "vm.overcommit_hugepages",
        host.hugetlb
            .values()
            .map(|pool| pool.overcommit)
            .sum::<u64>(),
    );
    let Ok(thp) = &host.thp else { return facts };
    facts.set("thp.pmd.bytes", thp.pmd_bytes);
    facts.set("thp.enabled", thp.effective_pmd_mode());
    facts.set("thp.defrag", thp.defrag.as_str());
    facts.set_known("thp.shmem_enabled", thp.shmem_enabled.as_deref());
    facts.set("thp.mthp", thp.enabled_mthp_sizes().next().is_some());
    let number = |name: &str| thp.khugepaged.get(name).copied();
    for name in ["max_ptes_none", "pages_to_scan", "scan_sleep_millisecs"] {
        facts.set_known(format!("khugepaged.{name}"), number(name));
    }
    facts.set_known(
        "khugepaged.defrag",
        number("defrag").map(|value| value != 0),
    );
    facts
}

/// The last `transparent_hugepage=` on the boot line; empty if there is none.
fn boot_mode(line: &str) -> &str {
    let words = line.split_ascii_whitespace();
    let mut modes = words.filter_map(|word| word.strip_prefix("transparent_hugepage="));
    modes.next_back().unwrap_or_default()
}

/// `flag.NAME` facts from the options of a JVM. A later option overrides an earlier one.
pub fn jvm_flags<'a>(words: impl Iterator<Item = &'a str>) -> Facts {
    let mut facts = Facts::default();
    facts.set("flag.", "");
    for option in words.filter_map(|word| word.strip_prefix("-XX:")) {
        let (name, value) = match (option.split_at_checked(1), option.split_once('=')) {
            (Some(("+", name)), _) => (name, "true"),
            (Some(("-", name)), _) => (name, "false"),
            (_, Some((name, value))) => (name, value),
            _ => continue,
        };
        facts.set(format!("flag.{name}"), value);
    }
    facts
}

/// Restricts the facts to the given options, because there can be others.
#[must_use]
pub fn only_given(mut facts: Facts) -> Facts {
    facts.0.remove("flag.");
    facts
}

/// Settings of a configuration file, one per line: `name value`, `name = value` or `name: value`. A later line
/// overrides an earlier one.
pub fn settings(text: &str) -> impl Iterator<Item = (&str, &str)> {
    let lines = text.lines().map(str::trim);
    let lines = lines.filter(|line| !line.starts_with(['#', ';', '[', '/']));
    lines.filter_map(|line| {
        let end = line.find([' ', '\t', '=', ':'])?;
        let (name, rest) = line.split_at(end);
        let value = rest.trim_start_matches([' ', '\t', '=', ':']);
        let value = match value.strip_prefix(['\'', '"']) {
            Some(quoted) => quoted.split(['\'', '"']).next()?,
            None => value.split(['#', ';']).next()?.trim(),
        };
        Some((name, value))
    })
}

/// Settings in the arguments of a server: `--name value`, `--name=value` or `-c name=value`.
pub fn settings_of_words(words: &[String]) -> impl Iterator<Item = (String, String)> {
    let pairs = words
        .iter()
        .zip(words.iter().skip(1).map(Some).chain([None]));
    pairs.filter_map(|(word, next)| {
        let (name, value) = match (word.strip_prefix("--"), word.as_str()) {
            (Some(own), _) => match own.split_once('=') {
                Some(pair) => pair,
                None => (own, next?.as_str()),
            },
            (None, "-c") => next?.split_once('=')?,
            _ => return None,
        };
        Some((name.to_owned(), value.to_owned()))
    })
}

/// The systemd service of a cgroup or of its parents. Units of a user manager and of pods are not units of the machine.
#[must_use]
pub fn service(cgroup: &str) -> Option<&str> {
    let is_of_others = |part: &str| part.starts_with("user@") || part.starts_with("kubepods");
    if cgroup.split('/').any(is_of_others) {
        return None;
    }
    let mut parts = cgroup.rsplit('/');
    parts.find(|part| part.ends_with(".service"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_of_a_jvm_are_facts() {
        let words = [
            "java",
            "-XX:+UseG1GC",
            "-XX:-UseTransparentHugePages",
            "-XX:MaxRAM=4g",
            "-XX:-UseG1GC",
        ];
        let facts = jvm_flags(words.into_iter());
        assert_eq!(facts.text("flag.UseG1GC"), Some("false"));
        assert_eq!(facts.text("flag.MaxRAM"), Some("4g"));
        assert_eq!(facts.text("flag.UseZGC"), Some(""));
        assert_eq!(facts.text("env.HOME"), None);
    }

    #[test]
    fn settings_of_common_files_are_read() {
        let text = "# comment\nhuge_pages = try   # (on, off)\nsave 3600 1\n  bind: '*'\n[mysqld]\nlarge-pages\nsave \"\"\n";
        let found: Vec<_> = settings(text).collect();
        assert_eq!(
            found,
            [
                ("huge_pages", "try"),
                ("save", "3600 1"),
                ("bind", "*"),
                ("save", "")
            ]
        );
    }

    #[test]
    fn settings_among_arguments_are_read() {
        let words = [
            "postgres",
            "-D",
            "/d",
            "-c",
            "huge_pages=off",
            "--a=b",
            "--disable-thp",
            "no",
        ];
        let words = words.map(str::to_owned);
        let found: Vec<_> = settings_of_words(&words).collect();
        let pair = |name: &str, value: &str| (name.to_owned(), value.to_owned());
        let expected = [
            pair("huge_pages", "off"),
            pair("a", "b"),
            pair("disable-thp", "no"),
        ];
        assert_eq!(found, expected);
        assert_eq!(
            settings_of_words(&["x".to_owned(), "--y".to_owned()]).count(),
            0
        );
    }

    #[test]
    fn a_service_is_the_last_of_its_group() {
        assert_eq!(
            service("/system.slice/redis-server.service"),
            Some("redis-server.service")
        );
        assert_eq!(service("/system.slice/a.service/worker"), Some("a.service"));
        for other in [
            "/user.slice/user-1000.slice",
            "/user.slice/user-1000.slice/user@1000.service/app.slice/b.service",
            "/system.slice/containerd.service/kubepods/pod1",
            "/",
        ] {
            assert_eq!(service(other), None, "{other}");
        }
    }
}
