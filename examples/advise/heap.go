// A small heap that is made anew again and again.
package main

import "fmt"

type node struct{ left, right *node }

func tree(depth int) *node {
	if depth == 0 {
		return &node{}
	}
	return &node{tree(depth - 1), tree(depth - 1)}
}

func (n *node) count() int {
	if n.left == nil {
		return 1
	}
	return 1 + n.left.count() + n.right.count()
}

func main() {
	kept := tree(18)
	sum := 0
	for i := 0; i < 40; i++ {
		sum += tree(14).count()
	}
	fmt.Println(sum + kept.count())
}
