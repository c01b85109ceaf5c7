//! Estimates with intervals, for paired rounds and for two samples; and when to stop.
