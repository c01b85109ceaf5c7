//! The machine code of every measured loop has the instructions that its name promises, in a loop, as often as written:
//! nothing was removed, and nothing became another instruction or a call.

use std::collections::BTreeMap;
use std::process::Command;

/// A loop: its function, and the number of body instructions with each prefix.
type Row = (&'static str, &'static [(&'static str, usize)]);

/// The output of `objdump -M intel` for x86_64.
#[rustfmt::skip]
const X86_64: &[Row] = &[
    ("copy_sse2", &[("movdqu xmm", 4), ("movdqu XMMWORD PTR", 4)]),
    ("copy_avx2", &[("vmovdqu ymm", 4), ("vmovdqu YMMWORD PTR", 4)]),
    ("copy_avx512", &[("vmovdqu64 zmm", 4), ("vmovdqu64 ZMMWORD PTR", 4)]),
    ("copy_nt", &[("movdqu xmm", 4), ("movntdq XMMWORD PTR", 4), ("prefetchnta", 1)]),
    ("copy_nt_avx2", &[("vmovdqu ymm", 4), ("vmovntdq YMMWORD PTR", 4), ("prefetchnta", 2)]),
    ("copy_nt_avx512", &[("vmovdqu64 zmm", 4), ("vmovntdq ZMMWORD PTR", 4), ("prefetchnta", 4)]),
    ("fill_nt", &[("movntdq XMMWORD PTR", 4)]),
    ("fill_nt_avx512", &[("vmovntdq ZMMWORD PTR", 4)]),
    ("fill_clzero", &[("clzero", 1)]),
    ("read_word", &[("mov rax,QWORD PTR", 8)]),
    ("read_sse2", &[("movdqu xmm", 4)]),
    ("read_avx2", &[("vmovdqu ymm", 4)]),
    ("read_avx512", &[("vmovdqu64 zmm", 4)]),
    ("write_word", &[("mov QWORD PTR", 8)]),
    ("write_sse2", &[("movdqu XMMWORD PTR", 4)]),
    ("write_avx2", &[("vmovdqu YMMWORD PTR", 4)]),
    ("write_avx512", &[("vmovdqu64 ZMMWORD PTR", 4)]),
    ("modify_word", &[("add QWORD PTR", 8)]),
    ("modify_sse2", &[("movdqu xmm", 4), ("psubq xmm", 4), ("movdqu XMMWORD PTR", 4)]),
    ("modify_avx2", &[("vmovdqu ymm", 4), ("vpsubq ymm", 4), ("vmovdqu YMMWORD PTR", 4)]),
    ("modify_avx512", &[("vmovdqu64 zmm", 4), ("vpsubq zmm", 4), ("vmovdqu64 ZMMWORD PTR", 4)]),
    ("triad_sse2", &[("mulpd xmm", 4), ("addpd xmm", 4), ("movupd XMMWORD PTR", 4)]),
    ("triad_avx2", &[("vmulpd ymm", 4), ("vaddpd ymm", 4), ("vmovupd YMMWORD PTR", 4)]),
    ("triad_avx512", &[("vmulpd zmm", 4), ("vaddpd zmm", 4), ("vmovupd ZMMWORD PTR", 4)]),
    ("read_pages", &[("imul", 2), ("add", 2), ("and", 1), ("mov ", 2), ("dec", 1), ("jne", 1), ("", 9)]),
    ("write_pages", &[("imul", 2), ("add", 2), ("and", 1), ("mov ", 2), ("mov QWORD PTR", 1), ("dec", 1), ("jne", 1), ("", 9)]),
];

/// Instructions of x86_64 that are complete loops.
const X86_64_ALONE: &[(&str, &str)] = &[
    ("copy_rep", "rep movs"),
    ("fill_rep", "rep stos"),
    ("fill_rep_zero", "rep stos"),
];

/// The output of `objdump` for aarch64.
#[rustfmt::skip]
const AARCH64: &[Row] = &[
    ("copy_neon", &[("ldp q", 2), ("stp q", 2)]),
    ("copy_sve", &[("ld1b {z", 1), ("st1b {z", 1), ("incb", 1)]),
    ("copy_nt", &[("ldnp q", 2), ("stnp q", 2)]),
    ("fill_zva", &[("dc zva", 1)]),
    ("fill_nt", &[("stnp q", 2)]),
    ("read_word", &[("ldp x", 4)]),
    ("read_neon", &[("ldp q", 2)]),
    ("read_sve", &[("ld1b {z", 1), ("incb", 1)]),
    ("write_word", &[("stp x", 4)]),
    ("write_neon", &[("stp q", 2)]),
    ("write_sve", &[("st1b {z", 1), ("incb", 1)]),
    ("modify_word", &[("ldp x", 1), ("add x9, x9, #0x1", 1), ("add x10, x10, #0x1", 1), ("stp x", 1)]),
    ("modify_neon", &[("ldp q", 2), ("sub v", 4), ("stp q", 2)]),
    ("triad_neon", &[("ldp q", 2), ("fmul v", 2), ("fadd v", 2), ("stp q", 1)]),
    ("read_pages", &[("madd", 1), ("add", 1), ("and", 1), ("mul", 1), ("ldr x", 1), ("subs", 1), ("b.ne", 1), ("", 7)]),
    ("write_pages", &[("madd", 1), ("add", 1), ("and", 1), ("mul", 1), ("str x", 1), ("subs", 1), ("b.ne", 1), ("", 7)]),
];

/// One instruction: its address and its text, with single spaces.
type Instruction = (u64, String);

/// The functions of the modules with loops, by their last names.
fn functions(listing: &str) -> BTreeMap<String, Vec<Instruction>> {
    const ROOMS: [&str; 5] = [
        "kernels::x86::blocks::",
        "kernels::x86::",
        "kernels::arm::",
        "latency::cycle::",
        "tlb::data::",
    ];
    let mut functions = BTreeMap::new();
    let mut open: Option<(String, Vec<Instruction>)> = None;
    for line in listing.lines() {
        if let Some((_, name)) = line
            .strip_suffix(">:")
            .and_then(|line| line.split_once(" <"))
        {
            functions.extend(open.take());
            let found = ROOMS.iter().find_map(|room| name.split_once(room));
            open = found.map(|(_, rest)| {
                let end = rest.find(|c: char| !c.is_ascii_alphanumeric() && c != '_');
                (rest[..end.unwrap_or(rest.len())].to_owned(), Vec::new())
            });
        } else if let (Some((_, body)), Some((address, text))) = (&mut open, line.split_once(":\t"))
            && let Ok(address) = u64::from_str_radix(address.trim(), 16)
        {
            body.push((
                address,
                text.split_whitespace().collect::<Vec<_>>().join(" "),
            ));
        }
    }
    functions.extend(open);
    functions
}

/// The bodies of loops: from the target of a backward jump to that jump.
fn loops(function: &[Instruction]) -> Vec<&[Instruction]> {
    let first = function.first().map_or(0, |(address, _)| *address);
    let from = |(end, (address, text)): (usize, &Instruction)| {
        let (name, rest) = text.split_once(' ')?;
        let jumps = name.starts_with('j') || name.starts_with("b.");
        let target = rest.split_whitespace().next().filter(|_| jumps)?;
        let target = u64::from_str_radix(target.trim_start_matches("0x"), 16).ok()?;
        let backwards = first <= target && target <= *address;
        let start = function
            .iter()
            .position(|(at, _)| *at == target && backwards)?;
        Some(&function[start..=end])
    };
    function.iter().enumerate().filter_map(from).collect()
}

/// Returns true if a body has the wanted number of instructions with each prefix, and calls nothing.
fn holds(body: &[Instruction], wanted: &[(&str, usize)]) -> bool {
    let count = |prefix: &str| {
        let texts = body.iter().filter(|(_, text)| text.starts_with(prefix));
        texts.count()
    };
    let calls = ["call", "bl "]
        .iter()
        .map(|call| count(call))
        .sum::<usize>();
    calls == 0
        && wanted
            .iter()
            .all(|(prefix, wanted)| count(prefix) == *wanted)
}

/// A load from an address that it loaded itself: `mov rax,QWORD PTR [rax]`.
fn is_dependent(text: &str) -> bool {
    let loads = |register: &str| {
        [
            format!("mov {register},QWORD PTR [{register}]"),
            format!("ldr {register}, [{register}]"),
        ]
    };
    let register = text.split([' ', ',']).nth(1).unwrap_or_default();
    loads(register).iter().any(|load| load == text)
}

/// The listing of the laboratory, or why there is none.
fn listing() -> Result<String, String> {
    let output = Command::new("objdump")
        .args([
            "--disassemble",
            "--demangle",
            "--no-show-raw-insn",
            "--section=.text",
        ])
        .args((std::env::consts::ARCH == "x86_64").then_some("--disassembler-options=intel"))
        .arg(env!("CARGO_BIN_EXE_hugewise-lab"))
        .output()
        .map_err(|error| format!("objdump: {error}"))?;
    if !output.status.success() {
        return Err(String::from_utf8_lossy(&output.stderr).into_owned());
    }
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

#[test]
#[ignore = "reads machine code of the whole program: cargo xtask test-loops"]
fn every_loop_holds_its_instructions() {
    let (rows, alone) = match std::env::consts::ARCH {
        "x86_64" => (X86_64, X86_64_ALONE),
        "aarch64" => (AARCH64, &[][..]),
        arch => return println!("SKIP machine code of the loops: none for {arch}"),
    };
    let listing = match listing() {
        Ok(listing) => listing,
        Err(reason) => return println!("SKIP machine code of the loops: {reason}"),
    };
    let functions = functions(&listing);
    for (name, wanted) in rows {
        let found = functions
            .get(*name)
            .map(|body| loops(body))
            .unwrap_or_default();
        assert!(
            found.iter().any(|body| holds(body, wanted)),
            "{name}: {found:#?}"
        );
    }
    for (name, instruction) in alone {
        let body = functions.get(*name).map_or(&[][..], Vec::as_slice);
        assert!(holds(body, &[(instruction, 1)]), "{name}: {body:#?}");
    }
    let walk = loops(functions.get("walk").map_or(&[][..], Vec::as_slice));
    let loads = |body: &&[Instruction]| body.iter().filter(|(_, text)| is_dependent(text)).count();
    assert_eq!(
        walk.iter().map(loads).collect::<Vec<_>>(),
        [16],
        "{walk:#?}"
    );
    every_kernel_has_a_row(&functions, rows, alone);
}

fn every_kernel_has_a_row(
    functions: &BTreeMap<String, Vec<Instruction>>,
    rows: &[Row],
    alone: &[(&str, &str)],
) {
    let operations = ["copy", "fill", "read", "write", "modify", "triad"];
    for name in functions.keys() {
        let (operation, _) = name.split_once('_').unwrap_or((name, ""));
        if operations.contains(&operation) && name.contains('_') {
            let known = rows.iter().any(|(row, _)| row == name);
            assert!(known || alone.iter().any(|(row, _)| row == name), "{name}");
        }
    }
}

#[test]
fn what_was_left_out_or_became_a_call_is_found() {
    let listing = "\
0000000000001000 <lab::kernels::x86::read_avx2::h0123>:
    1000:\tvmovdqu ymm0,YMMWORD PTR [rax]
    1004:\tadd    rax,0x20
    1008:\tjne    1000 <lab::kernels::x86::read_avx2::h0123>
    100a:\tret
0000000000002000 <lab::other>:
    2000:\tret
";
    let functions = functions(listing);
    assert_eq!(functions.len(), 1);
    let found = loops(&functions["read_avx2"]);
    assert_eq!(found.len(), 1);
    assert!(holds(found[0], &[("vmovdqu ymm", 1)]));
    assert!(!holds(found[0], &[("vmovdqu ymm", 4)]));
    assert!(!holds(&[(0, "call 1234".to_owned())], &[]));
    assert!(is_dependent("mov rcx,QWORD PTR [rcx]") && is_dependent("ldr x8, [x8]"));
    assert!(!is_dependent("mov rcx,QWORD PTR [rax]"));
}
