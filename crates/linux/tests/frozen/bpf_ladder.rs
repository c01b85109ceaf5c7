//! Tests which attempts are made for a point, and in which order.

use hugewise_linux::bpf::ladder::{AttachRefusal, Attempt, KernelTypes, Open, attempts, climb};
use hugewise_linux::bpf::types::Types;
use hugewise_linux::proc::kallsyms::parse_kallsyms;
use hugewise_observe::trace::Attachment;
use hugewise_observe::trace::points::{Point, of_function, points};

/// A simulated kernel: it accepts these attachments and records the requests.
struct Accepting(Vec<Attachment>, Vec<(Attachment, String)>);

impl Open for Accepting {
    type Probe = String;

    fn open(&mut self, attempt: &Attempt) -> Result<String, AttachRefusal> {
        self.1.push((attempt.attachment, attempt.begin.clone()));
        if self.0.contains(&attempt.attachment) {
            return Ok(attempt.begin.clone());
        }
        Err(AttachRefusal {
            attachment: attempt.attachment,
            errno: Some(libc::EPERM),
            error: "refused".to_owned(),
        })
    }
}

fn kernel(functions: &str) -> KernelTypes {
    let lines: String = functions
        .split(' ')
        .map(|name| format!("0 t {name}\n"))
        .collect();
    KernelTypes {
        types: Types::default(),
        functions: parse_kallsyms(lines.as_bytes()),
    }
}

fn named(name: &str) -> Point {
    let all = points();
    all.into_iter()
        .find(|point| point.name == name)
        .expect(name)
}

#[test]
fn the_best_rung_that_is_accepted_is_taken() {
    let (attempts, _) = attempts(&of_function("vfs_read"), &kernel("vfs_read"));
    let fentry = Attempt {
        attachment: Attachment::Fentry,
        ..attempts[0].clone()
    };
    let both = [fentry, attempts[0].clone()];
    let mut opener = Accepting(vec![Attachment::Kprobe, Attachment::Fentry], Vec::new());
    let (taken, _) = climb(&both, &mut opener).expect("one is accepted");
    assert_eq!(taken.attachment, Attachment::Fentry);
    assert_eq!(opener.1.len(), 1, "nothing is tried behind it");

    let mut opener = Accepting(vec![Attachment::Kprobe], Vec::new());
    let (taken, probe) = climb(&both, &mut opener).expect("one is accepted");
    assert_eq!(
        (taken.attachment, probe.as_str()),
        (Attachment::Kprobe, "vfs_read")
    );

    let mut opener = Accepting(Vec::new(), Vec::new());
    let refused: Vec<Attachment> = climb(&both, &mut opener)
        .expect_err("none is")
        .into_iter()
        .map(|refusal| refusal.attachment)
        .collect();
    assert_eq!(refused, [Attachment::Fentry, Attachment::Kprobe]);
}

#[test]
fn a_function_that_the_compiler_changed_is_traced_and_told() {
    let kernel = kernel("__alloc_pages_slowpath.constprop.0");
    let (attempts, absent) = attempts(&named("allocation_slow_path"), &kernel);
    assert_eq!(absent, Vec::<String>::new());
    let [only] = &attempts[..] else {
        panic!("a changed function has no types: {attempts:?}");
    };
    assert_eq!(only.attachment, Attachment::Kprobe);
    assert_eq!(only.key, None);
    assert_eq!(
        only.notes,
        [
            "__alloc_pages_slowpath is __alloc_pages_slowpath.constprop.0 in this kernel",
            "the compiler has changed its parameters, so they are not shown",
        ]
    );
}

#[test]
fn an_inlined_function_is_absent_and_told() {
    let (attempts, absent) = attempts(&named("zeroing"), &kernel("vfs_read"));
    assert!(attempts.is_empty());
    assert_eq!(
        absent,
        [
            "no function folio_zero_user or clear_huge_page in this kernel: inlined into its \
          callers, or not built"
        ]
    );
}

#[test]
fn faults_fall_back_to_the_software_events() {
    let kernel = kernel("handle_mm_fault");
    let (attempts, _) = attempts(&named("fault"), &kernel);
    let attachments: Vec<Attachment> = attempts.iter().map(|attempt| attempt.attachment).collect();
    assert_eq!(attachments, [Attachment::Kprobe, Attachment::PerfEvent]);
}
