//! Parsers of the kernel's text are total.

use proptest::prelude::*;

use crate::kernel_text;

proptest! {
    #[test]
    fn no_bytes_panic(bytes: Vec<u8>) {
        kernel_text::parse(&bytes);
    }
}
