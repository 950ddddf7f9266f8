// Runs in a circle: the limit on CPU time ends it.
package main

func main() {
	for {
	}
}
