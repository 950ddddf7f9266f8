// Announces all stones and prints half of them. Wrong answer: the output ends too early. A
// validator must neither wait for more numbers nor treat the missing ones as 0.
package main

import "fmt"

func main() {
	var n int
	fmt.Scan(&n)
	fmt.Println(n)
	for stone := 1; stone < n; stone += 2 {
		fmt.Print(stone, " ")
	}
}
