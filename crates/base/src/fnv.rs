//! Hashes a name to a number, which is the same in each version of the program.

/// Returns the FNV-1a hash of bytes, 32 bits.
#[must_use]
pub fn fnv1a(bytes: impl Iterator<Item = u8>) -> u32 {
    const BASIS: u32 = 0x811c_9dc5;
    const PRIME: u32 = 0x0100_0193;
    bytes.fold(BASIS, |hash, byte| {
        (hash ^ u32::from(byte)).wrapping_mul(PRIME)
    })
}
