//! `malloc=`: tunables of glibc, or another allocator preloaded.

use super::pages::LAST_GLIBC_MADVISE_ONLY;
use super::{Draft, EnvChange, Reach};
use crate::base::host::{Host, THP_DIR, ThpSettings};
use crate::base::tunables::Tunable;
use crate::run::policy::parse::kib_text;
use crate::run::policy::words::Word;
use crate::run::policy::{Malloc, Thp};

/// The first glibc with the tunable `glibc.malloc.hugetlb` (its NEWS).
const FIRST_GLIBC: (u32, u32) = (2, 35);
/// The first glibc with `glibc.pthread.stack_hugetlb` (its NEWS).
pub(super) const FIRST_GLIBC_WITH_STACKS: (u32, u32) = (2, 38);

pub(super) fn reach(draft: &mut Draft<'_>) {
    match draft.policy.settings.malloc {
        None | Some(Malloc::Default) => {}
        Some(Malloc::Thp) => {
            check_glibc(draft, FIRST_GLIBC);
            check_mode(draft);
            draft.append_variable("GLIBC_TUNABLES", "glibc.malloc.hugetlb=1");
            bind_at_start(draft);
        }
        Some(Malloc::Hugetlb) => {
            check_glibc(draft, FIRST_GLIBC);
            check_pool(draft);
            draft.append_variable("GLIBC_TUNABLES", "glibc.malloc.hugetlb=2");
        }
        Some(other) => preload(draft, other),
    }
}

/// The variable that makes the loader resolve every function before the program starts (ld.so(8)).
pub(crate) const BIND_NOW: &str = "LD_BIND_NOW";

/// Makes an old glibc take its tunable in every start or in none, see [`Host::malloc_takes_advice_by_chance`]. Such a
/// glibc reads past the machine's mode into data that the loader left on the stack when it resolved `malloc`. Of 784
/// programs of Debian 12, each started four times, 132 took the tunable in some starts only; with this variable 773
/// took it in all and 11 in none.
fn bind_at_start(draft: &mut Draft<'_>) {
    let is_set = draft.policy.settings.env.contains_key(BIND_NOW);
    if draft.host.malloc_takes_advice_by_chance() && !is_set {
        draft.realisation.environment.push(EnvChange::Set {
            name: BIND_NOW.to_owned(),
            value: "1".to_owned(),
        });
    }
}

pub(super) fn check_glibc(draft: &mut Draft<'_>, first: (u32, u32)) {
    let problem = match draft.host.glibc {
        Some(version) if version >= first => return,
        Some((major, minor)) => {
            format!("programs here use glibc {major}.{minor}, which has no such tunable")
        }
        None => "programs here do not use glibc".to_owned(),
    };
    let other = match first {
        FIRST_GLIBC => "; another allocator (malloc=jemalloc) does not",
        _ => "",
    };
    let (major, minor) = first;
    draft.obstacle(problem, format!("it needs glibc {major}.{minor}{other}"));
}

/// glibc reads `enabled` once, when the program starts, and advises its heap only in the modes that it considers
/// useful.
fn check_mode(draft: &mut Draft<'_>) {
    let (Ok(thp), Some(glibc)) = (&draft.host.thp, draft.host.glibc) else {
        return;
    };
    let enabled = enabled_under(draft, thp);
    if glibc <= LAST_GLIBC_MADVISE_ONLY && enabled != "madvise" {
        let (major, minor) = glibc;
        draft.obstacle(
            format!(
                "glibc {major}.{minor} advises its heap only while /{THP_DIR}/enabled reads \
                 `madvise`, and under this policy it reads `{enabled}`"
            ),
            remedy_for_mode(draft),
        );
    } else if pmd_never(draft, thp, &enabled) {
        draft.obstacle(
            "malloc=thp advises the heap, and the machine gives no huge page to advised memory",
            remedy_for_mode(draft),
        );
    }
}

/// The loader reads `enabled` too, and advises nothing if it reads `never` (`_dl_get_thp_config`, glibc 2.44).
pub(super) fn check_advice(draft: &mut Draft<'_>, key: &str) {
    let Ok(thp) = &draft.host.thp else {
        return;
    };
    let enabled = enabled_under(draft, thp);
    if enabled == "never" || pmd_never(draft, thp, &enabled) {
        draft.obstacle(
            format!("{key} advises code, and the machine gives no huge page to advised memory"),
            "add thp=madvise, as root with --system",
        );
    }
}

/// A value that the file of the machine fixes is not overridden by the environment.
pub(super) fn check_fixed(draft: &mut Draft<'_>) {
    let fixed = draft.host.tunables.of(None);
    let fixed: Vec<&Tunable> = fixed.into_values().filter(|it| it.fixed).collect();
    for (name, value) in draft.policy.settings.tunables() {
        let same = |it: &&&Tunable| it.name == name && it.value != value;
        if let Some(tunable) = fixed.iter().find(same) {
            draft.obstacle(
                format!(
                    "{} fixes {tunable}, and ignores GLIBC_TUNABLES",
                    tunable.place
                ),
                "remove `-` or `nonoverridable` from that line, and run ldconfig",
            );
        }
    }
}

fn remedy_for_mode(draft: &Draft<'_>) -> &'static str {
    match (draft.policy.settings.thp, draft.reach) {
        (Some(Thp::Always), _) => "leave malloc=thp out: under thp=always the heap needs no advice",
        (_, Reach::Process) => "use thp=madvise,malloc=thp as root with --system",
        (_, Reach::System | Reach::Machine) => "use thp=madvise,malloc=thp",
    }
}

/// The value of `enabled` while the policy is active.
fn enabled_under(draft: &Draft<'_>, thp: &ThpSettings) -> String {
    value_under(draft, "enabled", &thp.enabled)
}

fn value_under(draft: &Draft<'_>, file: &str, current: &str) -> String {
    let path = format!("{THP_DIR}/{file}");
    let written = draft
        .realisation
        .files
        .iter()
        .find(|write| write.path == path);
    written.map_or(current, |write| &write.value).to_owned()
}

fn pmd_never(draft: &Draft<'_>, thp: &ThpSettings, enabled: &str) -> bool {
    let kib = thp.pmd_bytes / 1024;
    let current = thp.sizes.get(&kib).map_or("inherit", String::as_str);
    match value_under(draft, &format!("hugepages-{kib}kB/enabled"), current).as_str() {
        "inherit" => enabled == "never",
        own => own == "never",
    }
}

fn check_pool(draft: &mut Draft<'_>) {
    let bytes = default_hugetlb_bytes(draft.host);
    let kib = bytes / 1024;
    let made = draft.policy.settings.hugetlb.get(&kib);
    if made.is_some_and(|&pages| pages > 0) {
        return;
    }
    let Some(pool) = draft.host.hugetlb.get(&bytes) else {
        return draft.obstacle(
            format!("this kernel has no hugetlb pool of {kib} KiB pages, its default size"),
            "use a kernel with CONFIG_HUGETLBFS",
        );
    };
    let available = pool.free.saturating_sub(pool.reserved);
    if available == 0 && pool.overcommit == 0 {
        draft.obstacle(
            format!(
                "the hugetlb pool of {kib} KiB pages has none free ({} in all)",
                pool.total
            ),
            format!(
                "add hugetlb={}:N with --system, with N pages for the heap",
                kib_text(kib)
            ),
        );
    }
}

/// The page size of `MAP_HUGETLB` without a size: `default_hugepagesz=` of the boot line, otherwise that of a PMD,
/// which is one page full of 8-byte entries.
fn default_hugetlb_bytes(host: &Host) -> u64 {
    let booted = host
        .boot_line
        .split_whitespace()
        .filter_map(|word| word.strip_prefix("default_hugepagesz="))
        .filter_map(|size| crate::base::units::parse_size(size).ok())
        .next_back();
    booted
        .or(host.pmd_bytes())
        .unwrap_or_else(|| host.page_bytes.saturating_mul(host.page_bytes / 8))
}

fn preload(draft: &mut Draft<'_>, malloc: Malloc) {
    let Some(path) = draft.host.allocators.get(malloc.word()) else {
        return draft.obstacle(
            format!("the library of malloc={} was not found here", malloc.word()),
            format!(
                "install it (on Debian and Ubuntu: apt install {})",
                package(malloc)
            ),
        );
    };
    draft.append_variable("LD_PRELOAD", path);
    draft.realisation.preload = Some(path.clone());
}

fn package(malloc: Malloc) -> &'static str {
    match malloc {
        Malloc::Mimalloc => "libmimalloc2.0",
        Malloc::Tcmalloc => "libtcmalloc-minimal4",
        Malloc::Jemalloc | Malloc::Default | Malloc::Thp | Malloc::Hugetlb => "libjemalloc2",
    }
}
