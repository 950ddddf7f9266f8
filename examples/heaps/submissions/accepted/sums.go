// The same algorithm as sums.cpp.
package main

import "fmt"

func main() {
	var n, all int
	fmt.Scan(&n)
	weights := make([]int, n)
	for i := range weights {
		fmt.Scan(&weights[i])
		all += weights[i]
	}
	// Stones are numbered from 1, so 0 means "no stone".
	last := make([]int, all+1)
	for i, weight := range weights {
		for sum := all; sum >= weight; sum-- {
			if last[sum] == 0 && (sum == weight || last[sum-weight] > 0) {
				last[sum] = i + 1
			}
		}
	}
	sum := all / 2
	for sum > 0 && last[sum] == 0 {
		sum--
	}
	var heap []int
	for ; sum > 0; sum -= weights[last[sum]-1] {
		heap = append(heap, last[sum])
	}
	fmt.Println(len(heap))
	for _, stone := range heap {
		fmt.Print(stone, " ")
	}
	fmt.Println()
}
