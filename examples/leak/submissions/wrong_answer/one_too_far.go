// Rounds the middle in the wrong direction and answers with the section after the leak. Wrong
// answer.
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
		middle := (first + last) / 2
		fmt.Println("?", middle)
		var answer string
		fmt.Fscan(input, &answer)
		if answer == "wet" {
			first = middle + 1
		} else {
			last = middle
		}
	}
	fmt.Println("!", first)
}
