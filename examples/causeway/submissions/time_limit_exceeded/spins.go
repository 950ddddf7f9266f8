// Spins endlessly. The CPU time limit ends it.
package main

func main() {
	for {
	}
}
