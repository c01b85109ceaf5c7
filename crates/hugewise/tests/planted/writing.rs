//! What root writes.

use super::*;

/// Under sudo, with one file for each flag in a folder of the user; the workload puts links in their places.
struct Sudo {
    case: Case,
    names: &'static [&'static str],
}

impl Sudo {
    fn new(names: &'static [&'static str]) -> Self {
        let case = Case::new();
        let user = case.path("user");
        folder_of_nobody(&user);
        let mut lines = format!("cd {} || exit 0\n", user.display());
        for name in names {
            let victim = case.path(&format!("victim.{name}"));
            secret(&victim);
            lines += &format!("rm -f {name}; ln -s {} {name}\n", victim.display());
        }
        script(&case.path("swap"), &lines);
        Self { case, names }
    }

    fn run(&self, words: &[&str]) -> i32 {
        let mut command = self.case.plain();
        command.env("SUDO_UID", NOBODY.to_string());
        command.current_dir(self.case.path("user")).args(words);
        let ended = command.arg("--").arg(self.case.path("swap")).output();
        let ended = ended.expect("the program");
        ended
            .status
            .code()
            .unwrap_or_else(|| panic!("{words:?}: {}", String::from_utf8_lossy(&ended.stderr)))
    }

    /// The victims are as before, and the results are files of the user.
    fn check(&self, words: &[&str]) {
        for name in self.names {
            let victim = fs::read_to_string(self.case.path(&format!("victim.{name}")));
            assert_eq!(victim.expect("the victim"), SECRET, "{words:?}: {name}");
            let made = self.case.path("user").join(name);
            let found = made.symlink_metadata().expect(name);
            assert!(found.is_file(), "{words:?}: {name} is no file");
            assert_eq!(found.uid(), NOBODY, "{words:?}: {name}");
            assert!(found.len() > 2, "{words:?}: {name} is empty");
        }
    }
}

#[test]
fn under_sudo_a_workload_does_not_choose_what_a_run_writes_over() {
    if !is_root() {
        return skip("under_sudo… run", "needs root to become somebody else");
    }
    let _turn = one_at_a_time();
    let sudo = Sudo::new(&["json", "html", "csv"]);
    let words = [
        "run",
        "--wait",
        "60s",
        "--warmup",
        "0",
        "--max-rounds",
        "2",
        "--policy",
        "as-is",
        "--baseline",
        "as-is",
        "--out",
        "r.jsonl",
        "--json",
        "json",
        "--html",
        "html",
        "--export",
        "csv-long=csv",
    ];
    assert_eq!(sudo.run(&words), 0);
    sudo.check(&words);
}

#[test]
fn under_sudo_a_workload_does_not_choose_what_the_instruments_write_over() {
    if !is_root() {
        return skip(
            "under_sudo… instruments",
            "needs root to become somebody else",
        );
    }
    let words = ["stat", "--json", "json"];
    let sudo = Sudo::new(&["json"]);
    assert_eq!(sudo.run(&words), 0);
    let victim = fs::read_to_string(sudo.case.path("victim.json"));
    assert_eq!(victim.expect("the victim"), SECRET);
    let words = [
        "faults",
        "--json",
        "json",
        "--html",
        "html",
        "--flame",
        "flame",
        "--folded",
        "folded",
        "--export",
        "firefox=firefox",
    ];
    let sudo = Sudo::new(&["json", "html", "flame", "folded", "firefox"]);
    if sudo.run(&words) != 0 {
        return skip("faults under sudo", "page faults cannot be watched here");
    }
    sudo.check(&words);
}

#[test]
fn under_sudo_the_output_that_is_kept_is_the_users_and_lies_in_the_folder_that_was_made() {
    if !is_root() {
        return skip("under_sudo… output", "needs root to become somebody else");
    }
    let _turn = one_at_a_time();
    let case = Case::new();
    let (user, victim) = (case.path("user"), case.path("victim"));
    folder_of_nobody(&user);
    secret(&victim);
    let lines = format!(
        "cd {} || exit 0\n[ -e moved ] || {{ mv r.output moved; mkdir r.output; }}\n\
         for i in 0000 0001 0002 0003; do ln -sf {} r.output/$i.stdout; done\necho printed",
        user.display(),
        victim.display()
    );
    script(&case.path("swap"), &lines);
    case.hugewise()
        .env("SUDO_UID", NOBODY.to_string())
        .args(["run", "--wait", "60s", "--warmup", "0", "--max-rounds", "2"])
        .args([
            "--policy",
            "as-is",
            "--baseline",
            "as-is",
            "--output",
            "keep",
        ])
        .arg("--out")
        .arg(user.join("r.jsonl"))
        .arg("--")
        .arg(case.path("swap"))
        .assert()
        .success();
    assert_eq!(fs::read_to_string(&victim).expect("the victim"), SECRET);
    let kept = user.join("moved/0000.stdout");
    assert_eq!(fs::read_to_string(&kept).expect("the output"), "printed\n");
    for path in [&user.join("moved"), &kept, &user.join("r.jsonl")] {
        assert_eq!(path.metadata().expect("a file").uid(), NOBODY, "{path:?}");
    }
}

#[test]
fn under_sudo_root_writes_only_where_the_user_may() {
    if !is_root() {
        return skip("under_sudo… where", "needs root to become somebody else");
    }
    let case = Case::new();
    secret(&case.path("victim"));
    symlink(case.path("victim"), case.path("link")).expect("a link");
    for name in ["victim", "link"] {
        case.hugewise()
            .env("SUDO_UID", NOBODY.to_string())
            .args(["stat", "--json", name, "--", "true"])
            .assert()
            .code(2);
    }
    assert_eq!(fs::read_to_string(case.path("victim")).expect("it"), SECRET);
}

#[test]
fn a_given_descriptor_and_a_device_are_written_to() {
    let case = Case::new();
    let record = "../../fixtures/runs/clear-win.jsonl";
    let record = Path::new(env!("CARGO_MANIFEST_DIR")).join(record);
    for (file, printed) in [
        ("/dev/stdout", true),
        ("/dev/fd/1", true),
        ("/dev/null", false),
    ] {
        let done = case
            .hugewise()
            .args(["report", "--format", "csv", "--json", file])
            .arg(&record)
            .assert()
            .success();
        let text = String::from_utf8_lossy(&done.get_output().stdout).into_owned();
        assert_eq!(
            text.contains("\"format\":") || text.contains("\"format\" :"),
            printed,
            "{file}"
        );
        assert!(text.lines().count() > 5, "the CSV is there too: {text}");
    }
}

#[test]
fn a_folder_of_somebody_else_takes_the_file_of_metrics_and_nothing_is_followed() {
    if !is_root() {
        return skip(
            "a_folder_of_somebody_else…",
            "needs root to plant for another",
        );
    }
    for kind in ["link", "dangling", "pipe", "folder"] {
        let case = Case::new();
        let folder = case.path("metrics");
        folder_of_nobody(&folder);
        secret(&case.path("victim"));
        for name in ["hugewise.prom", "hugewise.prom.new"] {
            let place = folder.join(name);
            match kind {
                "link" => symlink(case.path("victim"), &place).expect("a link"),
                "dangling" => symlink(case.path("none"), &place).expect("a link"),
                "pipe" => make_pipe(&place),
                _ => fs::create_dir(&place).expect("a folder"),
            }
        }
        let code = if kind == "folder" { 1 } else { 0 };
        case.hugewise()
            .args(["export", "--once", "--textfile"])
            .arg(&folder)
            .timeout(Duration::from_secs(30))
            .assert()
            .code(code);
        assert_eq!(fs::read_to_string(case.path("victim")).expect("it"), SECRET);
        assert!(!case.path("none").exists());
        let names = fs::read_dir(&folder).expect("the folder").count();
        assert_eq!(names, 2, "{kind}: nothing is left over");
        if kind != "folder" {
            let found = folder.join("hugewise.prom").symlink_metadata().expect("it");
            assert!(found.is_file() && found.mode() & 0o777 == 0o644, "{kind}");
        }
    }
}
