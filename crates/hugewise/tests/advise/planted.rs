//! Machines with a planted profile, package or state that this machine does not have.

use std::fs;
use std::path::Path;
use std::process::Command;

use predicates::prelude::*;
use predicates::str::contains;

use super::{HEAP, Machine, json};
use crate::harness::Case;

#[test]
fn a_small_pod_with_glibc_243_on_arm_is_found() {
    let case = Case::new();
    let machine = Machine::new(&case, "guest-aarch64-6.12-root");
    machine.process(70, "/usr/bin/runc", "runc init", "/kubepods.slice/pod1");
    let library = "/usr/lib/libc.so.6";
    let mapped = format!("7e0000000000-7e0000001000 r-xp 00000000 fe:00 9 {library}\n");
    machine.file("proc/70/maps", &mapped);
    let text = "GNU C Library (GNU libc) stable release version 2.43.\n";
    machine.file(&format!("proc/70/root{library}"), text);
    let shown = |limit: &str| {
        machine.file("sys/fs/cgroup/kubepods.slice/pod1/memory.max", limit);
        machine.file(
            "sys/fs/cgroup/kubepods.slice/pod1/memory.current",
            "4194304\n",
        );
        machine.advise(&case, &["70"]).success()
    };
    let state = "breaks   Raise the memory limit, or set pages of 2 MiB to never on the node.";
    let state = state.split_whitespace().collect::<Vec<_>>().join(" ");
    let told = |limit: &str| {
        let text = String::from_utf8_lossy(&shown(limit).get_output().stdout).into_owned();
        let words: Vec<_> = text.split_whitespace().collect();
        words.join(" ").contains(&state)
    };
    assert!(told("10485760\n"));
    assert!(!told("104857600\n"));
}

#[test]
fn the_heap_of_g1_in_jdk_25_under_madvise_is_found() {
    let case = Case::new();
    let machine = Machine::new(&case, "debian12-6.18-vm-root");
    let mode = "sys/kernel/mm/transparent_hugepage/enabled";
    machine.file(mode, "always [madvise] never\n");
    let words = "/opt/jdk/bin/java -XX:+UseTransparentHugePages -jar a.jar";
    machine.process(70, "/opt/jdk/bin/java", words, "/a.slice");
    let library = "7e0000000000-7e0000001000 r-xp 00000000 fe:00 9 /opt/jdk/lib/server/libjvm.so\n";
    machine.file("proc/70/smaps", &format!("{library}{HEAP}"));
    let release = |version: &str| {
        let text = format!("JAVA_VERSION=\"{version}\"\n");
        machine.file("proc/70/root/opt/jdk/release", &text);
        json(&machine.advise(&case, &["70", "--format", "json"]).success())
    };
    let told = |version: &str| {
        let advice = release(version);
        let rulings = advice["programs"][0]["rulings"].as_array().unwrap();
        let mut own = rulings.iter().filter(|it| it["id"] == "jdk-25-g1-madvise");
        own.next()
            .map(|it| it["standing"].as_str().unwrap().to_owned())
    };
    assert_eq!(told("25").as_deref(), Some("not_followed"));
    assert_eq!(told("25.0.1"), None);
}

#[test]
fn a_profile_of_tuned_that_sets_another_mode_is_found() {
    let case = Case::new();
    let machine = Machine::new(&case, "debian12-6.18-vm-root");
    machine.file("etc/tuned/active_profile", "mssql\n");
    machine.file(
        "usr/lib/tuned/profiles/mssql/tuned.conf",
        "[main]\ninclude=throughput-performance\n[vm]\ntransparent_hugepages=always\n",
    );
    let told = "Set the current mode";
    machine
        .advise(&case, &["-v"])
        .success()
        .stdout(contains(told));
    machine.file("etc/tuned/active_profile", "balanced\n");
    machine
        .advise(&case, &["-v"])
        .success()
        .stdout(contains(told).not());
}

#[test]
fn a_version_is_asked_of_rpm_where_its_database_is() {
    if Command::new("rpm").arg("--version").output().is_err() {
        eprintln!("skipped: rpm is not installed");
        return;
    }
    let case = Case::new();
    let machine = Machine::new(&case, "debian12-6.18-vm-root");
    fs::remove_dir_all(machine.folder.join("var/lib/dpkg")).expect("the lists are there");
    if let Err(why) = plant_package(&machine.folder) {
        eprintln!("skipped: no package could be planted: {why}");
        return;
    }
    machine.process(70, "/usr/bin/redis-server", "redis-server", "/a.slice");
    let advice = json(&machine.advise(&case, &["70", "--format", "json"]).success());
    assert_eq!(advice["programs"][0]["parts"][0]["version"], "7.2.4-3");
}

/// Puts a package that owns `/usr/bin/redis-server` into the machine's database of rpm.
fn plant_package(folder: &Path) -> Result<(), String> {
    const SPEC: &str = "Name: redis\nVersion: 7.2.4\nRelease: 3\nSummary: x\nLicense: MIT\n\
        BuildArch: noarch\n%description\nx\n%install\nmkdir -p %{buildroot}/usr/bin\n\
        echo x > %{buildroot}/usr/bin/redis-server\n%files\n/usr/bin/redis-server\n";
    let work = folder.join("package");
    let database = folder.join("var/lib/rpm");
    for folder in [&work, &database] {
        fs::create_dir_all(folder).map_err(|why| why.to_string())?;
    }
    fs::write(work.join("redis.spec"), SPEC).map_err(|why| why.to_string())?;
    let script = format!(
        "cd {work} && rpmbuild -bb --quiet --define \"_topdir $PWD\" redis.spec && \
         rpm --dbpath {database} -i --justdb --nodeps RPMS/noarch/*.rpm",
        work = work.display(),
        database = database.display(),
    );
    let done = Command::new("sh").args(["-c", &script]).output();
    let done = done.map_err(|why| why.to_string())?;
    match done.status.success() {
        true => Ok(()),
        false => Err(String::from_utf8_lossy(&done.stderr).into_owned()),
    }
}
