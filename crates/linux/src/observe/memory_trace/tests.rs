use super::*;

fn taken(pieces: &[&[u8]], most: u64) -> (Result<Cut>, Vec<u64>) {
    let (pipe, _) = io::pipe().expect("a pipe");
    let mut seen = Vec::new();
    let mut reading = Reading {
        pipe,
        rest: Vec::new(),
        lines: 0,
        accesses: 0,
        most,
        each: |access: MemoryAccess| seen.push(access.address),
    };
    let mut cut = Ok(Cut::Whole);
    for piece in pieces {
        cut = reading.take(piece);
        if !matches!(cut, Ok(Cut::Whole)) {
            break;
        }
    }
    (cut, seen)
}

#[test]
fn lines_that_come_in_pieces_are_whole() {
    let text = b"==1== x\nI  0401ab70,3\n M 00001000,4\n L 00002000,8\n";
    for at in 0..text.len() {
        let (cut, seen) = taken(&[&text[..at], &text[at..]], 100);
        assert_eq!(cut.expect("a trace"), Cut::Whole);
        assert_eq!(seen, [0x0401_ab70, 0x1000, 0x1000, 0x2000], "cut at {at}");
    }
}

#[test]
fn no_more_than_was_asked_for() {
    let text = b" L 00001000,8\n M 00002000,4\n L 00003000,8\n";
    for most in 0..4 {
        let (cut, seen) = taken(&[text], most);
        assert_eq!(cut.expect("a trace"), Cut::AtMost);
        assert_eq!(seen.len() as u64, most);
    }
    assert_eq!(taken(&[text], 4).0.expect("a trace"), Cut::Whole);
}

#[test]
fn a_fault_names_its_line() {
    let (cut, seen) = taken(&[b" L 00001000,8\nnonsense\n"], 10);
    let error = cut.expect_err("nonsense").to_string();
    assert!(error.contains("line 2"), "{error}");
    assert_eq!(seen, [0x1000]);
}
