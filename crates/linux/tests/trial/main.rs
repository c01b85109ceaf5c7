//! Whole trials with workloads whose results are known.
//!
//! A trial starts its own program as the keeper, so this test has a custom `main`. Depending on its first argument it
//! becomes the keeper, the laboratory or a victim; otherwise it runs the tests one after the other.

#![expect(
    clippy::unwrap_used,
    clippy::print_stdout,
    clippy::disallowed_macros,
    reason = "a test program may panic and print"
)]

mod cached_code;
mod code;
mod collapsing;
mod escape;
mod faithful;
mod memory;
mod observing;
mod pool;
mod room;
#[path = "../skipping/mod.rs"]
mod skipping;
mod stalls;
mod surroundings;
mod touching;
mod tracing;
mod treatment;

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::process::ExitCode;
use std::time::Instant;

use hugewise_linux::apply::first_touch;
use hugewise_linux::spawn;

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    match words.first().map(String::as_str) {
        Some(spawn::KEEPER_WORD) => spawn::keeper_main(),
        Some(first_touch::TOUCHER_WORD) => first_touch::toucher_main(),
        Some("__lab") => hugewise_lab::run(words[1..].to_vec()),
        Some("__pool") => pool::workload(),
        Some("__victim") => escape::victim(),
        Some("__exec") => faithful::become_program(&words[1..]),
        _ => run_tests(
            words
                .iter()
                .find(|word| !word.starts_with('-'))
                .map_or("", |word| word),
        ),
    }
}

const TESTS: &[(&str, fn())] = &[
    (
        "what_was_touched_is_told",
        touching::what_was_touched_is_told,
    ),
    (
        "memory_is_handed_over_as_it_is_taken",
        touching::memory_is_handed_over_as_it_is_taken,
    ),
    (
        "touching_ends_when_interrupted",
        touching::touching_ends_when_interrupted,
    ),
    (
        "warmed_memory_is_touched_faster_than_rested",
        touching::warmed_memory_is_touched_faster_than_rested,
    ),
    (
        "small_pages_fault_once_each",
        treatment::small_pages_fault_once_each,
    ),
    ("huge_pages_are_proved", treatment::huge_pages_are_proved),
    (
        "every_metric_has_a_reading",
        memory::every_metric_has_a_reading,
    ),
    (
        "peaks_are_true_under_a_fat_parent",
        memory::peaks_are_true_under_a_fat_parent,
    ),
    ("trees_are_summed", memory::trees_are_summed),
    (
        "pages_of_a_pool_count_once",
        memory::pages_of_a_pool_count_once,
    ),
    (
        "orphans_end_with_the_trial",
        escape::orphans_end_with_the_trial,
    ),
    (
        "daemons_that_respawn_are_caught",
        escape::daemons_that_respawn_are_caught,
    ),
    ("time_over_kills_the_tree", escape::time_over_kills_the_tree),
    (
        "a_killed_parent_leaves_nothing",
        escape::a_killed_parent_leaves_nothing,
    ),
    ("interrupts_end_the_trial", escape::interrupts_end_the_trial),
    ("outcomes_are_told_apart", faithful::outcomes_are_told_apart),
    (
        "scripts_run_without_a_first_line",
        faithful::scripts_run_without_a_first_line,
    ),
    (
        "signals_arrive_under_the_hold",
        faithful::signals_arrive_under_the_hold,
    ),
    ("ends_from_other_threads", faithful::ends_from_other_threads),
    (
        "the_huge_zero_page_is_seen",
        treatment::the_huge_zero_page_is_seen,
    ),
    (
        "planted_traits_are_seen",
        treatment::planted_traits_are_seen,
    ),
    ("without_the_hold", memory::without_the_hold),
    (
        "sampling_is_cheap_and_right",
        memory::sampling_is_cheap_and_right,
    ),
    ("identities_are_taken_on", faithful::identities_are_taken_on),
    (
        "groups_are_made_and_removed",
        memory::groups_are_made_and_removed,
    ),
    (
        "policies_that_do_not_take_are_marked",
        treatment::policies_that_do_not_take_are_marked,
    ),
    (
        "exec_becomes_the_program",
        faithful::exec_becomes_the_program,
    ),
    (
        "stalls_are_the_trial's_own",
        stalls::stalls_are_the_trials_own,
    ),
    (
        "waits_for_mmap_lock_are_waits",
        stalls::waits_for_mmap_lock_are_waits,
    ),
    (
        "copying_on_write_is_told_apart",
        stalls::copying_on_write_is_told_apart,
    ),
    (
        "limits_hold_and_go_with_the_trial",
        surroundings::limits_hold_and_go_with_the_trial,
    ),
    (
        "what_is_beyond_its_limit_is_killed",
        surroundings::what_is_beyond_its_limit_is_killed,
    ),
    (
        "memory_nodes_are_read_back",
        surroundings::memory_nodes_are_read_back,
    ),
    (
        "pages_of_a_pool_are_seen",
        surroundings::pages_of_a_pool_are_seen,
    ),
    (
        "untold_memory_becomes_huge",
        tracing::untold_memory_becomes_huge,
    ),
    (
        "an_idle_tracer_changes_nothing",
        tracing::an_idle_tracer_changes_nothing,
    ),
    ("whole_trees_are_advised", tracing::whole_trees_are_advised),
    (
        "signals_do_not_disturb_the_advice",
        tracing::signals_do_not_disturb_the_advice,
    ),
    (
        "a_killed_tracer_leaves_nothing",
        tracing::a_killed_tracer_leaves_nothing,
    ),
    (
        "a_program_with_its_own_filter_runs_on",
        tracing::a_program_with_its_own_filter_runs_on,
    ),
    (
        "what_tracing_takes_is_said",
        tracing::what_tracing_takes_is_said,
    ),
    (
        "memory_in_use_becomes_huge",
        collapsing::memory_in_use_becomes_huge,
    ),
    (
        "a_pass_with_nothing_to_do_stops_nobody",
        collapsing::a_pass_with_nothing_to_do_stops_nobody,
    ),
    (
        "whole_trees_are_collapsed",
        collapsing::whole_trees_are_collapsed,
    ),
    (
        "a_refusal_is_counted_by_its_error",
        collapsing::a_refusal_is_counted_by_its_error,
    ),
    (
        "a_running_program_is_not_disturbed",
        collapsing::a_running_program_is_not_disturbed,
    ),
    ("waiting_calls_go_on", collapsing::waiting_calls_go_on),
    (
        "runtimes_are_not_disturbed",
        collapsing::runtimes_are_not_disturbed,
    ),
    (
        "a_program_with_a_filter_is_said",
        collapsing::a_program_with_a_filter_is_said,
    ),
    (
        "a_killed_collapser_leaves_nothing_stopped",
        collapsing::a_killed_collapser_leaves_nothing_stopped,
    ),
    ("code_becomes_huge", code::code_becomes_huge),
    ("written_code_stays", code::written_code_stays),
    (
        "code_of_trees_becomes_huge",
        code::code_of_trees_becomes_huge,
    ),
    ("small_code_is_left_alone", code::small_code_is_left_alone),
    ("runtimes_run_on_huge_code", code::runtimes_run_on_huge_code),
    (
        "a_killed_copier_leaves_nothing_stopped",
        code::a_killed_copier_leaves_nothing_stopped,
    ),
    (
        "code_of_files_becomes_huge_and_small_again",
        cached_code::code_of_files_becomes_huge_and_small_again,
    ),
    (
        "misaligned_code_is_refused",
        cached_code::misaligned_code_is_refused,
    ),
    (
        "no_written_byte_is_lost",
        cached_code::no_written_byte_is_lost,
    ),
    (
        "files_in_use_are_refused",
        cached_code::files_in_use_are_refused,
    ),
    (
        "files_in_memory_are_refused",
        cached_code::files_in_memory_are_refused,
    ),
    (
        "unreadable_programs_are_refused",
        cached_code::unreadable_programs_are_refused,
    ),
    (
        "scripts_and_libraries_are_followed",
        cached_code::scripts_and_libraries_are_followed,
    ),
    (
        "symbols_and_probes_stay",
        cached_code::symbols_and_probes_stay,
    ),
];

fn run_tests(filter: &str) -> ExitCode {
    let mut failed = Vec::new();
    let chosen: Vec<_> = TESTS
        .iter()
        .filter(|(name, _)| name.contains(filter))
        .collect();
    for (name, test) in &chosen {
        let since = Instant::now();
        let good = catch_unwind(AssertUnwindSafe(test)).is_ok();
        let verdict = if good { "ok" } else { "FAILED" };
        println!(
            "test {name} ... {verdict} ({:.2} s)",
            since.elapsed().as_secs_f64()
        );
        if !good {
            failed.push(name);
        }
    }
    let result = if failed.is_empty() { "ok" } else { "FAILED" };
    let passed = chosen.len() - failed.len();
    println!(
        "\ntest result: {result}. {passed} passed; {} failed {failed:?}",
        failed.len()
    );
    ExitCode::from(u8::from(!failed.is_empty()))
}
