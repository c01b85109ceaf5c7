//! The kernel's text, truncated or malformed: a value or an error, without a panic.
#![no_main]

#[path = "../../crates/linux/tests/frozen/kernel_text.rs"]
mod kernel_text;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| kernel_text::parse(bytes));
