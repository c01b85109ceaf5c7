//! `contrib/grafana/`: dashboards for the metrics of `hugewise export`. They are generated from the tables below;
//! `contrib/prometheus/try` queries a real Prometheus for every panel.

use anyhow::{Context, Result};
use serde_json::{Value, json};

/// Where they lie.
pub const FOLDER: &str = "contrib/grafana";

/// A dashboard, in Grafana's import format.
#[derive(Debug)]
pub struct File {
    /// Its file name.
    pub file: String,
    /// Its JSON.
    pub text: String,
}

/// A diagram: title, Grafana unit, description, query, and the legend of its lines.
type Panel = (
    &'static str,
    &'static str,
    &'static str,
    &'static str,
    &'static str,
);

/// The machine, as totals.
#[rustfmt::skip]
const HOST: [Panel; 12] = [
    ("Huge part of anonymous memory", "percentunit", "Anonymous memory that PMDs map.",
        r#"hugewise_memory_bytes{INSTANCE,kind="anon_huge"} / ignoring(kind) hugewise_memory_bytes{INSTANCE,kind="anon"}"#, "{{instance}}"),
    ("Memory", "bytes", "Anonymous, shared and file memory, and the part of each that PMDs map.",
        "hugewise_memory_bytes{INSTANCE}", "{{kind}}"),
    ("Huge faults", "ops", "Huge page faults that got a huge page, and those that got small pages.",
        r#"rate(hugewise_vmstat_total{INSTANCE,event=~"thp_fault_alloc|thp_fault_fallback"}[$__rate_interval])"#, "{{event}}"),
    ("Huge pages made and split", "ops", "Pages made by khugepaged, and split mappings and pages.",
        r#"rate(hugewise_vmstat_total{INSTANCE,event=~"thp_collapse_alloc|thp_split_p.*"}[$__rate_interval])"#, "{{event}}"),
    ("Free blocks as large as a huge page", "short", "Without any, a huge fault has to compact memory first.",
        r#"sum by (node) (hugewise_free_blocks{INSTANCE,order=~"9|1[0-9]"})"#, "node {{node}}"),
    ("Free memory by block size", "short", "Free blocks of 2^order pages.",
        "sum by (order) (hugewise_free_blocks{INSTANCE})", "order {{order}}"),
    ("Tasks that compact memory themselves", "ops", "Each such fault waits for milliseconds.",
        r#"rate(hugewise_vmstat_total{INSTANCE,event=~"compact_(stall|fail|success)"}[$__rate_interval])"#, "{{event}}"),
    ("Waiting for memory", "percentunit", "Share of the time in which some or all tasks waited.",
        "rate(hugewise_memory_pressure_seconds_total{INSTANCE}[$__rate_interval])", "{{kind}}"),
    ("khugepaged", "percentunit", "Share of one processor.",
        "rate(hugewise_khugepaged_cpu_seconds_total{INSTANCE}[$__rate_interval])", "{{instance}}"),
    ("hugetlb pools", "short", "Pages by state.",
        "hugewise_hugetlb_pages{INSTANCE}", "{{size}} {{state}}"),
    ("Settings", "short", "The setting and its effective value.",
        "hugewise_thp_setting_info{INSTANCE}", "{{file}} {{size}} {{mode}}"),
    ("Collectors", "short", "0 if a collector cannot read its files.",
        "hugewise_collector_success{INSTANCE}", "{{collector}}"),
];

/// Folios of each size: Linux 6.8 and later.
#[rustfmt::skip]
const SIZES: [Panel; 4] = [
    ("Faults by folio size", "ops", "Faults that got a folio of this size.",
        "rate(hugewise_thp_anon_fault_alloc_total{INSTANCE}[$__rate_interval])", "{{size}}"),
    ("Refused faults by folio size", "ops", "Faults that found no folio of this size.",
        "rate(hugewise_thp_anon_fault_fallback_total{INSTANCE}[$__rate_interval])", "{{size}}"),
    ("Anonymous folios", "short", "Folios of each size (Linux 6.12).",
        "hugewise_thp_anon_folios{INSTANCE}", "{{size}}"),
    ("Folios mapped in part", "short", "Partly unmapped folios; their memory is not yet free (Linux 6.12).",
        "hugewise_thp_anon_partially_mapped_folios{INSTANCE}", "{{size}}"),
];

/// Programs, cgroups, durations and experiments: the optional collectors of the exporter.
#[rustfmt::skip]
const PROGRAMS: [Panel; 8] = [
    ("Huge part by group", "percentunit", "Only processes whose page tables were read (--group).",
        "hugewise_group_huge_bytes{INSTANCE} / hugewise_group_resident_bytes{INSTANCE}", "{{group}}"),
    ("Why memory is small", "bytes", "By group and reason: hugewise inspect --explain REASON.",
        "hugewise_group_small_bytes{INSTANCE}", "{{group}} {{reason}}"),
    ("Could be huge", "bytes", "Memory that all settings allow to be huge, and is small.",
        "hugewise_group_could_be_huge_bytes{INSTANCE}", "{{group}}"),
    ("Cost of looking", "percentunit", "Share of one processor that reading page tables takes.",
        "rate(hugewise_inspect_cpu_seconds_total{INSTANCE}[$__rate_interval])", "{{instance}}"),
    ("Huge part by cgroup", "percentunit", "Anonymous memory that PMDs map (--cgroup).",
        r#"hugewise_cgroup_memory_bytes{INSTANCE,kind="anon_huge"} / ignoring(kind) hugewise_cgroup_memory_bytes{INSTANCE,kind="anon"}"#, "{{cgroup}}"),
    ("Time in the kernel", "percentunit", "Time that tasks spend at each point, of one processor (--durations).",
        "rate(hugewise_stall_seconds_sum{INSTANCE}[$__rate_interval])", "{{point}}"),
    ("Longest stalls", "s", "99 of 100 took no longer.",
        "histogram_quantile(0.99, sum by (le, point) (rate(hugewise_stall_seconds_bucket{INSTANCE}[$__rate_interval])))", "{{point}}"),
    ("Effects of policies", "percentunit", "Value under a policy divided by that under the baseline, with its 95 % interval (--records).",
        "hugewise_experiment_effect_ratio{INSTANCE}", "{{experiment}} {{policy}} {{bound}}"),
];

/// Returns all dashboards.
///
/// # Errors
/// JSON could not be written, which does not happen.
pub fn all() -> Result<Vec<File>> {
    let tables: [(&str, &str, &[Panel]); 3] = [
        ("hugewise-host", "Huge pages: host", &HOST),
        ("hugewise-sizes", "Huge pages: folio sizes", &SIZES),
        ("hugewise-programs", "Huge pages: programs", &PROGRAMS),
    ];
    let file = |(name, title, panels): (&str, &str, &[Panel])| {
        let text = serde_json::to_string_pretty(&dashboard(name, title, panels))
            .context("writing a dashboard")?;
        Ok(File {
            file: format!("{name}.json"),
            text: text + "\n",
        })
    };
    tables.into_iter().map(file).collect()
}

fn dashboard(name: &str, title: &str, panels: &[Panel]) -> Value {
    let panels: Vec<Value> = (0..)
        .zip(panels)
        .map(|(place, it)| panel(place, it))
        .collect();
    json!({
        "uid": name,
        "title": title,
        "tags": ["hugewise"],
        "schemaVersion": 39,
        "editable": true,
        "refresh": "30s",
        "time": { "from": "now-6h", "to": "now" },
        "templating": { "list": [
            { "name": "datasource", "type": "datasource", "query": "prometheus" },
            {
                "name": "instance",
                "type": "query",
                "datasource": { "type": "prometheus", "uid": "${datasource}" },
                "query": "label_values(hugewise_collector_success, instance)",
                "refresh": 2,
            },
        ] },
        "panels": panels,
    })
}

/// Places two panels per row.
fn panel(place: u32, (title, unit, description, query, legend): &Panel) -> Value {
    json!({
        "id": place + 1,
        "type": "timeseries",
        "title": title,
        "description": description,
        "datasource": { "type": "prometheus", "uid": "${datasource}" },
        "gridPos": { "x": place % 2 * 12, "y": place / 2 * 8, "w": 12, "h": 8 },
        "fieldConfig": { "defaults": { "unit": unit, "min": 0 }, "overrides": [] },
        "targets": [{
            "refId": "A",
            "expr": query.replace("INSTANCE", "instance=\"$instance\""),
            "legendFormat": legend,
        }],
    })
}
