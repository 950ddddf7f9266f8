// Writes to a nil map: a panic, exit status 2. Run-time error.
package main

func main() {
	var minutes map[int]float64
	minutes[0] = 1
}
