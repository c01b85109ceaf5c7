//! Prepares the machine for a plant: settings through the program's own journal, a cgroup, swap, folders. Everything is
//! restored.

use std::fs::{self, File, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use hugewise_experiment::run::policy::realise::{FileWrite, Realisation};
use hugewise_lab::plant::{Need, PLANTS, Plant, Setting};
use hugewise_linux::apply::Machine;
use hugewise_linux::machine::lock;
use hugewise_linux::machine::root::Root;
use hugewise_linux::undo::{STATE_DIR, UndoFolder};
use tempfile::TempDir;

use crate::answer::Answer;
use crate::decoy::Decoy;
use crate::raised::Refused;
use crate::rows::Outcome;
use crate::skipping::is_root;

/// A user without privileges and files.
pub const NOBODY: u32 = 65_534;

const THP: &str = "/sys/kernel/mm/transparent_hugepage";

/// The user who makes and judges a plant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// With all privileges.
    Root,
    /// As an ordinary user, on a machine that root has prepared.
    Nobody,
    /// As the ordinary user who runs the tests, on the unchanged machine.
    User,
}

impl Role {
    /// The roles available here.
    pub fn of_this_machine() -> Vec<Self> {
        if is_root() {
            vec![Self::Root, Self::Nobody]
        } else {
            vec![Self::User]
        }
    }

    pub fn name(self) -> &'static str {
        match self {
            Self::Root => "root",
            Self::Nobody | Self::User => "user",
        }
    }
}

/// The machine, ready for every plant, with nothing changed yet.
pub struct Ground {
    machine: Option<Machine>,
    beds: Beds,
}

impl Ground {
    /// Journals all settings that any plant changes. An unprivileged user changes nothing.
    pub fn prepare() -> Self {
        let beds = Beds::new();
        let machine = may_change_settings().then(|| {
            let lock = lock::hold(&lock::default_dir()).expect("the machine's lock");
            let place = UndoFolder::new(&Root::real(), Path::new(STATE_DIR));
            let all: Vec<Realisation> = PLANTS.iter().map(realisation).collect();
            let all: Vec<&Realisation> = all.iter().collect();
            Machine::begin(lock, place, &all).expect("the journal")
        });
        Self { machine, beds }
    }

    /// Runs `trial` while the machine meets the plant's needs.
    pub fn for_plant(
        &mut self,
        plant: &Plant,
        role: Role,
        trial: impl FnOnce(&Beds) -> Result<Answer, Refused>,
    ) -> Outcome {
        if let Some(reason) = self.beds.lacking(plant, role) {
            return Outcome::NotHere(reason);
        }
        let Some(machine) = &mut self.machine else {
            return crate::outcome(trial(&self.beds));
        };
        let applied = match machine.apply(&realisation(plant)) {
            Ok(applied) => applied,
            Err(error) => return Outcome::NotHere(error.to_string()),
        };
        let swap = plant.needs.contains(&Need::Swap).then(|| self.beds.swap());
        let decoy = Decoy::stand(&self.beds.lab());
        let outcome = crate::outcome(trial(&self.beds));
        drop((decoy, swap));
        drop(applied);
        let left = machine.drift().expect("the settings");
        assert!(left.is_empty(), "not put back: {left:?}");
        outcome
    }

    /// Checks that everything is restored.
    pub fn put_back(self) {
        if let Some(machine) = self.machine {
            let left = machine.finish().expect("the journal's end");
            assert!(left.is_empty(), "not put back: {left:?}");
        }
    }
}

fn may_change_settings() -> bool {
    let file = format!("{THP}/enabled");
    is_root() && File::options().write(true).open(file).is_ok()
}

/// The settings of a plant, in addition to the common ones. Settings that this kernel lacks are left out: the plant
/// itself reports what is missing.
fn realisation(plant: &Plant) -> Realisation {
    let mut settings = common_settings();
    for setting in plant.needs.iter().flat_map(|need| need.settings()) {
        settings.retain(|known| known.path != setting.path);
        settings.push(setting);
    }
    let exists = |setting: &Setting| Path::new("/").join(&setting.path).exists();
    let files = settings
        .into_iter()
        .filter(exists)
        .map(|setting| FileWrite {
            path: setting.path,
            value: setting.value,
        });
    Realisation {
        files: files.collect(),
        ..Realisation::default()
    }
}

/// khugepaged sleeps, and only PMD-sized pages of advised memory are huge.
fn common_settings() -> Vec<Setting> {
    let mut settings = Vec::new();
    let mut add = |file: &str, value: &str| {
        settings.push(Setting {
            path: format!("{}/{file}", &THP[1..]),
            value: value.to_owned(),
        });
    };
    add("enabled", "madvise");
    add("defrag", "madvise");
    add("shmem_enabled", "never");
    add("use_zero_page", "1");
    for entry in fs::read_dir(THP).expect("settings").flatten() {
        let name = entry.file_name().to_string_lossy().into_owned();
        if name.starts_with("hugepages-") {
            let own = if is_pmd_size(&name) {
                "inherit"
            } else {
                "never"
            };
            add(&format!("{name}/enabled"), own);
            add(&format!("{name}/shmem_enabled"), own);
        }
    }
    // Writing it wakes khugepaged for the last time.
    add("khugepaged/scan_sleep_millisecs", "3600000");
    settings
}

fn is_pmd_size(folder: &str) -> bool {
    let bytes = fs::read_to_string(format!("{THP}/hpage_pmd_size")).unwrap_or_default();
    let kib = bytes.trim().parse::<u64>().map_or(0, |bytes| bytes / 1024);
    folder == format!("hugepages-{kib}kB")
}

/// The folders of plants and programs.
pub struct Beds {
    small_folios: Option<Mounted>,
    group: Option<MemoryGroup>,
    // Removed last, because it contains the others.
    folder: TempDir,
}

impl Beds {
    fn new() -> Self {
        let folder = tempfile::Builder::new()
            .prefix("hugewise-plants")
            .tempdir()
            .expect("a folder");
        open_to_all(folder.path());
        // The build folder may be accessible only to root.
        let hugewise = std::env::var_os("HUGEWISE_PROGRAMS").map_or_else(
            || PathBuf::from(env!("CARGO_BIN_EXE_hugewise")),
            |folder| Path::new(&folder).join("hugewise"),
        );
        let lab = hugewise.with_file_name("hugewise-lab");
        assert!(lab.exists(), "build it first: cargo build -p hugewise-lab");
        fs::copy(&hugewise, folder.path().join("hugewise")).expect("a copy");
        fs::copy(lab, folder.path().join("hugewise-lab")).expect("a copy");
        let small_folios = Mounted::ramfs(&folder.path().join("ramfs"));
        Self {
            small_folios,
            group: MemoryGroup::new(),
            folder,
        }
    }

    pub fn hugewise(&self) -> PathBuf {
        self.folder.path().join("hugewise")
    }

    pub fn lab(&self) -> PathBuf {
        self.folder.path().join("hugewise-lab")
    }

    /// The folder for a plant's files.
    pub fn folder(&self, plant: &Plant) -> &Path {
        match &self.small_folios {
            Some(mounted) if plant.needs.contains(&Need::SmallFolioFolder) => &mounted.0,
            _ => self.folder.path(),
        }
    }

    /// The cgroup for plants that need one.
    pub fn group(&self) -> &Path {
        &self.group.as_ref().expect("a cgroup").0
    }

    /// A need of the plant that cannot be met in this role.
    fn lacking(&self, plant: &Plant, role: Role) -> Option<String> {
        let needs = |need| plant.needs.contains(&need);
        let small = self.small_folios.is_none();
        let group = self.group.is_none() || role != Role::Root;
        if needs(Need::SmallFolioFolder) && small {
            Some("no ramfs can be mounted".to_owned())
        } else if needs(Need::Group) && group {
            Some("only root can put it into a memory cgroup".to_owned())
        } else if needs(Need::AllMemory) && std::env::var_os("HUGEWISE_ALL_MEMORY").is_none() {
            Some("it takes all memory; allow it with HUGEWISE_ALL_MEMORY=1".to_owned())
        } else {
            None
        }
    }

    /// Swap space, unless there is some already.
    fn swap(&self) -> Option<SwapFile> {
        let swaps = fs::read_to_string("/proc/swaps").unwrap_or_default();
        (swaps.lines().count() < 2)
            .then(|| SwapFile::new(&self.folder.path().join("swap")))
            .flatten()
    }
}

fn open_to_all(folder: &Path) {
    fs::set_permissions(folder, Permissions::from_mode(0o777)).expect("permissions");
}

fn succeeds(command: &mut Command) -> bool {
    command.output().is_ok_and(|output| output.status.success())
}

/// A file system, unmounted on drop.
struct Mounted(PathBuf);

impl Mounted {
    fn ramfs(folder: &Path) -> Option<Self> {
        fs::create_dir(folder).expect("a folder");
        let mounted = succeeds(
            Command::new("mount")
                .args(["-t", "ramfs", "ramfs"])
                .arg(folder),
        );
        mounted.then(|| {
            open_to_all(folder);
            Self(folder.to_owned())
        })
    }
}

impl Drop for Mounted {
    fn drop(&mut self) {
        succeeds(Command::new("umount").arg(&self.0));
    }
}

/// Swap space, removed on drop.
struct SwapFile(PathBuf);

impl SwapFile {
    fn new(path: &Path) -> Option<Self> {
        let bytes = 16 * huge_bytes();
        let file = File::create(path).expect("a file");
        let zeroes = vec![0; 1 << 20];
        let mut out = &file;
        for _ in 0..bytes.div_ceil(zeroes.len()) {
            std::io::Write::write_all(&mut out, &zeroes).expect("a file for swap");
        }
        file.set_permissions(Permissions::from_mode(0o600))
            .expect("permissions");
        file.sync_all().expect("a file on disk");
        let ready = succeeds(Command::new("mkswap").arg(path))
            && succeeds(Command::new("swapon").arg(path));
        ready.then(|| Self(path.to_owned()))
    }
}

impl Drop for SwapFile {
    fn drop(&mut self) {
        succeeds(Command::new("swapoff").arg(&self.0));
        let _ = fs::remove_file(&self.0);
    }
}

fn huge_bytes() -> usize {
    let text = fs::read_to_string(format!("{THP}/hpage_pmd_size")).expect("a size");
    text.trim().parse().expect("a size")
}

/// A memory cgroup with a limit of some huge pages, of either version.
struct MemoryGroup(PathBuf);

impl MemoryGroup {
    fn new() -> Option<Self> {
        let (v1, v2) = (
            Path::new("/sys/fs/cgroup/memory"),
            Path::new("/sys/fs/cgroup"),
        );
        let (mount, limit) = if v1.join("memory.limit_in_bytes").exists() {
            (v1, "memory.limit_in_bytes")
        } else {
            let _ = fs::write(v2.join("cgroup.subtree_control"), "+memory");
            (v2, "memory.max")
        };
        let folder = mount.join(format!("hugewise-plants-{}", std::process::id()));
        fs::create_dir(&folder).ok()?;
        let group = Self(folder);
        let bytes = 8 * huge_bytes();
        fs::write(group.0.join(limit), bytes.to_string()).ok()?;
        Some(group)
    }
}

impl Drop for MemoryGroup {
    fn drop(&mut self) {
        let _ = fs::remove_dir(&self.0);
    }
}
