//! Detects loader, toolchain and allocator of a program from its executable.

use std::path::Path;

use hugewise_base::tunables::ELF_THP;
use hugewise_experiment::run::policy::{Executable, ReadOnly};
use object::elf::{PF_R, PF_W, PF_X};
use object::{File, Object, ObjectSection, ObjectSegment, ObjectSymbol, SegmentFlags};

use super::runtime::{holds, read_program};

/// Reads an ELF file; `None` if it is not ELF, or has no section table. Packed programs have none, and would look
/// statically linked.
#[must_use]
pub fn read_executable(path: &Path) -> Option<Executable> {
    parse_executable(&read_program(path)?)
}

/// Parses an ELF file.
#[must_use]
pub fn parse_executable(image: &[u8]) -> Option<Executable> {
    let file = File::parse(image).ok()?;
    file.sections().next()?;
    let loader = file.section_by_name(".interp");
    let loader = loader.and_then(|section| section.data().ok());
    let is_malloc =
        |symbol: &object::Symbol<'_, '_>| symbol.is_definition() && symbol.name() == Ok("malloc");
    Some(Executable {
        loader: loader.map(|path| {
            let path = String::from_utf8_lossy(path);
            path.trim_end_matches('\0').to_owned()
        }),
        is_go: file.section_by_name(".note.go.buildid").is_some(),
        defines_malloc: file.dynamic_symbols().any(|symbol| is_malloc(&symbol)),
        starts_jvm: holds(image, b"libjli.so"),
        names_jemalloc: holds(image, b"libjemalloc.so"),
        holds_jemalloc: holds(image, b"<jemalloc>: "),
        holds_tunables: holds(image, b"glibc.malloc.hugetlb"),
        holds_elf_thp: holds(image, ELF_THP.as_bytes()),
        code_bytes: code_bytes(&file),
        read_only: read_only(&file),
    })
}

fn read_only(file: &File<'_>) -> Vec<ReadOnly> {
    let is_it = |flags| {
        let SegmentFlags::Elf { p_flags, .. } = flags else {
            return false;
        };
        p_flags & (PF_R | PF_W) == PF_R
    };
    let segments = file.segments().filter(|it| is_it(it.flags()));
    let segments = segments.map(|it| ReadOnly {
        alignment: 1_u64.unbounded_shl((it.address() | it.file_range().0).trailing_zeros()),
        bytes: it.size(),
    });
    segments.collect()
}

/// Returns the length in bytes of the longest executable segment.
fn code_bytes(file: &File<'_>) -> u64 {
    let is_code = |flags| matches!(flags, SegmentFlags::Elf { p_flags } if p_flags & PF_X != 0);
    let code = file.segments().filter(|it| is_code(it.flags()));
    code.map(|it| it.size()).max().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use proptest::prelude::*;

    use super::*;
    use crate::skipping::skip;

    const SOURCE: &str = "#include <stdlib.h>\nint main(void) { return malloc(1) == 0; }\n";
    const OWN: &str = "#include <stddef.h>\nstatic char room[64];\nvoid *malloc(size_t n) \
                       { return n < 64 ? room : 0; }\nint main(void) { return malloc(1) == 0; }\n";

    /// Compiles a source and reads the program; `None` if the compiler is missing.
    fn compiled(compiler: &str, flags: &[&str], source: &str) -> Option<Executable> {
        let folder = tempfile::tempdir().unwrap();
        let (code, program) = (folder.path().join("x.c"), folder.path().join("x"));
        std::fs::write(&code, source).unwrap();
        let mut command = Command::new(compiler);
        command.args(flags).arg("-o").arg(&program).arg(&code);
        let made = command.output().is_ok_and(|it| it.status.success());
        made.then(|| read_executable(&program).expect("an ELF file"))
    }

    #[test]
    fn programs_of_a_compiler_are_told_apart() {
        let name = "programs_of_a_compiler_are_told_apart";
        let (Some(dynamic), Some(fixed)) = (
            compiled("cc", &[], SOURCE),
            compiled("cc", &["-static"], SOURCE),
        ) else {
            return skip(name, "needs cc and a static C library");
        };
        assert!(dynamic.loader.is_some() && !dynamic.holds_tunables && !dynamic.is_go);
        assert!((1..fixed.code_bytes).contains(&dynamic.code_bytes) && fixed.code_bytes < 2 << 20);
        assert!(fixed.loader.is_none() && !fixed.is_go && !fixed.defines_malloc);
        let large = compiled("cc", &["-static", "-Wl,-z,max-page-size=2097152"], SOURCE);
        let aligned = |file: &Executable| {
            let mut segments = file.read_only.iter();
            segments.any(|it| it.alignment >= 2 << 20 && it.bytes == file.code_bytes)
        };
        assert!(!aligned(&fixed) && aligned(&large.expect("it links")));
        let own = compiled("cc", &["-rdynamic", "-fno-builtin"], OWN).expect("it compiles");
        assert!(own.defines_malloc && !dynamic.defines_malloc);
    }

    #[test]
    fn musl_has_no_tunables() {
        let name = "musl_has_no_tunables";
        let (Some(dynamic), Some(fixed)) = (
            compiled("musl-gcc", &[], SOURCE),
            compiled("musl-gcc", &["-static"], SOURCE),
        ) else {
            return skip(name, "needs musl-gcc");
        };
        assert!(dynamic.loader.is_some_and(|it| it.contains("musl")));
        assert!(fixed.loader.is_none() && !fixed.holds_tunables);
    }

    #[test]
    fn a_program_of_go_is_known() {
        let name = "a_program_of_go_is_known";
        let go = Command::new("go").args(["env", "GOROOT"]).output();
        let root = go.map(|go| String::from_utf8_lossy(&go.stdout).trim().to_owned());
        let Ok(root) = root else {
            return skip(name, "needs go");
        };
        let go = read_executable(&Path::new(&root).join("bin/go")).expect("an ELF file");
        assert!(go.is_go && !go.holds_tunables, "{go:?}");
    }

    #[test]
    fn what_is_no_program_is_none() {
        assert_eq!(read_executable(Path::new("/etc/passwd")), None);
        assert_eq!(read_executable(Path::new("/nowhere")), None);
    }

    proptest! {
        #[test]
        fn no_bytes_panic(bytes: Vec<u8>) {
            let _ = parse_executable(&bytes);
            let _ = parse_executable(&[b"\x7fELF\x02\x01\x01\x00".as_slice(), &bytes].concat());
        }
    }
}
