//! Selects the thread of a process to stop, so that its program notices nothing.

use crate::machine::root::Root;
use crate::proc::pid_stat::read_thread_stat;

/// The number of threads examined to find a suitable one.
const THREADS: usize = 64;

/// Calls that continue unaffected after a stop: the kernel restarts them with the remaining time (signal(7),
/// `ERESTART…` in the kernel).
const GO_ON: &[libc::c_long] = &[
    libc::SYS_futex,
    libc::SYS_nanosleep,
    libc::SYS_clock_nanosleep,
    libc::SYS_ppoll,
    libc::SYS_pselect6,
    libc::SYS_wait4,
    libc::SYS_waitid,
    libc::SYS_rt_sigsuspend,
    libc::SYS_restart_syscall,
    libc::SYS_read,
    libc::SYS_accept,
    libc::SYS_accept4,
    libc::SYS_flock,
    libc::SYS_fcntl,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_poll,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_select,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_pause,
];

/// Calls that return early, with a partial result.
const CUT_SHORT: &[libc::c_long] = &[
    libc::SYS_write,
    libc::SYS_writev,
    libc::SYS_pwrite64,
    libc::SYS_pwritev,
    libc::SYS_pwritev2,
    libc::SYS_sendto,
    libc::SYS_sendmsg,
    libc::SYS_sendmmsg,
    libc::SYS_sendfile,
    libc::SYS_splice,
    libc::SYS_tee,
    libc::SYS_vmsplice,
    libc::SYS_copy_file_range,
    libc::SYS_getrandom,
];

/// The state of a thread, from `/proc/PID/task/TID/syscall`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Place {
    /// On a processor, or about to be; or the kernel does not report it.
    Running,
    /// Waiting outside of any call.
    Waiting,
    /// Waiting in a call.
    Call {
        number: libc::c_long,
        first_argument: u64,
        stack: u64,
    },
}

impl Place {
    fn parse(text: &str) -> Option<Self> {
        let words: Vec<&str> = text.split_ascii_whitespace().collect();
        let number = match *words.first()? {
            "running" => return Some(Self::Running),
            "-1" => return Some(Self::Waiting),
            number => number.parse().ok()?,
        };
        let hexadecimal = |at: usize| {
            let digits = words.get(at)?.trim_start_matches("0x");
            u64::from_str_radix(digits, 16).ok()
        };
        Some(Self::Call {
            number,
            first_argument: hexadecimal(1)?,
            stack: hexadecimal(7)?,
        })
    }

    /// Rates how much a stop disturbs the thread; lower is better, and `None` forbids a stop.
    fn disturbance(self) -> Option<u8> {
        match self {
            Self::Call { number, .. } if GO_ON.contains(&number) => Some(0),
            Self::Running => Some(1),
            Self::Call { number, .. } if !CUT_SHORT.contains(&number) => Some(2),
            Self::Call { .. } | Self::Waiting => None,
        }
    }
}

/// A thread that can be stopped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Thread {
    pub(super) number: i32,
    /// The number and the first argument of the call in which it is waiting.
    pub(super) call: Option<(libc::c_long, u64)>,
}

/// The choice of a thread in a process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Choice {
    /// This thread.
    Thread(Thread),
    /// No thread is suitable at the moment.
    NotNow,
    /// The process has ended, or is stopped by another process.
    Gone,
}

/// Returns the thread of a process that a stop disturbs least.
pub(super) fn choose(pid: u32) -> Choice {
    let mut best: Option<(u8, Thread)> = None;
    let mut alive = 0;
    for number in numbers(pid).into_iter().take(THREADS) {
        match state(pid, number) {
            Some('T') => return Choice::Gone,
            // Traced by another process, or ended.
            None | Some('t' | 'Z' | 'X' | 'x') => continue,
            Some(_) => alive += 1,
        }
        let place = place(pid, number);
        let call = match place {
            Place::Call {
                number,
                first_argument,
                ..
            } => Some((number, first_argument)),
            Place::Running | Place::Waiting => None,
        };
        let Some(grade) = place.disturbance() else {
            continue;
        };
        if best.is_none_or(|(least, _)| grade < least) {
            best = Some((grade, Thread { number, call }));
        }
        if grade == 0 {
            break;
        }
    }
    match (best, alive) {
        (Some((_, thread)), _) => Choice::Thread(thread),
        (None, 0) => Choice::Gone,
        (None, _) => Choice::NotNow,
    }
}

/// Returns the stack addresses of waiting threads.
pub(super) fn stacks(pid: u32) -> Vec<u64> {
    let places = numbers(pid).into_iter().map(|number| place(pid, number));
    places
        .filter_map(|place| match place {
            Place::Call { stack, .. } => Some(stack),
            Place::Running | Place::Waiting => None,
        })
        .collect()
}

fn numbers(pid: u32) -> Vec<i32> {
    let names = Root::real().list(format!("proc/{pid}/task"));
    let names = names.unwrap_or_default().into_iter();
    names.filter_map(|name| name.parse().ok()).collect()
}

fn state(pid: u32, thread: i32) -> Option<char> {
    let stat = read_thread_stat(&Root::real(), pid, thread.unsigned_abs());
    stat.ok().map(|stat| stat.state)
}

fn place(pid: u32, thread: i32) -> Place {
    let path = format!("proc/{pid}/task/{thread}/syscall");
    let text = Root::real().read_trimmed(path).ok();
    let place = text.as_deref().and_then(Place::parse);
    place.unwrap_or(Place::Running)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waiting_calls_are_told_apart() {
        let call = |number: libc::c_long| {
            let text = format!("{number} 0x7 0x0 0x0 0x0 0x0 0x0 0x7ffc01 0x7f02");
            Place::parse(&text).unwrap()
        };
        let wanted = Place::Call {
            number: libc::SYS_futex,
            first_argument: 7,
            stack: 0x7f_fc01,
        };
        assert_eq!(call(libc::SYS_futex), wanted);
        assert_eq!(wanted.disturbance(), Some(0));
        assert_eq!(call(libc::SYS_epoll_pwait).disturbance(), Some(2));
        assert_eq!(call(libc::SYS_write).disturbance(), None);
        assert_eq!(Place::parse("running"), Some(Place::Running));
        assert_eq!(Place::parse("-1 0x7ffc01 0x7f02"), Some(Place::Waiting));
        assert_eq!(Place::parse(""), None);
    }

    #[test]
    fn a_process_has_a_thread_to_stop() {
        let mut child = std::process::Command::new("sleep")
            .arg("60")
            .spawn()
            .unwrap();
        let found = (0..500).find_map(|_| match choose(child.id()) {
            Choice::Thread(thread) if thread.call.is_some() => Some(thread.number),
            _ => {
                std::thread::sleep(std::time::Duration::from_millis(10));
                None
            }
        });
        let pid = i32::try_from(child.id()).ok();
        let _ = child.kill();
        let _ = child.wait();
        assert_eq!(found, pid);
    }
}
