use serde::{Deserialize, Serialize};
use strum::IntoStaticStr;

use super::event::{Conditions, Served, Sharing, Weight};
use super::space::{Area, PageState};
use hugewise_base::units::bytes_text;

/// The kind of a fault.
///
/// After the fault the kernel reports the size of the page that maps the address and, to privileged users, whether it
/// is a zero page. The mapping shows the owner of the memory. Earlier faults show whether there was a page before. No
/// source distinguishes reads from writes.
#[derive(
    Clone, Copy, Debug, Serialize, Deserialize, PartialEq, Eq, PartialOrd, Ord, IntoStaticStr,
)]
#[serde(rename_all = "snake_case")]
#[strum(serialize_all = "snake_case")]
pub enum FaultKind {
    /// A new page of anonymous memory. Includes zero pages if they cannot be distinguished, and larger folios if these
    /// are enabled and not reported.
    Page,
    /// An anonymous folio larger than a page and smaller than a huge page, in bytes.
    Folio(u64),
    /// Anonymous memory mapped by a PMD.
    Huge,
    /// The zero page: a read of memory that was never written.
    ZeroPage,
    /// The huge zero page.
    HugeZero,
    /// A write to an address that mapped the zero page.
    AfterZero,
    /// A page that was present before. Its memory was given back (`MADV_DONTNEED`, a smaller heap) and is used again.
    /// If zero pages cannot be distinguished, also a write after a read.
    Again,
    /// The first touch of anonymous memory since a fork that may have shared it. The fault copies the page, or reuses
    /// the last copy.
    Copy,
    /// A page of a file, or a private copy of one at its first touch.
    File,
    /// A page of a private file mapping that was present before: its copy on write.
    FileCopy,
    /// Memory shared between processes.
    Shared,
    /// A page of a hugetlb pool.
    Hugetlb,
    /// A fault that waited for I/O.
    Major,
    /// A fault in an unknown mapping. It existed before the watch began and could not be read, or was moved by
    /// mremap(2).
    Unknown,
}

impl FaultKind {
    /// Returns the kind of a fault in `area`, from the earlier `state` of its page.
    #[must_use]
    pub(super) fn of(
        served: &Served,
        area: Option<&Area>,
        state: PageState,
        conditions: &Conditions,
    ) -> Self {
        if served.weight == Weight::Major {
            return Self::Major;
        }
        let Some(area) = area else {
            return Self::Unknown;
        };
        match (area.sharing, area.is_anonymous()) {
            (Sharing::Hugetlb, _) => Self::Hugetlb,
            (Sharing::Shared, _) if area.is_shared_memory() => Self::Shared,
            (Sharing::Private, true) => Self::of_anonymous(served, state, conditions),
            (Sharing::Private, false) if state.seen => Self::FileCopy,
            (Sharing::Private | Sharing::Shared, _) => Self::File,
        }
    }

    fn of_anonymous(served: &Served, state: PageState, conditions: &Conditions) -> Self {
        let bytes = served.bytes(conditions.page_bytes);
        let mapped = served.page_bytes.unwrap_or(conditions.page_bytes);
        let huge = conditions.pmd_bytes.is_some_and(|pmd| mapped >= pmd);
        let zero = served.physical == Some(0);
        match (huge, zero) {
            _ if state.shared => Self::Copy,
            (true, true) => Self::HugeZero,
            (true, false) => Self::Huge,
            (false, true) => Self::ZeroPage,
            (false, false) if state.zero => Self::AfterZero,
            (false, false) if state.seen => Self::Again,
            (false, false) if bytes > conditions.page_bytes => Self::Folio(bytes),
            (false, false) => Self::Page,
        }
    }

    /// Returns the name in JSON and CSV.
    #[must_use]
    pub fn name(self) -> &'static str {
        self.into()
    }

    /// Returns the label for people. It is as uncertain as the conditions require.
    #[must_use]
    pub fn label(self, conditions: &Conditions) -> String {
        let page = bytes_text(conditions.page_bytes);
        let huge = conditions
            .pmd_bytes
            .map_or_else(|| "huge".to_owned(), bytes_text);
        let zeroes_known = conditions.physical.is_yes();
        let folios = !conditions.folios.is_yes();
        match self {
            Self::Page => match (zeroes_known, folios) {
                (true, false) => format!("{page} page"),
                (true, true) => format!("{page} page or folio"),
                (false, false) => format!("{page} or zero page"),
                (false, true) => format!("{page}, folio or zero"),
            },
            Self::Folio(bytes) => format!("{} folio", bytes_text(bytes)),
            Self::Huge if conditions.huge_zero.is_yes() => format!("{huge} huge page"),
            Self::Huge => format!("{huge} or huge zero"),
            Self::ZeroPage => "zero page".to_owned(),
            Self::HugeZero => "huge zero page".to_owned(),
            Self::AfterZero => "write to zero page".to_owned(),
            Self::Again if zeroes_known => "used again".to_owned(),
            Self::Again => "write or use again".to_owned(),
            Self::Copy => "copy after fork".to_owned(),
            Self::File => "file".to_owned(),
            Self::FileCopy => "private file copy".to_owned(),
            Self::Shared => "shared memory".to_owned(),
            Self::Hugetlb => "hugetlb".to_owned(),
            Self::Major => "major".to_owned(),
            Self::Unknown => "unknown mapping".to_owned(),
        }
    }
}
