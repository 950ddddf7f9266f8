// Prints stones without end: the output limit, long before any other.
package main

import (
	"bytes"
	"os"
)

func main() {
	stones := bytes.Repeat([]byte("1 "), 32768)
	for {
		if _, err := os.Stdout.Write(stones); err != nil {
			return
		}
	}
}
