//! Explains why a point is not traced.

use hugewise_base::missing::Missing;
use hugewise_observe::trace::MissingPoint;
use hugewise_observe::trace::points::Point;

use super::ladder::AttachRefusal;
use crate::machine::root::Root;

pub(super) fn not_supported(what: &str) -> Missing {
    Missing::not_supported(what)
}

pub(super) fn untraced(points: &[Point], why: &Missing) -> Vec<MissingPoint> {
    let of = |point: &Point| MissingPoint {
        name: point.name.to_string(),
        title: point.title.to_string(),
        why: why.clone(),
        tried: Vec::new(),
    };
    points.iter().map(of).collect()
}

/// A refusal counts as a missing permission only if a capability is missing: some kernels refuse trampolines to
/// everybody with the same error number.
pub(super) fn refused(
    point: &Point,
    absent: Vec<String>,
    refusals: &[AttachRefusal],
    lacking: Option<&String>,
) -> MissingPoint {
    let forbidden =
        |refusal: &AttachRefusal| matches!(refusal.errno, Some(libc::EPERM | libc::EACCES));
    let tried = refusals
        .iter()
        .map(|refusal| format!("{}: {}", refusal.attachment.name(), refusal.error));
    let tried: Vec<String> = absent.into_iter().chain(tried).collect();
    let why = match lacking {
        Some(grant) if refusals.iter().any(forbidden) => Missing::not_permitted(grant.clone()),
        _ => not_supported(&tried.join("; ")),
    };
    MissingPoint {
        name: point.name.to_string(),
        title: point.title.to_string(),
        why,
        tried,
    }
}

/// Number of `CAP_PERFMON` (include/uapi/linux/capability.h).
const CAP_PERFMON: u64 = 38;

/// Returns the capabilities required for tracing that this process does not have. Kernels before 5.8 have neither and
/// require CAP_SYS_ADMIN.
pub(super) fn lacking(root: &Root) -> Option<String> {
    use rustix::thread::CapabilitySet;
    let has = rustix::thread::capabilities(None).ok()?.effective;
    if has.contains(CapabilitySet::SYS_ADMIN) {
        return None;
    }
    let last =
        crate::machine::number::read(root, "proc/sys/kernel/cap_last_cap").unwrap_or(CAP_PERFMON);
    if last < CAP_PERFMON {
        return Some("CAP_SYS_ADMIN".to_owned());
    }
    let wanted = [
        (CapabilitySet::BPF, "CAP_BPF"),
        (CapabilitySet::PERFMON, "CAP_PERFMON"),
    ];
    let lacking = wanted.iter().filter(|(one, _)| !has.contains(*one));
    let names: Vec<&str> = lacking.map(|(_, name)| *name).collect();
    (!names.is_empty()).then(|| names.join(" and "))
}

#[cfg(test)]
mod tests {
    use hugewise_observe::trace::Attachment;

    use super::*;

    #[test]
    fn a_refusal_is_a_lack_of_permission_only_where_one_is_lacking() {
        let point = &hugewise_observe::trace::points::points()[0];
        let refusal = AttachRefusal {
            attachment: Attachment::Fentry,
            errno: Some(libc::EPERM),
            error: "Operation not permitted".to_owned(),
        };
        let refusals = [refusal];
        let grant = "CAP_BPF".to_owned();
        let user = refused(point, Vec::new(), &refusals, Some(&grant));
        assert_eq!(user.why, Missing::NotPermitted { grant });
        let root = refused(point, vec!["no function x".to_owned()], &refusals, None);
        assert_eq!(
            root.why,
            not_supported("no function x; fentry: Operation not permitted")
        );
    }
}
