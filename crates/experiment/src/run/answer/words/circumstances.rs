//! Words for the details: policies, the machine, and how it was measured.

use super::{joined, seconds};
use crate::base::tunables::Tunables;
use crate::base::units::Unit;
use crate::run::answer::{
    Answer, Applied, Arm, ArmRole, Circumstances, Disturbance, HoldsFor, Machine, SubjectKind,
};
use crate::run::plan::{HostMemory, JudgeBy};
use crate::run::record::{RemovalReason, StopReason, by_our_means};
use crate::text::document::Field;
use crate::text::number::{chosen_percent, counted, percent, quantity};

/// Returns the facts of one policy.
pub(in crate::run::answer) fn arm(arm: &Arm) -> Field {
    let [well, all] = arm.trials;
    let bytes = |value| quantity(&Unit::Bytes, value);
    let huge = match arm.pages.huge_bytes {
        Some(huge) => format!("huge {}", bytes(huge)),
        None => "huge pages not read".to_owned(),
    };
    let more = arm
        .pages
        .more_bytes
        .filter(|_| arm.role != ArmRole::Baseline);
    let more = more.map(|more| match more {
        0.0 => "as much as the baseline".to_owned(),
        more if more < 0.0 => format!("{} less than the baseline", bytes(-more)),
        more => format!("{} more than the baseline", bytes(more)),
    });
    let taken = arm
        .taken
        .map(|[taken, of]| format!("taken in {taken} of {of} starts"));
    let beyond = match arm.pages_only {
        true => String::new(),
        false => "changes more than pages".to_owned(),
    };
    let text = joined([
        role(arm.role).to_owned(),
        super::action::changes(arm.mechanism).to_owned(),
        mode(arm),
        beyond,
        format!("{well} of {all} trials succeeded"),
        huge,
        more.unwrap_or_default(),
        applied(&arm.applied),
        taken.unwrap_or_default(),
        super::reach::reached(arm),
        dropped(arm).unwrap_or_default(),
    ]);
    Field::new(arm.name.clone(), text)
}

fn mode(arm: &Arm) -> String {
    match arm.mode.is_empty() {
        true => String::new(),
        false => format!("THP {}", arm.mode),
    }
}

fn role(role: ArmRole) -> &'static str {
    match role {
        ArmRole::Baseline => "baseline",
        ArmRole::Policy => "",
        ArmRole::OverheadControl => "shows the cost of the mechanism",
        ArmRole::SmallPages => "shows the malloc without huge pages",
    }
}

fn applied(applied: &Applied) -> String {
    match applied {
        Applied::ReadBack(trials) => format!("read back in {}", counted((*trials).into(), "trial")),
        Applied::Unknown => "cannot be read back".to_owned(),
        Applied::Not { trials, of, detail } => {
            format!("not in effect in {trials} of {of} trials ({detail})")
        }
    }
}

/// Returns the reason why a policy has no row of figures.
pub(in crate::run::answer) fn no_claim(arm: &Arm) -> String {
    let reason = dropped(arm).unwrap_or_else(|| match &arm.applied {
        Applied::Not { .. } => applied(&arm.applied),
        _ => "no round was complete".to_owned(),
    });
    format!("not compared: {reason}")
}

/// Returns when and why a policy was dropped.
fn dropped(arm: &Arm) -> Option<String> {
    let (rounds, reason) = arm.dropped.as_ref()?;
    let rounds = counted((*rounds).into(), "round");
    let reason = match reason {
        RemovalReason::CannotAct(why) | RemovalReason::Fails(why) => why.as_str(),
        RemovalReason::OurMeans { how, clash } => &by_our_means(how, *clash),
        RemovalReason::TellsNoMore(why) => why.as_str(),
        RemovalReason::NoHugePage => "it made no huge page",
        RemovalReason::Decided => "it had its answer",
        RemovalReason::OutOfReach => "the rest of the time could not decide it",
    };
    Some(format!("ended after {rounds}: {reason}"))
}

/// Returns the subject of the experiment and its judged property.
pub(in crate::run::answer) fn subject(answer: &Answer) -> Vec<Field> {
    let kind = match answer.subject.kind {
        SubjectKind::Program => "Program",
        SubjectKind::Service => "Service",
        SubjectKind::Live => "Process",
        SubjectKind::Bench => "Bench",
        SubjectKind::Programs => "Programs",
        SubjectKind::Records => "Records",
    };
    let judged = super::headline::judged(answer);
    let threshold = chosen_percent(answer.judged.threshold);
    let property = property(answer.judged.property);
    let mut fields = vec![
        Field::whole(kind, answer.subject.name.clone()),
        Field::whole("Command", answer.subject.command.clone()),
        Field::new(
            "Judged by",
            format!("{judged}: {property}; threshold ±{threshold} %"),
        ),
    ];
    let holds = answer.judged.holds_for;
    fields.extend(holds.map(|it| Field::new("Holds for", holds_for(it))));
    let conditions = answer.choice.iter().flat_map(|choice| &choice.conditions);
    fields.extend(conditions.map(|it| Field::whole("With", it.line.clone())));
    let switchback = answer.switchback.iter();
    fields.extend(switchback.flat_map(super::switchback::details));
    fields
}

/// Returns the line below the intervals of the judged metric.
pub(in crate::run::answer) fn intervals(it: HoldsFor) -> String {
    format!("[…]: 95 %, {}", holds_for(it))
}

fn holds_for(it: HoldsFor) -> &'static str {
    match it {
        HoldsFor::Session => "for this session on this boot",
        HoldsFor::Processes => "for these processes in this session",
        HoldsFor::Sessions => "over sessions, one value a record",
    }
}

fn property(property: JudgeBy) -> &'static str {
    match property {
        JudgeBy::Shape => "the usual run, and no run may get worse",
        JudgeBy::Typical => "the usual run",
        JudgeBy::Mean => "the mean of all runs",
        JudgeBy::P95 => "the 95th percentile of runs",
    }
}

/// Returns where and how one record was measured.
pub(in crate::run::answer) fn circumstances(it: &Circumstances) -> Vec<Field> {
    let time = it.seconds.map(|seconds| quantity(&Unit::Seconds, seconds));
    let rounds = joined([
        counted(it.rounds.into(), "round"),
        counted(it.trials.into(), "trial"),
        time.unwrap_or_default(),
        it.stopped
            .map_or_else(String::new, |reason| stopped(reason).to_owned()),
        format!("seed {}", it.seed),
    ]);
    let added = it.continued.iter();
    let added = added.map(|(round, minutes)| format!("from round {round}, {minutes} min later"));
    let memory = [host_memory(it), fragmentation(it)];
    let rows = [
        ("Machine", machine(&it.machine)),
        ("Tunables", tunables(&it.machine.tunables)),
        ("Measured", rounds),
        ("Continued", joined(added)),
        ("Memory", joined(memory)),
        ("Disturbed", disturbed(&it.disturbance, it.trials)),
        (
            "Settings",
            it.settings_held_by
                .as_ref()
                .map_or_else(String::new, |by| format!("held meanwhile by {by}")),
        ),
        ("Ran", it.ran.clone().unwrap_or_default()),
        ("By", it.measured_by.clone()),
        ("Record", it.record.clone().unwrap_or_default()),
    ];
    let rows = rows.into_iter().filter(|(_, text)| !text.is_empty());
    let rows = rows.map(|(label, text)| Field::new(label, text));
    let earlier = it
        .earlier
        .iter()
        .map(|line| Field::new("Earlier", line.clone()));
    rows.chain(earlier).collect()
}

fn machine(machine: &Machine) -> String {
    let bytes = |bytes: u64| crate::base::units::bytes_text(bytes);
    let kind = machine
        .hypervisor
        .as_ref()
        .map(|name| format!("VM ({name})"));
    let thp = machine.thp.as_ref().map(|mode| format!("THP {mode}"));
    let defrag = machine.defrag.as_ref().map(|mode| format!("defrag {mode}"));
    let huge = machine
        .huge_page_bytes
        .map(|size| format!("huge {}", bytes(size)));
    let parts = [
        Some(format!("Linux {} {}", machine.kernel, machine.arch)),
        kind,
        Some(counted(machine.cpus.into(), "CPU")),
        Some(thp.unwrap_or_else(|| "THP not read".to_owned())),
        defrag,
        Some(format!("pages {}", bytes(machine.page_bytes))),
        huge,
    ];
    parts.into_iter().flatten().collect::<Vec<_>>().join(", ")
}

/// The tunables of as-is, with the place that sets each.
fn tunables(all: &Tunables) -> String {
    joined(all.iter().map(|it| {
        let program = it.program.as_ref().map(|name| format!(" for {name}"));
        let fixed = if it.fixed { ", fixed" } else { "" };
        format!("{it}{} ({}{fixed})", program.unwrap_or_default(), it.place)
    }))
}

fn host_memory(it: &Circumstances) -> String {
    let state = match it.host_memory {
        HostMemory::AsIs => "host memory as found".to_owned(),
        HostMemory::Warm => "host memory warmed before each trial".to_owned(),
        HostMemory::Rest(rest) => {
            format!("{} of idle before each trial", seconds(rest.as_secs_f64()))
        }
    };
    match it.warmed_in_part {
        0 => state,
        trials => format!("{state} (in part: {})", counted(trials.into(), "trial")),
    }
}

fn fragmentation(it: &Circumstances) -> String {
    let asked = it
        .fragment
        .map(|percent| format!("{percent} % of it fragmented on request"));
    let found = it
        .fragmented
        .map(|[low, high]| format!("found fragmented: {} to {} %", percent(low), percent(high)));
    joined([asked.unwrap_or_default(), found.unwrap_or_default()])
}

fn disturbed(disturbance: &Disturbance, of: u32) -> String {
    let kinds = disturbance.kinds.iter();
    let kinds = kinds.map(|(kind, trials)| format!("{kind} {trials}"));
    match disturbance.trials {
        0 => "no trial".to_owned(),
        trials => format!(
            "{trials} of {of} trials, kept ({})",
            kinds.collect::<Vec<_>>().join(", ")
        ),
    }
}

/// Returns why an experiment ended.
fn stopped(reason: StopReason) -> &'static str {
    match reason {
        StopReason::Decided => "ended: every policy has its answer",
        StopReason::OutOfReach => "ended: the rest is out of reach",
        StopReason::TooSmall => "ended: the program is smaller than a huge page",
        StopReason::Precise => "ended: as precise as requested",
        StopReason::MaxRounds => "ended by --max-rounds",
        StopReason::MaxTime => "ended by --max-time",
        StopReason::Interrupted => "ended by a signal",
        StopReason::WorkloadFails => "ended: the workload fails",
        StopReason::VerdictUnmeasured => "ended: the judged metric cannot be measured",
        StopReason::Measured => "ended: measured as often as requested",
        StopReason::ProcessEnded => "ended: the process ended",
        StopReason::Guarded => "ended by a guard",
        StopReason::MemoryShort => "ended: free memory ran short",
    }
}
