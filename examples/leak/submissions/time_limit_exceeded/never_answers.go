// Asks as often as it may and knows the leak, but keeps reading instead of printing it. The
// real-time limit ends it.
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
