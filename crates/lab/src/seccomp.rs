//! System call filters (seccomp(2)).

/// A filter that gives these calls this answer and allows all others. It ignores the ABI, because its purpose is to
/// refuse calls, not to protect.
pub(crate) fn filter(calls: &[libc::c_long], answer: u32) -> Vec<libc::sock_filter> {
    const NUMBER_AT: u32 = 0;
    let step = |code: u32, on_true: u8, on_false: u8, value: u32| libc::sock_filter {
        code: code as u16,
        jt: on_true,
        jf: on_false,
        k: value,
    };
    let give = |value| step(libc::BPF_RET | libc::BPF_K, 0, 0, value);
    let mut code = vec![step(
        libc::BPF_LD | libc::BPF_W | libc::BPF_ABS,
        0,
        0,
        NUMBER_AT,
    )];
    let equal = libc::BPF_JMP | libc::BPF_JEQ | libc::BPF_K;
    for &call in calls {
        code.push(step(equal, 0, 1, call as u32));
        code.push(give(answer));
    }
    code.push(give(libc::SECCOMP_RET_ALLOW));
    code
}
