//! Every loop does its operation for any offsets and length, and touches nothing else.

use super::{Arrays, FILL, Kernel, Operation, all};

/// Bytes around the arrays that must not change.
const MARGIN: usize = 192;

/// Random numbers (xorshift64*, Vigna 2016).
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        self.0.wrapping_mul(0x2545_F491_4F6C_DD1D)
    }

    fn below(&mut self, limit: usize) -> usize {
        (self.next() >> 11) as usize % limit
    }

    fn bytes(&mut self, count: usize) -> Vec<u8> {
        (0..count).map(|_| self.next() as u8).collect()
    }
}

/// An array at an offset in the middle of a larger one.
struct Array {
    all: Vec<u8>,
    offset: usize,
}

impl Array {
    fn random(random: &mut Random, bytes: usize, numbers: bool) -> Self {
        let offset = MARGIN + random.below(64);
        let mut all = random.bytes(bytes + offset + MARGIN);
        if numbers {
            for word in all[offset..offset + bytes].chunks_exact_mut(8) {
                let number = random.below(1 << 20) as f64 / 64.0 - 512.0;
                word.copy_from_slice(&number.to_ne_bytes());
            }
        }
        Self { all, offset }
    }

    fn part(&self, bytes: usize) -> &[u8] {
        &self.all[self.offset..self.offset + bytes]
    }
}

/// The expected result of the operation, word by word.
fn expected(kernel: &Kernel, arrays: &[Array; 3], bytes: usize) -> Vec<u8> {
    let [destination, source, third] = arrays.each_ref().map(|array| array.part(bytes).to_vec());
    let word = |array: &[u8], at: usize| -> [u8; 8] { array[at..at + 8].try_into().expect("8") };
    let words = |each: &dyn Fn(usize) -> [u8; 8]| -> Vec<u8> {
        (0..bytes).step_by(8).flat_map(each).collect()
    };
    match kernel.operation {
        Operation::Copy => source,
        Operation::Fill if ["rep-zero", "clzero", "zva"].contains(&kernel.name) => vec![0; bytes],
        Operation::Fill => vec![FILL; bytes],
        Operation::Read => destination,
        Operation::Write => vec![0xff; bytes],
        Operation::ReadModifyWrite => words(&|at| {
            let number = u64::from_ne_bytes(word(&destination, at));
            number.wrapping_add(1).to_ne_bytes()
        }),
        Operation::Triad => words(&|at| {
            let [a, b] = [&source, &third].map(|array| f64::from_ne_bytes(word(array, at)));
            (a + 3.0 * b).to_ne_bytes()
        }),
    }
}

fn check(kernel: &Kernel, random: &mut Random) {
    let bytes = match random.below(4) {
        0 => random.below(16) * 8,
        _ => random.below(600) * 8,
    };
    let numbers = kernel.operation == Operation::Triad;
    let mut arrays = [(); 3].map(|()| Array::random(random, bytes, numbers));
    let wanted = expected(kernel, &arrays, bytes);
    let before = arrays.each_ref().map(|array| array.all.clone());
    let [destination, source, third] = &mut arrays;
    let given = Arrays {
        destination: destination.all[destination.offset..].as_mut_ptr(),
        source: source.all[source.offset..].as_ptr(),
        third: third.all[third.offset..].as_ptr(),
        bytes,
    };
    // SAFETY: the arrays are that long and apart, and the processor has the instructions.
    unsafe { (kernel.pass)(given) };
    let name = format!("{:?} {} of {bytes}", kernel.operation, kernel.name);
    assert_eq!(arrays[0].part(bytes), wanted, "{name}");
    let place = arrays[0].offset;
    assert_eq!(arrays[0].all[..place], before[0][..place], "{name}: before");
    let behind = place + bytes;
    assert_eq!(
        arrays[0].all[behind..],
        before[0][behind..],
        "{name}: behind"
    );
    assert_eq!(arrays[1].all, before[1], "{name}: the source");
    assert_eq!(arrays[2].all, before[2], "{name}: the third");
}

#[test]
fn every_kernel_does_its_operation_and_nothing_else() {
    let mut random = Random(0x9E37_79B9_7F4A_7C15);
    for kernel in all() {
        if let Some(what) = (kernel.lacks)() {
            println!("SKIP {:?} {}: no {what}", kernel.operation, kernel.name);
            continue;
        }
        for _ in 0..400 {
            check(kernel, &mut random);
        }
    }
}

#[test]
fn every_operation_has_a_kernel_and_names_are_apart() {
    let mut seen = std::collections::BTreeSet::new();
    for kernel in all() {
        assert!(
            seen.insert((kernel.operation, kernel.name)),
            "{}",
            kernel.name
        );
    }
    for (name, operation) in Operation::ALL {
        assert_eq!(Operation::named(name), Some(operation));
        assert!(seen.iter().any(|(known, _)| *known == operation), "{name}");
    }
}
