//! Persistent forms of the settings of a rule: files to review and install.

use std::fmt::Write as _;

use super::advice::{Advice, Program};
use super::fact::Facts;
use super::ruling::{Ruling, Standing};
use super::settings::Settings;
use super::version::{Order, Version};
use hugewise_text::wrap::plain;

/// A file to review.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct File {
    /// Its path below the directory chosen by the user; it shows the installation path.
    pub path: String,
    /// Its content.
    pub text: String,
}

/// The first version of systemd that can set huge pages for a service.
const SYSTEMD_WITH_THP: &str = "260";
/// The first version of glibc that reads tunables from a file (its NEWS).
const GLIBC_WITH_FILE: &str = "2.44";

/// Returns files that make the settings of all applicable rules that are not followed persistent: per rule, in all
/// suitable forms. Installed file names are unique, so no file replaces another.
#[must_use]
pub fn files(advice: &Advice) -> Vec<File> {
    let mut files: Vec<File> = Vec::new();
    for program in &advice.programs {
        let open = program
            .rulings
            .iter()
            .filter(|ruling| ruling.standing <= Standing::Open);
        for (ruling, set) in open.filter_map(|ruling| Some((ruling, ruling.set.as_ref()?))) {
            for file in forms(program, ruling, set, &advice.host) {
                if !files.iter().any(|known| known.path == file.path) {
                    files.push(file);
                }
            }
        }
    }
    files
}

/// The forms of one rule. If a setting reaches one process, the machine is left unchanged.
fn forms(program: &Program, ruling: &Ruling, set: &Settings, host: &Facts) -> Vec<File> {
    let (head, id) = (head(program, ruling), &ruling.id);
    let mut files = Vec::new();
    let mut add = |path: String, body: Option<String>| {
        files.extend(body.map(|body| File {
            path: format!("{id}/{path}"),
            text: format!("{head}{body}"),
        }));
    };
    if set.reaches_one_process() {
        let (unit, note) = unit(program);
        let text = systemd(set, host).map(|text| format!("{note}{text}"));
        add(
            format!("etc/systemd/system/{unit}.d/hugewise-{id}.conf"),
            text,
        );
        let name = file_name(program);
        add(format!("{name}.Dockerfile"), dockerfile(set));
        add(format!("{name}.kubernetes-pod.yaml"), pod(program, set));
        add(
            format!("etc/tunables.conf.d/hugewise-{id}.conf"),
            tunables(program, set),
        );
        add(conf_name(set), conf(set));
    } else {
        add(format!("etc/tmpfiles.d/hugewise-{id}.conf"), tmpfiles(set));
        add(format!("etc/sysctl.d/60-hugewise-{id}.conf"), sysctl(set));
        add(format!("etc/default/grub.d/hugewise-{id}.cfg"), grub(set));
        add(
            format!("etc/tuned/profiles/hugewise-{id}/tuned.conf"),
            tuned(set),
        );
        add(
            "kubernetes-init-container.yaml".to_owned(),
            init_container(set),
        );
    }
    files
}

/// The unit for the drop-in, and a note if it is unknown. An invented name would have no effect, and nobody would
/// notice.
fn unit(program: &Program) -> (String, String) {
    match &program.service {
        Some(service) => (service.clone(), String::new()),
        None => (
            format!("REPLACE-by-the-unit-of-{}", file_name(program)),
            "# No unit of systemd is known for this program. Put the name of its unit in the place of \
             REPLACE-…\n# in the name of this file's folder.\n"
                .to_owned(),
        ),
    }
}

/// The program's name as a path component.
fn file_name(program: &Program) -> String {
    let kept = |c: char| c.is_ascii_alphanumeric() || "._-".contains(c);
    let name = program.name.chars();
    name.map(|c| if kept(c) { c } else { '-' }).collect()
}

/// The reason for the file, as a comment in all forms.
fn head(program: &Program, ruling: &Ruling) -> String {
    let sources = ruling.sources.iter().map(|source| format!("# {source}\n"));
    format!(
        "# {}: {}\n# Rule {} ({}).\n{}",
        plain(&program.name),
        ruling.says,
        ruling.id,
        ruling.authority(),
        sources.collect::<String>()
    )
}

fn systemd(set: &Settings, host: &Facts) -> Option<String> {
    let mut lines = String::new();
    for (name, value) in &set.env {
        writeln!(lines, "Environment=\"{name}={value}\"").ok()?;
    }
    if let Some(policy) = set.own_policy().filter(|_| set.env.is_empty()) {
        match (policy, knows_thp(host)) {
            ("thp=never", true) => lines += "MemoryTHP=disable\n",
            ("thp=madvise", true) => lines += "MemoryTHP=madvise\n",
            _ => {
                lines += "# Put this before the command of ExecStart=, after an empty ExecStart= line:\n";
                writeln!(
                    lines,
                    "# ExecStart=/usr/bin/hugewise exec --policy {policy} -- COMMAND"
                )
                .ok()?;
            }
        }
    }
    if !set.args.is_empty() {
        lines += "# Add to the command of ExecStart=, after an empty ExecStart= line:\n";
        writeln!(lines, "# {}", set.args.join(" ")).ok()?;
    }
    (!lines.is_empty()).then(|| format!("[Service]\n{lines}"))
}

fn knows_thp(host: &Facts) -> bool {
    let version = |text: &str| Version::parse(text, Order::Dotted);
    let own = host.text("systemd.version").and_then(version);
    own >= version(SYSTEMD_WITH_THP)
}

/// The tunables of glibc for the executable, in the form of tunables.conf(5). `None` if the rule sets none, or if the C
/// library of the program reads no such file.
fn tunables(program: &Program, set: &Settings) -> Option<String> {
    let entries = set.env.get("GLIBC_TUNABLES");
    let entries = entries.filter(|_| reads_tunables(program))?;
    let lines = entries.split(':').map(|entry| format!("{entry}\n"));
    Some(format!(
        "# Add this line to /etc/tunables.conf, then run ldconfig:\n\
         # include /etc/tunables.conf.d/*.conf\n[proc:{}]\n{}",
        file_name(program),
        lines.collect::<String>()
    ))
}

fn reads_tunables(program: &Program) -> bool {
    let version = |text: &str| Version::parse(text, Order::Dotted);
    let glibc = program.parts.iter().find(|part| part.subject == "glibc");
    let own = glibc.and_then(|part| version(part.version.as_deref()?));
    own >= version(GLIBC_WITH_FILE)
}

fn dockerfile(set: &Settings) -> Option<String> {
    let mut lines = String::new();
    for (name, value) in &set.env {
        writeln!(lines, "ENV {name}=\"{value}\"").ok()?;
    }
    if let Some(policy) = set.own_policy().filter(|_| set.env.is_empty()) {
        writeln!(
            lines,
            "ENTRYPOINT [\"hugewise\", \"exec\", \"--policy\", \"{policy}\", \"--\"]"
        )
        .ok()?;
    }
    if !set.args.is_empty() {
        writeln!(lines, "# Add to CMD: {}", set.args.join(" ")).ok()?;
    }
    (!lines.is_empty()).then_some(lines)
}

fn pod(program: &Program, set: &Settings) -> Option<String> {
    let mut lines = String::new();
    if !set.env.is_empty() {
        lines += "      env:\n";
    }
    for (name, value) in &set.env {
        writeln!(lines, "        - {{ name: {name}, value: \"{value}\" }}").ok()?;
    }
    if let Some(policy) = set.own_policy().filter(|_| set.env.is_empty()) {
        writeln!(
            lines,
            "      command: [\"hugewise\", \"exec\", \"--policy\", \"{policy}\", \"--\"]  \
             # then the command of the image"
        )
        .ok()?;
    }
    if !set.args.is_empty() {
        writeln!(lines, "      args: [\"{}\"]", set.args.join("\", \"")).ok()?;
    }
    let name = file_name(program);
    (!lines.is_empty()).then(|| format!("spec:\n  containers:\n    - name: {name}\n{lines}"))
}

/// The file with one line for the application's configuration, under a name that replaces no other file.
fn conf_name(set: &Settings) -> String {
    let file = set.conf.as_ref().map_or("conf", |conf| &conf.file);
    let file = file.trim_start_matches('/');
    match file.rsplit_once('/') {
        Some((folder, name)) => format!("{folder}/add-to-{name}"),
        None => format!("add-to-{file}"),
    }
}

fn conf(set: &Settings) -> Option<String> {
    set.conf.as_ref().map(|conf| format!("{}\n", conf.line))
}

fn tmpfiles(set: &Settings) -> Option<String> {
    let lines = set.thp.iter().map(|(file, value)| {
        format!("w /sys/kernel/mm/transparent_hugepage/{file} - - - - {value}\n")
    });
    (!set.thp.is_empty()).then(|| lines.collect())
}

fn sysctl(set: &Settings) -> Option<String> {
    let lines = set
        .sysctl
        .iter()
        .map(|(name, value)| format!("{name} = {value}\n"));
    (!set.sysctl.is_empty()).then(|| lines.collect())
}

/// The boot line can set only the mode.
fn grub(set: &Settings) -> Option<String> {
    let mode = set.thp.get("enabled")?;
    Some(format!(
        "GRUB_CMDLINE_LINUX=\"$GRUB_CMDLINE_LINUX transparent_hugepage={mode}\"\n"
    ))
}

fn tuned(set: &Settings) -> Option<String> {
    let mut lines = String::new();
    let mode = |name: &str| set.thp.get(name);
    if let Some(mode) = mode("enabled") {
        write!(lines, "[vm]\ntransparent_hugepages={mode}\n").ok()?;
    }
    let others = set.thp.iter().filter(|(file, _)| *file != "enabled");
    let others: String = others
        .map(|(file, value)| format!("/sys/kernel/mm/transparent_hugepage/{file}={value}\n"))
        .collect();
    if !others.is_empty() {
        write!(lines, "[sysfs]\n{others}").ok()?;
    }
    if let Some(sysctl) = sysctl(set) {
        write!(lines, "[sysctl]\n{sysctl}").ok()?;
    }
    (!lines.is_empty()).then(|| format!("[main]\nsummary=Huge pages\n{lines}"))
}

/// The settings belong to the node, so the container that writes them is privileged.
fn init_container(set: &Settings) -> Option<String> {
    let writes = set
        .thp
        .iter()
        .map(|(file, value)| format!("echo {value} > /sys/kernel/mm/transparent_hugepage/{file}"));
    let sysctls = set
        .sysctl
        .iter()
        .map(|(name, value)| format!("sysctl -w {name}={value}"));
    let commands: Vec<_> = writes.chain(sysctls).collect();
    (!commands.is_empty()).then(|| {
        format!(
            "spec:\n  initContainers:\n    - name: hugewise\n      image: busybox\n      \
             securityContext: {{ privileged: true }}\n      \
             command: [\"sh\", \"-c\", \"{}\"]\n",
            commands.join(" && ")
        )
    })
}
