//! Words for causes: a clause for the first screen, and up to two sentences for the details.

use crate::base::units::Unit;
use crate::run::cause::facts::{NothingMade, Rested};
use crate::run::cause::{
    Breakdown, Cause, CauseId, CauseOutcome, HostColdMemory, Kind, NothingHuge, Pair, Part,
    SamePages, SlowRequestsStalled, WalksFell,
};
use crate::run::metric;
use crate::text::ends::percent_ends;
use crate::text::number::{MINUS, counted, percent, quantity};
use crate::text::wrap::capitalised;

/// Returns one clause: `malloc=thp: 57,000 page faults fell to 18,000`.
pub(in crate::run) fn brief(cause: &Cause) -> String {
    let clause = match (cause.outcome, cause.id) {
        (CauseOutcome::Shown, _) => shown(cause),
        (_, CauseId::Breakdown) => "no part of the time changed for certain".to_owned(),
        (CauseOutcome::CannotTell, id) => format!("cannot tell if {}", statement(id)),
        (CauseOutcome::NotShown, id) => format!("no sign that {}", statement(id)),
    };
    match &cause.arm {
        Some(arm) => format!("{arm}: {clause}"),
        None => clause,
    }
}

/// Returns one or two sentences: the claim, then its figures.
pub(in crate::run) fn full(cause: &Cause) -> String {
    match evidence(&cause.kind) {
        Some(evidence) => format!("{}. {evidence}.", brief(cause)),
        None => format!("{}.", brief(cause)),
    }
}

/// Returns the claim of a cause, without figures.
fn statement(id: CauseId) -> &'static str {
    match id {
        CauseId::ProgramDisablesThp => "the program disables huge pages",
        CauseId::WorkloadTooShort => "the workload is too short",
        CauseId::MemoryLimitReached => "the program reached its memory limit",
        CauseId::SamePages => "it changed no page",
        CauseId::HeapGrewInSteps => "the heap grows in small steps",
        CauseId::Breakdown => "one part of the time dominates",
        CauseId::Translation => "TLB misses are the bottleneck",
        CauseId::SlowRequestsStalled => "kernel stalls made requests slow",
        CauseId::HostColdMemory => "the host had to back memory first",
        CauseId::HugeAllocationFellBack => "huge faults fell back",
        CauseId::KhugepagedHadNoTime => "khugepaged came too late",
        CauseId::ReadFirstZeroPage => "the program reads memory before writing it",
        CauseId::CopyOnWriteAfterFork => "writes after a fork split huge pages",
        CauseId::MemoryBloat => "huge pages raised peak memory",
        CauseId::KhugepagedFilledGaps => "khugepaged made untouched memory resident",
        CauseId::ThreadStacksGrew => "thread stacks became huge pages",
        CauseId::NoDifference => "all cells are the same",
        CauseId::ZeroPageSource => "a cell read the zero page",
        CauseId::ReadFirstPrefault => "prefaulting by reads leaves small pages",
        CauseId::GrowthBelowHugePage => "small steps of a heap get no huge pages",
        CauseId::PageFaultBound => "page faults take much of the time",
        CauseId::ZeroingBound => "zeroing takes much of the time",
    }
}

/// Returns the claim with its leading figure.
fn shown(cause: &Cause) -> String {
    match &cause.kind {
        Kind::Breakdown(it) => breakdown(it),
        Kind::SamePages(it) => same_pages(it),
        Kind::HostColdMemory(it) => host_memory(it),
        Kind::ProgramDisablesThp(it) => match it.stacks_share {
            Some(stacks) => {
                let share = share(stacks);
                format!("{share} of its memory is thread stacks, which the kernel keeps small")
            }
            None => format!("{} keeps huge pages from its memory", it.process),
        },
        Kind::WorkloadTooShort(it) => format!("a run takes only {}", seconds(it.wall_seconds)),
        Kind::MemoryLimitReached(it) => format!("{} trials reached the memory limit", it.reached),
        Kind::HeapGrewInSteps(it) => format!(
            "{} became huge, {} with {}: the heap grows in small steps",
            bytes(it.huge_bytes),
            bytes(it.always_huge_bytes),
            it.always
        ),
        Kind::Translation(it) => match it.at_most.unwrap_or(1.0) {
            bound if bound < it.threshold => "TLB misses are not the bottleneck".to_owned(),
            bound => format!("TLB misses cost at most {} of CPU time", share(bound)),
        },
        Kind::HugeAllocationFellBack(it) => format!("{} of huge faults fell back", share(it.share)),
        Kind::KhugepagedHadNoTime(it) => {
            let [needs, takes] = [it.needed_seconds, it.run_seconds].map(seconds);
            let traced = if it.is_traced { "traced " } else { "" };
            format!("khugepaged needs at least {needs}, a {traced}run takes {takes}")
        }
        Kind::ReadFirstZeroPage(it) => format!("it read {} it never wrote", bytes(it.zero_bytes)),
        Kind::CopyOnWriteAfterFork(it) => {
            format!(
                "writes after a fork split {} huge pages",
                count(it.splits.arm)
            )
        }
        Kind::MemoryBloat(it) => {
            let growth = it.by_huge_pages_bytes.unwrap_or(it.growth_bytes);
            format!("huge pages raised peak memory by {}", bytes(growth))
        }
        Kind::KhugepagedFilledGaps(it) => {
            let growth = it.peak_bytes.map_or(0.0, Pair::change);
            format!(
                "khugepaged made {} of untouched memory resident",
                bytes(growth)
            )
        }
        Kind::ThreadStacksGrew(it) => {
            format!(
                "thread stacks grew by {} as huge pages",
                bytes(it.stack_bytes.change())
            )
        }
        Kind::NoDifference(it) => format!("no cell differs by more than {}", share(it.bound)),
        Kind::ReadFirstPrefault(it) => {
            format!(
                "after {} only {} of memory is huge",
                it.method,
                share(it.share)
            )
        }
        Kind::LargeShare(it) => format!("{}: {}", statement(cause.id), share(it.share)),
        _ => statement(cause.id).to_owned(),
    }
}

fn breakdown(it: &Breakdown) -> String {
    let (Some(part), Some(parts)) = (it.dominant, &it.seconds) else {
        return without_part(it);
    };
    let stalled = [parts.compaction, parts.reclaim, parts.cgroup_reclaim];
    let (name, change) = match (part, &it.user_time) {
        (Part::PageFaults, _) => return faults(it),
        (Part::PageWalks, _) => return walks(it),
        (Part::UserMode, Some(user)) => {
            let less = share(1.0 - user.ratio);
            return format!("{less} less user time, probably by fewer TLB misses");
        }
        (Part::UserMode, None) => ("user mode", parts.user),
        (Part::Zeroing, _) => ("zeroing huge pages", parts.zeroing.unwrap_or(parts.system)),
        (Part::CompactionAndReclaim, _) => {
            ("compaction and reclaim", stalled.iter().flatten().sum())
        }
        (Part::Splits, _) => ("splitting huge pages", parts.splits.unwrap_or(0.0)),
        (Part::Kernel, _) => ("the kernel", parts.system),
        (Part::OffCpu, _) => ("waiting", parts.off_cpu),
    };
    let more = if change < 0.0 { "less" } else { "more" };
    format!("{name} took {} {more} per run", seconds(change.abs()))
}

/// Returns the first claim of a breakdown without a dominant part.
fn without_part(it: &Breakdown) -> String {
    let is_shown = |outcome: Option<CauseOutcome>| outcome == Some(CauseOutcome::Shown);
    let found = it.walks.filter(|it| is_shown(Some(it.outcome)));
    match &it.zeroing {
        Some(made) if is_shown(Some(made.outcome)) => {
            let much = if made.is_dearer {
                "more than"
            } else {
                "as much as"
            };
            format!("making huge pages cost {much} the saved faults")
        }
        _ if is_shown(it.stalls.map(|it| it.outcome)) => {
            "compaction and reclaim explain part of the loss".to_owned()
        }
        _ if is_shown(it.start.map(|it| it.outcome)) => {
            "page faults moved from the load to the start".to_owned()
        }
        _ if is_shown(it.fewer_faults.map(|it| it.outcome)) => faults(it),
        _ if found.is_some_and(|it| it.effect == WalksFell::Elsewhere) => {
            "TLB misses are not in the memory that became huge".to_owned()
        }
        _ if found.is_some() => walks(it),
        _ => "kernel or user time changed; wall time did not for certain".to_owned(),
    }
}

fn faults(it: &Breakdown) -> String {
    let [before, after] = pair(it.faults, count);
    let part = it.fewer_faults.and_then(|it| it.share);
    let part = match part.map(|it| (it.estimate > 1.0, it.narrow())) {
        Some((true, _)) => ", all of the gain".to_owned(),
        Some((false, Some([low, high]))) => {
            format!(", {:.0} to {:.0} % of the gain", 100.0 * low, 100.0 * high)
        }
        _ => String::new(),
    };
    format!("{before} page faults fell to {after}{part}")
}

fn walks(it: &Breakdown) -> String {
    let [before, after] = pair(it.walks.map(|it| it.walks), count);
    format!("{before} data page walks fell to {after}")
}

fn same_pages(it: &SamePages) -> String {
    let Some(reason) = &it.nothing_huge else {
        return format!("{} was huge under both", bytes(it.huge_bytes.arm));
    };
    let why = match reason {
        NothingHuge::OtherKind {
            metric,
            bytes: both,
        } => {
            return format!(
                "as much was huge under both ({}: {})",
                label(metric),
                bytes(both.arm)
            );
        }
        NothingHuge::TooSmall { peak_bytes, .. } => &format!("it uses {}", bytes(*peak_bytes)),
        NothingHuge::FellBack { faults } => &format!("{} huge faults fell back", count(*faults)),
        NothingHuge::MostlyShared { anon_bytes, .. } => {
            &format!("only {} are anonymous memory", bytes(*anon_bytes))
        }
        NothingHuge::NotInKernel => "the kernel has no transparent huge pages",
        NothingHuge::PoolNotAsked { .. } => "the program asked for none of its pool",
        NothingHuge::NothingMade { reason } => nothing_made(reason),
        NothingHuge::NotAsked { .. } => "the program asks for none (MADV_HUGEPAGE)",
        NothingHuge::NotReached { clash } => &format!("not reached: {clash}"),
        NothingHuge::ThreadHeaps {
            glibc: (major, minor),
        } => &format!("malloc of glibc {major}.{minor} advises no heap of a thread; 2.43 does"),
        NothingHuge::ParentDisabled => "a parent process disabled them",
        NothingHuge::NotAllowed => "neither policy allows them",
        NothingHuge::NotEligible => "no mapping was eligible at its first fault",
    };
    format!("no page was huge: {why}")
}

fn nothing_made(reason: &NothingMade) -> &'static str {
    match reason {
        NothingMade::EndedBefore => "the program ended before that time",
        NothingMade::NoSmallPages => "no range in use had small pages",
        NothingMade::NoCode => "none fits into the code in use",
        NothingMade::Refused(_) => "the kernel refused to make any",
    }
}

fn host_memory(it: &HostColdMemory) -> String {
    match it.rested {
        Some(Rested::Measured { low, high, .. }) => {
            let [low, high] = percent_ends(low, high);
            format!("a run after idle changes by {low} to {high} % of wall time")
        }
        Some(Rested::TooFew { .. }) => "too few runs after idle".to_owned(),
        Some(Rested::Unmeasured {
            expected_seconds, ..
        }) => {
            format!(
                "after idle, touching huge pages takes about {} longer",
                seconds(expected_seconds)
            )
        }
        None => "in some runs the hypervisor probably had to back memory".to_owned(),
    }
}

/// Returns further figures as a second sentence.
fn evidence(kind: &Kind) -> Option<String> {
    Some(match kind {
        Kind::Unread { missing } => {
            let name = capitalised(&label(&missing.metric));
            format!(
                "{name} was not measured under {}: {}",
                missing.arm, missing.reason
            )
        }
        Kind::Breakdown(it) => figures(it)?,
        Kind::ProgramDisablesThp(it) => format!("{} leaves them on", it.remedy.as_ref()?),
        Kind::MemoryLimitReached(it) => format!("It was hit {}", counted(it.hits, "time")),
        Kind::SamePages(it) => {
            let [before, after] = pair(Some(it.faults), count);
            format!("Minor faults: {after}, and {before} under the baseline")
        }
        Kind::Translation(it) => match (&it.uncounted, it.data, it.code) {
            (Some(missing), ..) => format!("Cycles of page walks: {missing}"),
            (None, data, code) => format!("Data {}, code {}", share(data?), share(code?)),
        },
        Kind::SlowRequestsStalled(SlowRequestsStalled::Unrelated { unrelated }) => {
            capitalised(&unrelated.to_string())
        }
        Kind::SlowRequestsStalled(SlowRequestsStalled::Held {
            slow,
            in_stall,
            by_chance,
            ..
        }) => {
            let [met, chance] = [*in_stall as f64, *by_chance].map(|it| share(it / *slow as f64));
            format!(
                "{met} of the slowest 0.1 % of requests overlapped with a stall, {chance} by chance"
            )
        }
        Kind::HostColdMemory(it) => {
            let (cold, warm) = it.cold_touch_seconds.zip(it.warm_touch_seconds)?;
            let [cold, warm] = [cold, warm].map(seconds);
            format!("The first touch of a huge page costs {cold} then, and {warm} otherwise")
        }
        Kind::HugeAllocationFellBack(it) => {
            format!(
                "{} of {} huge faults, machine-wide",
                count(it.refused),
                count(it.of)
            )
        }
        Kind::CopyOnWriteAfterFork(it) => {
            let [shared, copied] = [it.shared_bytes, it.copied_bytes?].map(bytes);
            format!("Processes shared up to {shared}; writes copied at least {copied} of it")
        }
        Kind::MemoryBloat(it) => {
            let [before, after] = pair(Some(it.huge_bytes), bytes);
            let is_all = it.by_huge_pages_bytes == Some(it.growth_bytes);
            let growth =
                (!is_all).then(|| format!("Peak memory rose by {}; ", bytes(it.growth_bytes)));
            let growth = growth.unwrap_or_default();
            format!("{growth}{after} were huge, {before} under the baseline")
        }
        Kind::KhugepagedFilledGaps(it) => {
            format!(
                "khugepaged made {} huge pages, machine-wide",
                count(it.collapsed)
            )
        }
        Kind::ThreadStacksGrew(it) => {
            let [there, here] = pair(Some(it.stack_bytes), bytes);
            format!(
                "{} threads hold {here} instead of {there}",
                count(it.threads.arm)
            )
        }
        Kind::ZeroPageSource(it) => {
            format!(
                "{} of {} did",
                it.of_zero_page,
                counted(it.reading as u64, "cell")
            )
        }
        Kind::ReadFirstPrefault(it) => format!("After a store it is {}", share(it.store_share)),
        _ => return None,
    })
}

fn figures(it: &Breakdown) -> Option<String> {
    let parts = it.seconds?;
    let [user, kernel, off] = [parts.user, parts.system, parts.off_cpu].map(signed);
    let even = it.lasting.and_then(|it| it.break_even_seconds);
    let even = even.map(|it| format!("; it breaks even at {} of run time", seconds(it)));
    Some(format!(
        "Mean change per run {}: user {user}, kernel {kernel}, off-CPU {off}{}",
        signed(parts.wall),
        even.unwrap_or_default()
    ))
}

fn pair(both: Option<Pair>, text: fn(f64) -> String) -> [String; 2] {
    both.map_or_else(Default::default, |it| [text(it.baseline), text(it.arm)])
}

fn signed(change: f64) -> String {
    let sign = if change < 0.0 { MINUS } else { '+' };
    format!("{sign}{}", seconds(change.abs()))
}

fn seconds(value: f64) -> String {
    quantity(&Unit::Seconds, value)
}

fn bytes(value: f64) -> String {
    quantity(&Unit::Bytes, value)
}

fn count(value: f64) -> String {
    quantity(&Unit::Count, value)
}

fn share(value: f64) -> String {
    format!("{} %", percent(value))
}

fn label(metric: &str) -> String {
    metric::find(metric).map_or_else(|| metric.to_owned(), |it| it.label.into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::missing::Missing;
    use crate::run::cause::{MissingInput, causes};
    use crate::run::compare::{Options, table};
    use crate::run::record;

    const MOST_IN_BRIEF: usize = 14;
    const MOST_IN_SENTENCE: usize = 25;

    fn words(text: &str) -> usize {
        let is_word = |word: &&str| word.chars().any(char::is_alphanumeric);
        text.split_whitespace().filter(is_word).count()
    }

    fn assert_short(cause: &Cause) {
        let [brief, full] = [brief(cause), full(cause)];
        let named = cause.arm.iter().all(|arm| brief.starts_with(arm));
        assert!(named && words(&brief) <= MOST_IN_BRIEF, "{brief}");
        let sentences: Vec<&str> = full.split(". ").collect();
        let short = sentences.iter().all(|it| words(it) <= MOST_IN_SENTENCE);
        assert!(
            short && sentences.len() <= 2 && full.ends_with('.'),
            "{full}"
        );
    }

    #[test]
    fn what_is_not_shown_is_short() {
        for &id in CauseId::ALL {
            let missing = MissingInput {
                metric: "huge_anon_peak_bytes".to_owned(),
                arm: "as-is".to_owned(),
                reason: Missing::NoHardware,
            };
            for outcome in [CauseOutcome::CannotTell, CauseOutcome::NotShown] {
                assert_short(&Cause {
                    arm: Some("malloc=thp".to_owned()),
                    outcome,
                    id,
                    kind: Kind::Unread {
                        missing: missing.clone(),
                    },
                });
            }
        }
    }

    #[test]
    fn causes_of_recorded_runs_are_short() {
        let files: [&[u8]; 4] = [
            include_bytes!("../../../../../../fixtures/runs/clear-win.jsonl"),
            include_bytes!("../../../../../../fixtures/runs/five-policies.jsonl"),
            include_bytes!("../../../../../../fixtures/runs/ordinary-user.jsonl"),
            include_bytes!("../../../../../../fixtures/runs/win-with-a-loss.jsonl"),
        ];
        let mut shown = 0;
        for bytes in files {
            let record = record::parse(bytes).expect("a record");
            let table = table(&record, &Options::default()).expect("a sound plan");
            for cause in causes(&record, &table) {
                assert_short(&cause);
                shown += usize::from(cause.outcome == CauseOutcome::Shown);
            }
        }
        assert!(shown > 4, "{shown}");
    }
}
