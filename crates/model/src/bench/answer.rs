//! What a page policy changes, in the cells whose pages it changes.

use super::view::{UNKNOWN, View, has_huge_pages, pages_of_cell};
use crate::run::cells::Cell;
use crate::run::compare::labels::effect_of;
use crate::run::compare::medians::Medians;
use crate::run::compare::{Change, Comparison, Statistic, Table};
use crate::run::metric::cell_label;
use crate::run::metric::cells::of_cell;
use crate::text::wrap::plain;

/// So many cells are named, the largest effects where there are more.
const MOST_NAMED: usize = 3;

/// The answer for one policy. `None` for one that sets an allocator: it acts otherwise than
/// through pages.
pub(super) fn answer(view: &View<'_>, table: &Table, policy: &str) -> Option<String> {
    let own = view.record.header.plan.policies.iter();
    let own = own.clone().find(|known| known.name == policy)?;
    let baseline = &table.verdict.baseline;
    if own.settings.malloc.is_some() {
        return None;
    }
    let medians = Medians::of(view.record);
    let pages = |policy: &str, cell: &Cell| pages_of_cell(view.record, policy, &medians, cell);
    let differs = |cell: &&Cell| {
        let here = pages(policy, cell);
        here == UNKNOWN || here != pages(baseline, cell)
    };
    let (differing, alike): (Vec<&Cell>, Vec<&Cell>) = view.bench.cells.iter().partition(differs);
    let (here, there) = (plain(policy), plain(baseline));
    if differing.is_empty() {
        return Some(format!(
            "{here} got the same pages as {there} in every cell: no difference is claimed."
        ));
    }
    let mut huge = alike.iter().flat_map(|cell| {
        let of = |policy| has_huge_pages(view.record, policy, &medians, cell);
        [of(policy), of(baseline)]
    });
    let got = match huge.any(|is_huge| is_huge) {
        true => "the same pages under both",
        false => "no huge pages under either",
    };
    let same = match alike.len() {
        0 => String::new(),
        1 => format!(" The other cell got {got}."),
        count => format!(" The other {count} cells got {got}."),
    };
    let what = of_cell(view.suite.primary())
        .map_or_else(|| "change".into(), |metric| metric.label.clone());
    let effects = effects(view, table, policy, &differing);
    Some(format!("{here} against {there}, {what}: {effects}.{same}"))
}

/// All effects of a few cells; of many, how many are significant and the largest of them.
fn effects(view: &View<'_>, table: &Table, policy: &str, cells: &[&Cell]) -> String {
    let compared: Vec<(&Cell, &Comparison)> = cells
        .iter()
        .filter_map(|cell| Some((*cell, comparison(view, table, policy, cell)?)))
        .collect();
    let significant =
        |comparison: &Comparison| matches!(comparison.change, Change::Higher | Change::Lower);
    let text = |(cell, comparison): &(&Cell, &Comparison)| {
        let name = cell_label::of(view.bench, view.suite, cell);
        format!("{} ({name})", effect_of(view.record, comparison))
    };
    if compared.is_empty() {
        return "not measured".to_owned();
    }
    if compared.len() <= MOST_NAMED {
        let (decided, open): (Vec<_>, Vec<_>) = compared
            .iter()
            .partition(|(_, comparison)| significant(comparison));
        let listed = |some: Vec<&(&Cell, &Comparison)>, lead: &str| {
            let named: Vec<String> = some.into_iter().map(text).collect();
            (!named.is_empty()).then(|| format!("{lead}{}", named.join(", ")))
        };
        let parts = [listed(decided, ""), listed(open, "not decided ")];
        return parts.into_iter().flatten().collect::<Vec<_>>().join("; ");
    }
    let all = compared.len();
    let mut largest = compared;
    largest.retain(|(_, comparison)| significant(comparison));
    largest.sort_by(|(_, a), (_, b)| size(b).total_cmp(&size(a)));
    let named = largest.iter().take(MOST_NAMED).map(text);
    let named = named.collect::<Vec<_>>().join(", ");
    match largest.len() {
        0 => format!("no significant difference in {all} cells"),
        count => format!("{count} of {all} cells differ, largest {named}"),
    }
}

/// How large an effect is, whichever way it goes.
fn size(comparison: &Comparison) -> f64 {
    let ratio = comparison.ratio.map(|ratio| ratio.ln().abs());
    ratio.or(comparison.difference.map(f64::abs)).unwrap_or(0.0)
}

fn comparison<'t>(
    view: &View<'_>,
    table: &'t Table,
    policy: &str,
    cell: &Cell,
) -> Option<&'t Comparison> {
    let metric = cell.reading(view.suite.primary());
    table.comparisons.iter().find(|comparison| {
        comparison.metric == metric
            && comparison.policy == policy
            && comparison.statistic == Statistic::Center
    })
}
