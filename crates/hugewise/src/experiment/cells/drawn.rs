use anyhow::Result;
use hugewise_bench::plot;
use hugewise_bench::plot::render_svg;
use hugewise_experiment::run::report::Report;

use crate::exit;

/// The curves of a bench as SVG.
///
/// # Errors
/// There are two records, or nothing to draw.
pub fn curves(report: &Report<'_>) -> Result<String> {
    let charts = match report.other {
        None => plot::charts(report.record),
        Some(_) => return Err(exit::usage("--svg needs one record; name only one")),
    };
    if charts.is_empty() {
        return Err(exit::usage(
            "--svg: there is nothing to draw; a bench of at least two sizes has curves",
        ));
    }
    let title = report.record.header.plan.command.join(" ");
    Ok(render_svg(&charts, &title))
}
