//! The required report for a plant: its code, and no other. Exceptions are listed here with the reason.

use std::sync::OnceLock;

use hugewise_linux::machine::root::Root;
use hugewise_linux::probe::{Environment, ask};
use hugewise_observe::inspect::reasons::Code;

use crate::answer::{Answer, Said};
use crate::ground::Role;
use crate::rows::{Outcome, Row};

/// How much is sufficient.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Enough {
    /// The code comes first, together with indistinguishable ones.
    First,
    /// The code is among the reported ones.
    Among,
}

/// For whom less is sufficient.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum For {
    Everybody,
    /// Users who cannot see page frames.
    Users,
    /// Everybody on a kernel without `PAGEMAP_SCAN` (before Linux 6.7).
    WithoutScan,
    /// Ordinary users there.
    UsersWithoutScan,
    /// Everybody on Arm.
    Arm,
}

impl For {
    fn includes(self, role: Role) -> bool {
        let user = role != Role::Root;
        match self {
            Self::Everybody => true,
            Self::Users => user,
            Self::WithoutScan => !has_page_scan(),
            Self::UsersWithoutScan => user && !has_page_scan(),
            Self::Arm => std::env::consts::ARCH == "aarch64",
        }
    }
}

fn has_page_scan() -> bool {
    static ANSWER: OnceLock<bool> = OnceLock::new();
    *ANSWER.get_or_init(|| {
        let answers = ask::ask(&Root::real(), Environment::default());
        answers.pagemap_scan.is_ok()
    })
}

const STACK: &str = "the flag of a stack is the one that MADV_NOHUGEPAGE sets (since Linux 6.8)";
const MODE: &str = "the mode of the process is in no file; only the kernel's refusal shows it";
const ASKED: &str =
    "whether a file system can do better shows only where it has done so in the same process";
const HISTORY: &str = "what was there earlier leaves no trace in the pages; refused allocations \
    and splits are counted for the whole machine, since boot";
const FRAMES: &str = "folios are to be seen with CAP_SYS_ADMIN only";
const PIN: &str = "that a page is pinned shows only when it is to be moved";
const FORK: &str = "pages given back and used again look like pages copied";
const EMPTY: &str = "an empty table is seen only as one that nothing populated needs, somewhere";

const ZERO: &str = "smaps does not count zero pages, and without PAGEMAP_SCAN (Linux 6.7) memory that \
    it counts as empty is not read page by page";
const MERGED: &str = "smaps counts merged pages since Linux 6.6";
const TRACEFS: &str =
    "whether khugepaged asks for a writable page stands in tracefs, which is root's";

const ATOMIC: &str = "on Arm an atomic instruction that writes is a read to the page fault; which \
    instruction came first is not kept";
const ATOMIC_SPLIT: &str = "once all pages are written, the huge zero page that an atomic \
    instruction brought has left nothing but a count of the machine";

/// The plants for which less is sufficient. The first matching entry counts.
const EXCEPTIONS: &[(&str, For, Enough, &str)] = &[
    ("UNTOUCHED", For::WithoutScan, Enough::First, ZERO),
    ("HUGE_ZERO", For::WithoutScan, Enough::Among, ZERO),
    ("ZERO_4K", For::WithoutScan, Enough::Among, ZERO),
    ("HUGE_ZERO", For::Arm, Enough::First, ATOMIC),
    ("ZERO_4K", For::Arm, Enough::First, ATOMIC),
    ("LSE_READ_FIRST", For::Arm, Enough::Among, ATOMIC_SPLIT),
    ("KSM", For::UsersWithoutScan, Enough::First, MERGED),
    ("READONLY_ANON", For::Users, Enough::Among, TRACEFS),
    ("MADV_NOHUGEPAGE", For::Everybody, Enough::First, STACK),
    ("MAP_STACK", For::Everybody, Enough::First, STACK),
    ("MAP_STACK/bare", For::Everybody, Enough::Among, STACK),
    ("MAP_STACK/thread", For::Everybody, Enough::First, STACK),
    ("PRCTL_EXCEPT_ADVISED", For::Everybody, Enough::First, MODE),
    ("FILE_NO_LARGE_FOLIO", For::Everybody, Enough::First, ASKED),
    ("FILE_SMALL_FOLIOS", For::Users, Enough::Among, FRAMES),
    ("PTE_TABLE_EXISTS", For::Everybody, Enough::First, HISTORY),
    (
        "PTE_TABLE_EXISTS/one-page",
        For::Everybody,
        Enough::First,
        HISTORY,
    ),
    (
        "PTE_TABLE_EXISTS/populated",
        For::Everybody,
        Enough::First,
        HISTORY,
    ),
    (
        "PTE_TABLE_EXISTS/grown-32nds",
        For::Everybody,
        Enough::First,
        HISTORY,
    ),
    (
        "PTE_TABLE_EXISTS/grown-halves",
        For::Everybody,
        Enough::First,
        HISTORY,
    ),
    (
        "PTE_TABLE_EXISTS/grown-askew",
        For::Everybody,
        Enough::First,
        HISTORY,
    ),
    ("EMPTY_PTE_TABLE", For::Everybody, Enough::Among, EMPTY),
    (
        "EMPTY_PTE_TABLE/used",
        For::Everybody,
        Enough::Among,
        HISTORY,
    ),
    ("PMD_SPLIT", For::Users, Enough::Among, FRAMES),
    ("PMD_SPLIT/freed", For::Users, Enough::Among, FRAMES),
    ("FORK_COW", For::Users, Enough::Among, FRAMES),
    ("FORK_COW", For::Everybody, Enough::First, FORK),
    ("MTHP_INSTEAD", For::Users, Enough::Among, FRAMES),
    ("ALLOC_FAIL", For::Everybody, Enough::First, HISTORY),
    ("ALLOC_NO_EFFORT", For::Everybody, Enough::First, HISTORY),
    ("MEMCG_LIMIT", For::Everybody, Enough::First, HISTORY),
    ("SPLIT_BY_RECLAIM", For::Everybody, Enough::Among, HISTORY),
    ("SPLIT_UNDERUSED", For::Everybody, Enough::Among, HISTORY),
    ("PINNED", For::Everybody, Enough::Among, PIN),
    ("KHP_NOT_REGISTERED", For::Everybody, Enough::First, PIN),
    ("KHP_PENDING", For::Everybody, Enough::First, PIN),
];

/// Why less than the one code is sufficient for a row.
pub fn exception(row: &Row) -> Option<&'static str> {
    enough(row).map(|(_, why)| why)
}

fn enough(row: &Row) -> Option<(Enough, &'static str)> {
    EXCEPTIONS
        .iter()
        .find(|&&(name, who, ..)| name == row.planted && who.includes(row.role))
        .map(|&(.., enough, why)| (enough, why))
}

/// The error in a row, if any.
pub fn fault(row: &Row) -> Option<String> {
    let right = match &row.outcome {
        Outcome::NotHere(_) => true,
        Outcome::Spoilt(_) => false,
        Outcome::Reported(answer) => is_right(row, answer),
    };
    let (planted, role) = (row.planted, row.role.name());
    (!right).then(|| format!("{planted} as {role}: {}", row.reported()))
}

/// Returns true if the whole plant has a single answer, and that is sufficient.
fn is_right(row: &Row, answer: &Answer) -> bool {
    let code = row.planted.split('/').next().and_then(Code::named);
    let code = code.expect("plants are named after codes");
    let mut said = row.answers(answer).iter();
    let (Some(said), None) = (said.next(), said.next()) else {
        return false;
    };
    let proved = |code: Code| said.code == code && said.is_proved();
    let enough = match enough(row) {
        None => false,
        Some((Enough::First, _)) => is_first(said, code),
        Some((Enough::Among, _)) => said.allows(code),
    };
    let grown = row.planted.contains("/grown") && code == Code::PteTableExists;
    (proved(code) || enough) && (!grown || answer.growth)
}

fn is_first(said: &Said, code: Code) -> bool {
    said.code == code && said.others.is_some()
}
