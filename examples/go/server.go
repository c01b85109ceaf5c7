// A server whose heap is mostly live: so many MiB of records of 1 KiB, reached by pointers. A
// request reads some of them at random, replaces a few, and answers with their sum.
//
// Arguments: the address to listen at, and the MiB.
package main

import (
	"fmt"
	"log"
	"math/rand"
	"net/http"
	"os"
	"strconv"
	"sync/atomic"
)

const (
	words    = 128
	read     = 2000
	replaced = 20
)

type record [words]uint64

func newRecord(value uint64) *record {
	made := new(record)
	for index := range made {
		made[index] = value
	}
	return made
}

func main() {
	mebibytes, err := strconv.Atoi(os.Args[2])
	if err != nil {
		log.Fatal(err)
	}
	records := make([]atomic.Pointer[record], mebibytes*1024)
	for index := range records {
		records[index].Store(newRecord(uint64(index)))
	}
	http.HandleFunc("/", func(answer http.ResponseWriter, _ *http.Request) {
		var sum uint64
		for nth := 0; nth < read; nth++ {
			sum += records[rand.Intn(len(records))].Load()[rand.Intn(words)]
		}
		for nth := 0; nth < replaced; nth++ {
			index := rand.Intn(len(records))
			records[index].Store(newRecord(uint64(index)))
		}
		fmt.Fprintln(answer, sum)
	})
	log.Fatal(http.ListenAndServe(os.Args[1], nil))
}
