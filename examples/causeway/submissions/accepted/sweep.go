// The same algorithm as sweep.cpp.
package main

import (
	"bufio"
	"fmt"
	"os"
)

const highest = 10000

func main() {
	input := bufio.NewReader(os.Stdin)
	output := bufio.NewWriter(os.Stdout)
	defer output.Flush()
	var n, m, before int
	fmt.Fscan(input, &n, &m)
	var change, level [highest + 2]float64
	for i := 0; i < n; i++ {
		var height int
		fmt.Fscan(input, &height)
		low, high := before, height
		if low > high {
			low, high = high, low
		}
		if i > 0 && low == high {
			level[low]++
		} else if i > 0 {
			change[low] += 1 / float64(high-low)
			change[high] -= 1 / float64(high-low)
		}
		before = height
	}
	var minutes [highest + 1]float64
	sum, slope := level[0], change[0]
	for height := range minutes {
		minutes[height] = sum
		sum += slope + level[height+1]
		slope += change[height+1]
	}
	for ; m > 0; m-- {
		var height int
		fmt.Fscan(input, &height)
		fmt.Fprintln(output, minutes[height])
	}
}
