//! Parses the texts of flags.

use std::time::Duration;

use hugewise_base::units::parse_duration;
use hugewise_experiment::run::plan::service::CommandLine;

/// Parses a share such as `1%` or `0.01`.
pub fn parse_share(text: &str) -> Result<f64, String> {
    let fault = || format!("`{text}` is not a share above 0 and below 1; write 1% or 0.01");
    let share = match text.trim().strip_suffix('%') {
        Some(percent) => percent.trim().parse::<f64>().map_err(|_| fault())? / 100.0,
        None => text.trim().parse::<f64>().map_err(|_| fault())?,
    };
    if share.is_finite() && share > 0.0 && share < 1.0 {
        Ok(share)
    } else {
        Err(fault())
    }
}

/// Parses the time limit of an experiment, such as `5m`.
pub fn parse_time(text: &str) -> Result<Duration, String> {
    match parse_duration(text)? {
        Duration::ZERO => Err("no trial can run in no time; write 90s or 5m".to_owned()),
        time => Ok(time),
    }
}

/// Parses a sampling interval such as `1s`. It must be long enough for one turn of each counter group, and for sampling
/// not to dominate.
pub fn parse_interval(text: &str) -> Result<Duration, String> {
    const SHORTEST: Duration = Duration::from_millis(10);
    let interval = parse_duration(text)?;
    if interval < SHORTEST {
        return Err(format!(
            "`{text}` is too short; the shortest interval is 10ms"
        ));
    }
    Ok(interval)
}

/// Parses a state of free memory such as `80%`: the percentage in blocks smaller than a huge page.
pub fn parse_fragment(text: &str) -> Result<u32, String> {
    let fault = || format!("`{text}` is not a percentage; write 80% (1% to 99%)");
    let digits = text.trim().strip_suffix('%').ok_or_else(fault)?;
    let percent = digits.trim().parse().ok();
    percent
        .filter(|percent| (1..=99).contains(percent))
        .ok_or_else(fault)
}

/// Parses a command: one line for the shell, or a JSON list of words that runs without a shell, such as `["a", "b c"]`.
pub(super) fn parse_command_line(text: &str) -> Result<CommandLine, String> {
    match serde_json::from_str(text) {
        Ok(words) => Ok(CommandLine::Words(words)),
        Err(_) => text.parse(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_are_percent_or_fractions() {
        assert_eq!(parse_share("1%"), Ok(0.01));
        assert_eq!(parse_share("0.02"), Ok(0.02));
        for bad in ["", "0", "-1%", "100%", "1.5", "x%", "NaN"] {
            assert!(parse_share(bad).is_err(), "{bad}");
        }
    }
}
