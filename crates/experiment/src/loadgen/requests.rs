//! Single requests, in a table or in lines of JSON.

use std::borrow::Cow;

use super::moment::{decimal, exact_nanos, timed};
use super::{Latency, Load, LoadReport, ReadError};
use crate::base::histogram::distribution::{Distribution, Grain};
use crate::run::plan::{Rows, TimeUnit};
use crate::run::trial::{Pacing, Timed};

/// The most values listed in an error.
const NAMED: usize = 5;

/// The fields of each request.
#[derive(Clone, Copy)]
pub(super) struct Fields<'a> {
    /// The field of its latency.
    pub(super) latency: &'a str,
    pub(super) unit: TimeUnit,
    pub(super) rows: &'a Rows,
}

impl Fields<'_> {
    /// Returns the names of all fields.
    pub(super) fn names(&self) -> Vec<&str> {
        let only = self.rows.only.iter().map(|it| it.field.as_str());
        let failed = self.rows.failed.iter().map(|it| it.field.as_str());
        let stamp = self.rows.stamp.iter().map(|it| it.field.as_str());
        std::iter::once(self.latency)
            .chain(stamp)
            .chain(only)
            .chain(failed)
            .collect()
    }
}

/// The requests so far.
pub(super) struct Collected<'a> {
    fields: Fields<'a>,
    all: Distribution,
    /// The most decimals in a time: the resolution of the source's clock.
    decimals: usize,
    failed: u64,
    /// The requests with their times, or the reason for missing times.
    timed: Result<Vec<Timed>, String>,
    /// Values in rows that do not count.
    others: Vec<String>,
}

impl<'a> Collected<'a> {
    pub(super) fn new(fields: Fields<'a>) -> Self {
        Self {
            fields,
            all: Distribution::new(Grain::Bucket, 1),
            decimals: 0,
            failed: 0,
            timed: Ok(Vec::new()),
            others: Vec::new(),
        }
    }

    /// Returns true once a request was read.
    pub(super) fn has_some(&self) -> bool {
        self.all.count() > 0 || self.failed > 0
    }

    /// Adds a row, whose fields are read by `of`.
    pub(super) fn add<'t>(
        &mut self,
        line: usize,
        of: impl Fn(&str) -> Result<Cow<'t, str>, ReadError>,
    ) -> Result<(), ReadError> {
        let rows = self.fields.rows;
        for only in &rows.only {
            let value = of(&only.field).unwrap_or_default();
            if value.trim() != only.value {
                self.note_other(&value);
                return Ok(());
            }
        }
        if let Some(failed) = &rows.failed
            && failed.by.fails(&of(&failed.field)?)
        {
            self.failed += 1;
            return Ok(());
        }
        let took = self.took(line, &of(self.fields.latency)?)?;
        if let Some(stamp) = &rows.stamp {
            let one = timed(stamp, line, &of(&stamp.field)?, took);
            // Latencies are known even if the times are not.
            match (one, &mut self.timed) {
                (Ok(one), Ok(all)) => all.push(one),
                (Err(error), Ok(_)) => self.timed = Err(error.to_string()),
                (_, Err(_)) => {}
            }
        }
        self.all.add(took, 1);
        Ok(())
    }

    fn note_other(&mut self, value: &str) {
        let value = value.trim();
        if self.others.len() < NAMED
            && !value.is_empty()
            && !self.others.iter().any(|it| it == value)
        {
            self.others.push(value.to_owned());
        }
    }

    /// The time of a request in nanoseconds.
    fn took(&mut self, line: usize, text: &str) -> Result<u64, ReadError> {
        let (field, unit) = (self.fields.latency, self.fields.unit);
        let plain = decimal(text).map_err(|problem| ReadError::at(line, field, problem))?;
        let ns = exact_nanos(&plain, unit).ok_or_else(|| {
            ReadError::at(
                line,
                field,
                format!("`{text}` is no time in {}", unit.word()),
            )
        })?;
        let decimals = plain.split_once('.').map_or(0, |(_, it)| it.len());
        self.decimals = self.decimals.max(decimals);
        Ok(ns)
    }

    pub(super) fn report(self) -> Result<LoadReport, ReadError> {
        if !self.has_some() {
            return Err(self.nothing());
        }
        let decimals = u32::try_from(self.decimals).unwrap_or(u32::MAX);
        let parts = 10_u64.checked_pow(decimals).unwrap_or(u64::MAX);
        let mut all = Distribution::new(Grain::Bucket, self.fields.unit.nanos() / parts);
        all.merge(&self.all);
        let (timed, untimed) = match self.timed {
            Ok(timed) => (timed, None),
            Err(why) => (Vec::new(), Some(why)),
        };
        Ok(LoadReport {
            loads: vec![Load {
                requests: Some(all.count()),
                errors: self.fields.rows.failed.is_some().then_some(self.failed),
                latency: Some(Latency::Counted(all)),
                timed,
                untimed,
                ..Load::default()
            }],
            pacing: Pacing::Unknown,
        })
    }

    fn nothing(&self) -> ReadError {
        match self
            .fields
            .rows
            .only
            .first()
            .filter(|_| !self.others.is_empty())
        {
            Some(only) => {
                let problem = format!(
                    "it is {} nowhere; there are: {}",
                    only.value,
                    self.others.join(", ")
                );
                ReadError::of(only.field.as_str(), problem)
            }
            None => ReadError::of(self.fields.latency, "it was written nowhere"),
        }
    }
}
