//! Parser for AMD's instruction-based sampling of executed operations: the raw part of a sample of the event source
//! `ibs_op`.
//!
//! The kernel passes the registers on as read (`perf_ibs_handle_irq`, arch/x86/events/amd/ibs.c). Four bytes of
//! capabilities precede IbsOpCtl, IbsOpRip, IbsOpData, IbsOpData2, IbsOpData3, IbsDcLinAd and IbsDcPhysAd as words of 8
//! bytes, and further registers on newer processors. The bits are from the Processor Programming Reference for family
//! 19h, also in arch/x86/include/asm/amd/ibs.h.

/// An executed operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Operation {
    /// It read memory.
    pub(super) load: bool,
    /// It wrote memory.
    pub(super) store: bool,
    /// Its translation was in neither level (`IbsDcL1TlbMiss` and `IbsDcL2TlbMiss`).
    pub(super) missed: bool,
    /// The address that it accessed (`IbsDcLinAd`, where `IbsDcLinAddrValid`).
    pub(super) address: Option<u64>,
    /// Its instruction address (`IbsOpRip`, unless `IbsRipInvalid`).
    pub(super) code: Option<u64>,
    /// The time to refill the first level, in cycles (`IbsTlbRefillLat`).
    pub(super) refill_cycles: u64,
}

/// Bytes before the first register.
const CAPABILITIES: usize = 4;
/// `IbsRipInvalid` of IbsOpData.
const RIP_INVALID: u32 = 38;
/// Bits of IbsOpData3.
const LOAD: u32 = 0;
const STORE: u32 = 1;
const FIRST_LEVEL_MISS: u32 = 2;
const SECOND_LEVEL_MISS: u32 = 3;
const ADDRESS_VALID: u32 = 17;
const REFILL_CYCLES: u32 = 48;

/// Parses the raw part of a sample.
///
/// # Errors
/// A sentence: it is too short for the required registers.
pub(super) fn parse_operation(raw: &[u8]) -> Result<Operation, String> {
    let code = register(raw, 1, "IbsOpRip")?;
    let data = register(raw, 2, "IbsOpData")?;
    let data3 = register(raw, 4, "IbsOpData3")?;
    let address = register(raw, 5, "IbsDcLinAd")?;
    Ok(Operation {
        load: bit(data3, LOAD),
        store: bit(data3, STORE),
        missed: bit(data3, FIRST_LEVEL_MISS) && bit(data3, SECOND_LEVEL_MISS),
        address: bit(data3, ADDRESS_VALID).then_some(address),
        code: (!bit(data, RIP_INVALID)).then_some(code),
        refill_cycles: data3 >> REFILL_CYCLES,
    })
}

fn bit(word: u64, number: u32) -> bool {
    word >> number & 1 == 1
}

fn register(raw: &[u8], number: usize, name: &str) -> Result<u64, String> {
    let at = CAPABILITIES + 8 * number;
    raw.get(at..)
        .and_then(|rest| rest.first_chunk::<8>())
        .map(|bytes| u64::from_ne_bytes(*bytes))
        .ok_or_else(|| format!("an IBS sample ends before its {name}"))
}

#[cfg(test)]
pub(super) mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Builds the raw part of a sample from its registers.
    pub(in crate::observe::tlb_misses) fn raw(registers: &[u64]) -> Vec<u8> {
        let words = registers.iter().flat_map(|word| word.to_ne_bytes());
        [0_u8; CAPABILITIES].into_iter().chain(words).collect()
    }

    /// IbsOpData3 of a load that missed both levels, whose refill took 0x65 cycles.
    pub(in crate::observe::tlb_misses) const MISSED_LOAD: u64 = 0x0065_0000_0002_000d;

    #[test]
    fn a_load_that_missed_both_levels() {
        let raw = raw(&[0, 0x40_1234, 0, 0, MISSED_LOAD, 0x7000_1000, 0]);
        let expected = Operation {
            load: true,
            store: false,
            missed: true,
            address: Some(0x7000_1000),
            code: Some(0x40_1234),
            refill_cycles: 0x65,
        };
        assert_eq!(parse_operation(&raw), Ok(expected));
    }

    #[test]
    fn each_bit_means_one_thing() {
        let parsed =
            |data: u64, data3: u64| parse_operation(&raw(&[0, 1, data, 0, data3, 2])).unwrap();
        assert!(!parsed(0, 1 << 2).missed, "the second level had it");
        assert!(!parsed(0, 1 << 3).missed, "there was no lookup");
        assert!(parsed(0, 1 << 1).store && !parsed(0, 1 << 1).load);
        assert_eq!(parsed(0, 0xd).address, None);
        assert_eq!(parsed(1 << 38, 0).code, None);
        assert_eq!(parsed(0, u64::MAX).refill_cycles, 0xffff);
    }

    #[test]
    fn a_short_sample_is_told() {
        let error = parse_operation(&raw(&[0, 0, 0, 0])).unwrap_err();
        assert_eq!(error, "an IBS sample ends before its IbsOpData3");
    }

    proptest! {
        #[test]
        fn no_bytes_panic(bytes: Vec<u8>) {
            let _ = parse_operation(&bytes);
        }
    }
}
