// Prints stones endlessly. It reaches the output limit long before any other limit.
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
