use super::{Parsed, kib, lines, number};

/// Facts about one process (`/proc/PID/status`, fs/proc/array.c).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Status {
    /// `PPid`: the process that would be told of its death.
    pub parent: u32,
    /// `Threads` that are left.
    pub threads: u64,
    /// `VmHWM`: the largest resident set since exec, in bytes; absent without memory.
    pub peak_rss_bytes: Option<u64>,
}

/// Parses `/proc/PID/status`. `PPid` must be there; kernel threads have no `VmHWM`.
///
/// # Errors
/// A field is not a number or `PPid` is missing.
pub fn parse_status(bytes: &[u8]) -> Parsed<Status> {
    let mut status = Status::default();
    let mut seen_parent = false;
    for (at, line) in lines(bytes) {
        let Some((field, value)) = line.split_once(':') else {
            continue;
        };
        let value = value.trim();
        match field {
            "PPid" => {
                let wide = number(at, field, value)?;
                status.parent = u32::try_from(wide)
                    .map_err(|_| format!("line {at}: PPid is out of range: `{value}`"))?;
                seen_parent = true;
            }
            "Threads" => status.threads = number(at, field, value)?,
            "VmHWM" => status.peak_rss_bytes = Some(kib(at, field, value)?),
            _ => {}
        }
    }
    if seen_parent {
        Ok(status)
    } else {
        Err("no line `PPid`".to_owned())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_real_one() {
        let text = b"Name:\tsort\nUmask:\t0022\nState:\tt (tracing stop)\nPid:\t77\nPPid:\t76\n\
            VmPeak:\t  190000 kB\nVmHWM:\t   93516 kB\nVmRSS:\t   93516 kB\nThreads:\t2\n";
        assert_eq!(
            parse_status(text),
            Ok(Status {
                parent: 76,
                threads: 2,
                peak_rss_bytes: Some(93_516 << 10),
            })
        );
        assert!(parse_status(b"Name:\tx\n").is_err());
        assert!(parse_status(b"PPid:\t99999999999\n").is_err());
    }

    proptest! {
        #[test]
        fn no_bytes_panic(bytes: Vec<u8>) {
            let _ = parse_status(&bytes);
        }
    }
}
