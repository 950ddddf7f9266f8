// The same algorithm as halve.cpp. fmt.Print does not buffer.
package main

import (
	"bufio"
	"fmt"
	"os"
)

func main() {
	input := bufio.NewReader(os.Stdin)
	var n, q int
	fmt.Fscan(input, &n, &q)
	first, last := 1, n
	for first < last {
		middle := (first + last + 1) / 2
		fmt.Println("?", middle)
		var answer string
		fmt.Fscan(input, &answer)
		if answer == "wet" {
			first = middle
		} else {
			last = middle - 1
		}
	}
	fmt.Println("!", first)
}
