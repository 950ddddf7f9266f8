// Asks as often as it may, knows the leak and does not print it. It reads on instead. Time limit,
// by real time.
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
	for ; q > 0; q-- {
		fmt.Println("?", 1)
		var answer string
		fmt.Fscan(input, &answer)
	}
	var more string
	fmt.Fscan(input, &more)
}
