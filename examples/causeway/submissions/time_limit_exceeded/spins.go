// Spins without end. The CPU time limit ends it.
package main

func main() {
	for {
	}
}
