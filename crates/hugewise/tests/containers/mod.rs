//! hugewise inside a container, as CI runners start it: an ordinary user without capabilities, with the usual seccomp
//! profile and no new privileges. `cargo xtask test-containers` installs podman.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use crate::harness::{Case, HUGEWISE, is_root, lab, one_at_a_time, readings, skip};
use serde_json::Value;

const MIB: f64 = 1_048_576.0;
/// crun does not support machines with both versions of cgroups, so one is hidden, only here. Limits stay as they are,
/// because raising them needs a privilege that a CI machine may lack.
const PODMAN: &str = r#"umount /sys/fs/cgroup/unified 2>/dev/null
exec podman run --rm --network none --user 65534:65534 --security-opt no-new-privileges \
    --log-driver none --cgroups disabled --volume /usr:/usr:ro \
    --ulimit "nofile=$(ulimit -Sn):$(ulimit -Hn)" --ulimit nproc=1000:1000 "$@""#;
/// Allows all calls except ptrace(2), as hardened profiles do.
const WITHOUT_PTRACE: &str = r#"{
    "defaultAction": "SCMP_ACT_ALLOW",
    "syscalls": [{"names": ["ptrace"], "action": "SCMP_ACT_ERRNO", "errnoRet": 1}]
}"#;

/// A folder used as the root of containers, with this machine's programs and ours.
struct Image {
    case: Case,
}

impl Image {
    fn new() -> Self {
        let case = Case::new();
        let image = Self { case };
        let folders = [
            "usr", "proc", "sys", "dev", "tmp", "run", "var", "etc", "programs",
        ];
        for folder in folders {
            std::fs::create_dir_all(image.path(folder)).expect("a folder");
        }
        for link in ["bin", "sbin", "lib", "lib64"] {
            let target = Path::new("usr").join(link);
            std::os::unix::fs::symlink(target, image.path(link)).expect("a link");
        }
        let open = std::os::unix::fs::PermissionsExt::from_mode(0o1777);
        std::fs::set_permissions(image.path("tmp"), open).expect("permissions");
        for program in [PathBuf::from(HUGEWISE), lab()] {
            let name = program.file_name().expect("a name");
            std::fs::copy(&program, image.path("programs").join(name)).expect("a copy");
        }
        image
    }

    fn path(&self, name: &str) -> PathBuf {
        self.case.path("root").join(name)
    }

    /// A container of it, as nobody, under our seccomp profile if one is named.
    fn container(&self, profile: Option<&str>, command: &[&str]) -> Output {
        let mut podman = Command::new("unshare");
        podman.args(["--mount", "sh", "-c", PODMAN, "sh"]);
        if let Some(profile) = profile {
            let path = self.case.path("profile.json");
            std::fs::write(&path, profile).expect("a profile");
            let option = format!("seccomp={}", path.display());
            podman.arg("--security-opt").arg(option);
        }
        podman
            .arg("--rootfs")
            .arg(self.case.path("root"))
            .args(command);
        podman.output().expect("unshare")
    }

    /// The JSON output of hugewise.
    fn says(&self, profile: Option<&str>, words: &[&str]) -> Value {
        let command = [&["/programs/hugewise"], words].concat();
        let output = self.container(profile, &command);
        let error = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{}: {error}", output.status);
        serde_json::from_slice(&output.stdout).unwrap_or_else(|why| panic!("{why}: {error}"))
    }
}

/// An image if containers can run here, on a machine with huge pages on request.
fn image(name: &str) -> Option<Image> {
    let mode = std::fs::read_to_string("/sys/kernel/mm/transparent_hugepage/enabled");
    if !mode.is_ok_and(|mode| mode.contains("[madvise]")) {
        skip(name, "needs a machine whose `enabled` is `madvise`");
        return None;
    }
    if !is_root() || Command::new("podman").arg("--version").output().is_err() {
        skip(name, "needs root and podman");
        return None;
    }
    let image = Image::new();
    let tried = image.container(None, &["/bin/true"]);
    if tried.status.success() {
        return Some(image);
    }
    let why = String::from_utf8_lossy(&tried.stderr).into_owned();
    skip(name, &format!("no container here: {}", why.trim()));
    None
}

/// How `doctor` reports that `thp=always` is reached, and the huge bytes of a `run` without flags.
fn reached(image: &Image, profile: Option<&str>) -> (Value, Value) {
    let doctor = image.says(profile, &["doctor", "--format", "json"]);
    let mut policies = doctor["policies"].as_array().expect("policies").iter();
    let always = policies.find(|policy| policy["policy"] == "thp=always");
    let means = always.expect("a policy")["means"].clone();
    let run = [
        "run",
        "--wait",
        "120s",
        "--max-rounds",
        "2",
        "--host-memory",
        "as-is",
        "--quiet",
    ];
    let tail = ["--format", "json", "--", "/programs/hugewise-lab"];
    let lab = ["touch", "--pages", "23029", "--hold", "600"];
    let report = image.says(profile, &[&run[..], &tail, &lab].concat());
    // A trial on a busy machine may have no sample.
    let huge = |policy| {
        let mut bytes = readings(&report, policy, "huge_anon_peak_bytes");
        bytes.retain(|bytes| !bytes.is_nan());
        bytes
    };
    assert!(
        huge("as-is").iter().all(|&bytes| bytes == 0.0),
        "{:?}",
        huge("as-is")
    );
    let always = huge("thp=always");
    assert!(always.contains(&(88.0 * MIB)), "{always:?}");
    (means, report)
}

#[test]
fn the_usual_profile_lets_a_tracer_work() {
    let _turn = one_at_a_time();
    let Some(image) = image("the_usual_profile_lets_a_tracer_work") else {
        return;
    };
    let (means, report) = reached(&image, None);
    assert_eq!(means, "a tracer");
    assert!(!readings(&report, "tracer=idle", "wall_seconds").is_empty());
}

#[test]
fn a_profile_without_ptrace_leaves_the_library() {
    let _turn = one_at_a_time();
    let Some(image) = image("a_profile_without_ptrace_leaves_the_library") else {
        return;
    };
    let (means, report) = reached(&image, Some(WITHOUT_PTRACE));
    assert_eq!(means, "a preloaded library");
    assert!(!readings(&report, "preload=idle", "wall_seconds").is_empty());
}
