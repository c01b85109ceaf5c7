//! The owner of anonymous memory, inferred from the shape of its mapping. A fix depends on the owner.

use crate::address_space::{Mapping, MappingKind, Space};

/// The owner of a mapping.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Owner {
    /// The main heap of malloc, which grows by brk(2).
    Heap,
    /// The heap of a thread, for which glibc reserves space to grow.
    Arena,
    /// Memory next to parts that the program made inaccessible (`PROT_NONE`).
    Guarded,
    /// The program itself: malloc does not use such sizes.
    Program,
    /// Malloc or the program.
    Unknown,
}

/// The size and alignment of the heap of a thread (`HEAP_MAX_SIZE`, malloc/arena.c).
const ARENA_BYTES: u64 = 64 << 20;
/// Malloc adds a header to each request, so its mappings are rarely a multiple of this.
const ROUND_BYTES: u64 = 64 << 10;

impl Owner {
    /// Returns the owner of a mapping.
    pub(super) fn of(space: &Space, mapping: &Mapping) -> Self {
        if mapping.kind == MappingKind::Heap {
            return Self::Heap;
        }
        let closed = |one: &&Mapping| !one.permissions.any() && one.kind == MappingKind::Anonymous;
        let mut neighbours = space.mappings.iter().filter(closed);
        let touches = |one: &Mapping| one.end == mapping.start || one.start == mapping.end;
        let is_room = |one: &Mapping| {
            let starts = mapping.start.is_multiple_of(ARENA_BYTES) && one.start == mapping.end;
            starts && one.end == mapping.start + ARENA_BYTES
        };
        match neighbours.find(|one| touches(one)) {
            Some(one) if is_room(one) => Self::Arena,
            Some(_) => Self::Guarded,
            None if mapping.bytes().is_multiple_of(ROUND_BYTES) => Self::Program,
            None => Self::Unknown,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::address_space::Permissions;
    use crate::address_space::test_space::{mapping, space};

    const MIB: u64 = 1 << 20;

    fn closed(start: u64, end: u64) -> Mapping {
        Mapping {
            permissions: Permissions(*b"---p"),
            ..mapping(start, end, Vec::new())
        }
    }

    #[test]
    fn the_shape_of_a_mapping_tells_its_owner() {
        let base = 1 << 40;
        let open = |bytes: u64| mapping(base, base + bytes, Vec::new());
        let owner = |one: Mapping, other: Option<Mapping>| {
            let all = std::iter::once(one.clone()).chain(other).collect();
            Owner::of(&space(all), &one)
        };
        let heap = Mapping {
            kind: MappingKind::Heap,
            ..open(20 * MIB)
        };
        assert_eq!(owner(heap, None), Owner::Heap);
        assert_eq!(owner(open(20 * MIB), None), Owner::Program);
        assert_eq!(owner(open(20 * MIB + 4096), None), Owner::Unknown);
        let room = closed(base + MIB, base + 64 * MIB);
        assert_eq!(owner(open(MIB), Some(room)), Owner::Arena);
        let guard = closed(base + MIB, base + MIB + 4096);
        assert_eq!(owner(open(MIB), Some(guard)), Owner::Guarded);
    }
}
