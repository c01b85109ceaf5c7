//! Answers of sources of work: bytes in, a count or an error out.

/// Reads a field of `INFO` of Redis: `total_commands_processed:123`.
///
/// # Errors
/// There is no such field, or it is no number.
pub fn field_of_info(text: &str, field: &str) -> Result<f64, String> {
    let pairs = text.lines().filter_map(|line| line.split_once(':'));
    find(pairs, field)
}

/// Reads the sum of fields of `stats` of memcached: `STAT cmd_get 123`.
///
/// # Errors
/// There is none of these fields, or one is no number.
pub fn field_of_stats(text: &str, fields: &[&str]) -> Result<f64, String> {
    let pairs = || {
        let lines = text.lines().filter_map(|line| line.strip_prefix("STAT "));
        lines.filter_map(|line| line.split_once(' '))
    };
    let is_there = |field: &&&str| pairs().any(|(name, _)| name == **field);
    let there: Vec<&&str> = fields.iter().filter(is_there).collect();
    if there.is_empty() {
        return Err(format!("no field {}", fields.join(" or ")));
    }
    there.into_iter().map(|field| find(pairs(), field)).sum()
}

fn find<'a>(
    mut pairs: impl Iterator<Item = (&'a str, &'a str)>,
    field: &str,
) -> Result<f64, String> {
    let found = pairs.find(|(name, _)| *name == field);
    let (_, value) = found.ok_or_else(|| format!("no field {field}"))?;
    number(value)
}

fn number(text: &str) -> Result<f64, String> {
    let text = text.trim();
    let number = text.parse::<f64>().ok().filter(|it| it.is_finite());
    number.ok_or_else(|| {
        format!(
            "`{}` is no number",
            text.chars().take(40).collect::<String>()
        )
    })
}

/// Reads a metric in the text format of Prometheus: the sum of the series of a name. Labels in
/// braces choose among them.
///
/// # Errors
/// No series fits, or a value is no number.
pub fn sample_of_metrics(text: &str, metric: &str) -> Result<f64, String> {
    let series = series_of_metrics(text, metric)?;
    Ok(series.iter().map(|(_, value)| value).sum())
}

/// Returns the labels and the value of each series that fits.
pub(crate) fn series_of_metrics<'a>(
    text: &'a str,
    metric: &str,
) -> Result<Vec<(&'a str, f64)>, String> {
    let (name, labels) = split_labels(metric);
    let wanted: Vec<&str> = labels
        .split(',')
        .map(str::trim)
        .filter(|it| !it.is_empty())
        .collect();
    let lines = text.lines().filter(|line| !line.starts_with('#'));
    let fitting = lines.filter_map(|line| series(line, name, &wanted));
    let fitting = fitting.map(|(labels, value)| Ok((labels, number(value)?)));
    let all: Vec<(&str, f64)> = fitting.collect::<Result<_, String>>()?;
    match all.is_empty() {
        true => Err(format!("no series {metric}")),
        false => Ok(all),
    }
}

/// Returns the labels and the value of a line, if it is of this name and has all of these labels.
fn series<'a>(line: &'a str, name: &str, wanted: &[&str]) -> Option<(&'a str, &'a str)> {
    let rest = line.strip_prefix(name)?;
    let (labels, value) = match rest.strip_prefix('{') {
        Some(rest) => rest.rsplit_once('}')?,
        None if rest.starts_with([' ', '\t']) => ("", rest),
        None => return None,
    };
    let has = |pair: &&str| labels.split(',').any(|it| it.trim() == *pair);
    if !wanted.iter().all(has) {
        return None;
    }
    // A time may follow the value.
    Some((labels, value.split_ascii_whitespace().next()?))
}

fn split_labels(metric: &str) -> (&str, &str) {
    match metric.split_once('{') {
        Some((name, labels)) => (name, labels.trim_end_matches('}')),
        None => (metric, ""),
    }
}

/// Reads the last number that a command printed.
///
/// # Errors
/// It printed none.
pub fn printed_count(text: &str) -> Result<f64, String> {
    let words = text.split_ascii_whitespace();
    let mut numbers = words.filter_map(|word| number(word).ok());
    numbers
        .next_back()
        .ok_or_else(|| "it printed no number".to_owned())
}

/// Reads the bytes read and written of `/proc/PID/io`.
///
/// # Errors
/// A field is missing, or no number.
pub fn sum_of_io(text: &str) -> Result<f64, String> {
    Ok(field_of_info(text, "rchar")? + field_of_info(text, "wchar")?)
}
