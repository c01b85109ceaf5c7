use expect_test::expect;

use crate::address_space::test_space::{mapping, pages, run, space};
use crate::address_space::{Memory, Space, VmFlags};
use crate::collapse::{
    Attempt, Choice, End, FileRules, RangeOutcome, Refusal, Report, plan, report,
};
use hugewise_text::{Style, Verbosity, to_markdown, to_text};

const MIB: u64 = 1 << 20;
const AT: u64 = 0x7f00_0000_0000;

/// Three ranges of plain memory, and a range that the program does not want to be huge.
fn process() -> Space {
    let small = run(AT, AT + 6 * MIB, pages(500));
    let other = AT + 8 * MIB;
    let mut unwanted = mapping(
        other,
        other + 2 * MIB,
        vec![run(other, other + 2 * MIB, pages(9))],
    );
    unwanted.memory = Some(Memory {
        flags: VmFlags::of(["rd", "wr", "nh"]),
        ..Memory::default()
    });
    space(vec![mapping(AT, AT + 6 * MIB, vec![small]), unwanted])
}

fn done(ended: End, fates: Vec<(u64, RangeOutcome)>) -> Report {
    let plan = plan(&process(), &Choice::default(), &FileRules::default());
    let done = Attempt {
        fates,
        ended,
        call_seconds: 0.0123,
    };
    report(4711, "kv", &plan, &done)
}

fn pinned() -> RangeOutcome {
    RangeOutcome::Refused(Refusal {
        error: "EAGAIN".to_owned(),
        status: Some("not_suitable_page_count".to_owned()),
    })
}

fn text(report: &Report, verbose: Verbosity) -> String {
    let style = Style {
        verbose,
        ..Style::default()
    };
    let text = to_text(&report.document(), &style);
    assert!(
        text.lines().all(|line| line.chars().count() <= 80),
        "{text}"
    );
    text
}

#[test]
fn the_first_screen_says_what_was_made_and_what_was_not() {
    let fates = vec![
        (AT, RangeOutcome::Made),
        (AT + 2 * MIB, RangeOutcome::Made),
        (AT + 4 * MIB, pinned()),
    ];
    let mut report = done(End::Finished, fates);
    report.resident_before_bytes = Ok(100 * MIB);
    report.resident_after_bytes = Ok(101 * MIB);
    let first = text(&report, Verbosity::Normal);
    assert!(first.lines().count() <= 24, "{first}");
    expect![[r#"
        kv (process 4711): 2 ranges (4 MiB) made huge, verified as PMD-mapped; 96 KiB
        added in 12.3 ms.
        resident memory  100 MiB before, 101 MiB after

        not made huge  ranges   size  why
        refused             1  2 MiB  pages are pinned (I/O in flight, io_uring, RDMA,
                                      vmsplice); try again later [EAGAIN
                                      (not_suitable_page_count)]
        left out            1  2 MiB  excluded by the program (MADV_NOHUGEPAGE)

        Next
        hugewise inspect 4711  why memory is small
    "#]]
    .assert_eq(&first);
    let all = text(&report, Verbosity::Verbose);
    assert!(
        all.contains("    7f0000400000-7f0000600000  1 range (2 MiB)"),
        "{all}"
    );
}

#[test]
fn a_dry_run_and_an_early_end_say_so() {
    expect![[r#"
        kv (process 4711): collapse would make 3 ranges (6 MiB) huge and add 144 KiB of
        resident memory; nothing was changed.

        not made huge  ranges   size  why
        left out            1  2 MiB  excluded by the program (MADV_NOHUGEPAGE)

        Next
        hugewise collapse 4711  make them huge
    "#]]
    .assert_eq(&text(&done(End::DryRun, Vec::new()), Verbosity::Normal));
    let early = done(End::ProcessEnded, vec![(AT, RangeOutcome::Made)]);
    expect![[r#"
        kv (process 4711): 1 range (2 MiB) made huge, verified as PMD-mapped; 48 KiB
        added in 12.3 ms.
        It ended early: the process ended meanwhile.

        not made huge  ranges   size  why
        not tried           2  4 MiB  see above
        left out            1  2 MiB  excluded by the program (MADV_NOHUGEPAGE)

        Next
        hugewise inspect 4711  why memory is small
    "#]]
    .assert_eq(&text(&early, Verbosity::Normal));
}

#[test]
fn other_forms_say_the_same() {
    let report = done(End::DryRun, Vec::new());
    let markdown = to_markdown(&report.document(), Verbosity::Normal);
    assert!(
        markdown.contains("would make 3 ranges (6 MiB) huge"),
        "{markdown}"
    );
    expect![[r#"
        outcome,reason,ranges,bytes
        planned,,3,6291456
        made,,0,0
        claimed,,0,0
        gone,,0,0
        not_tried,,3,6291456
        left_out,excluded by the program (MADV_NOHUGEPAGE),1,2097152
    "#]]
    .assert_eq(&report.csv());
}
