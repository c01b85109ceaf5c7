//! Experiments from their records to their screens.

mod answer;
mod causes;
mod documented;
mod extremes;
mod numbers;
mod readers;
mod record;
mod report;
mod sample;
mod timeline;
mod words;
