// A heap of 1.4 GiB that is read in scattered order while a part of it is made anew.
package main

import "fmt"

type record struct {
	key  uint64
	text []byte
}

func filled(key uint64) *record {
	text := make([]byte, 64+key%192)
	for nth := range text {
		text[nth] = byte(key)
	}
	return &record{key, text}
}

func main() {
	state := uint64(1)
	next := func() uint64 {
		state ^= state << 13
		state ^= state >> 7
		state ^= state << 17
		return state
	}
	live := make([]*record, 6_000_000)
	for nth := range live {
		live[nth] = filled(next())
	}
	sum := uint64(0)
	for nth := 0; nth < 8_000_000; nth++ {
		one := &live[next()%uint64(len(live))]
		sum += (*one).key + uint64((*one).text[0])
		if nth%8 == 0 {
			*one = filled(next())
		}
	}
	fmt.Println(sum)
}
