use super::*;

const GRANTS: Grants = Grants {
    perf: "CAP_PERFMON",
    bpf: "CAP_BPF and CAP_PERFMON",
    paranoid: Some(2),
};

fn pair(kernel: &str, user: &str) -> PerfAnswers {
    PerfAnswers {
        kernel: kernel.parse().unwrap(),
        user: user.parse().unwrap(),
    }
}

#[test]
fn refused_kernel_mode_does_not_hide_missing_hardware() {
    let missing = |pair| match hardware(pair, &GRANTS) {
        Support::No { missing } => Some(missing),
        _ => None,
    };
    assert_eq!(missing(pair("EACCES", "ENOENT")), Some(Missing::NoHardware));
    assert_eq!(missing(pair("ENOENT", "ENOENT")), Some(Missing::NoHardware));
    assert!(matches!(
        missing(pair("EACCES", "EACCES")),
        Some(Missing::NotPermitted { .. })
    ));
    assert_eq!(
        hardware(pair("EACCES", "ok"), &GRANTS),
        yes("user mode only")
    );
    assert_eq!(hardware(pair("ok", "ok"), &GRANTS), yes(""));
}

#[test]
fn an_error_that_proves_nothing_is_unknown() {
    assert!(matches!(
        hardware(pair("EMFILE", "EMFILE"), &GRANTS),
        Support::Unknown { .. }
    ));
    assert!(matches!(
        simple(Answer::Refused(libc::ENOMEM), "x", "y"),
        Support::Unknown { .. }
    ));
}

#[test]
fn a_frame_number_of_zero_is_a_refusal() {
    assert_eq!(frame_numbers(Answer::Empty), not_permitted("CAP_SYS_ADMIN"));
}

#[test]
fn the_grant_names_the_level_that_is_set() {
    assert_eq!(
        GRANTS.perf_kernel(),
        "CAP_PERFMON, or perf_event_paranoid at most 1 (now 2)"
    );
    let strict = Grants {
        paranoid: Some(3),
        ..GRANTS
    };
    assert!(strict.perf_user().contains("at most 2 (now 3)"));
}
