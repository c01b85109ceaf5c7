// Three tables in one heap: one that is read at random, one that is written once, and one of which
// a page in each 2 MiB is written.
package main

import (
	"fmt"
	"os"
	"strconv"
)

const mib = 1 << 20

// read follows numbers from one place of the table to another, so that no two reads overlap.
func read(table []uint32, count int) uint64 {
	sum, at := uint64(0), uint64(0)
	for i := 0; i < count; i++ {
		at = (at*6364136223846793005 + uint64(table[(at>>33)%uint64(len(table))]) + 1442695040888963407)
		sum += at >> 60
	}
	return sum
}

func main() {
	count := 4_000_000
	if len(os.Args) > 1 {
		count, _ = strconv.Atoi(os.Args[1])
	}
	random := make([]uint32, 256*mib/4)
	for i := range random {
		random[i] = uint32(i)
	}
	once := make([]uint32, 128*mib/4)
	for i := range once {
		once[i] = uint32(i)
	}
	sparse := make([]byte, 256*mib)
	for i := 0; i < len(sparse); i += 2 * mib {
		sparse[i] = 1
	}
	fmt.Println(read(random, count), len(once), len(sparse))
}
