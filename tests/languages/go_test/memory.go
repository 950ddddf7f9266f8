package main

import "testing"

func TestMemory(t *testing.T) {
	var blocks [][]byte
	for {
		block := make([]byte, 1<<20)
		for index := range block {
			block[index] = 1
		}
		blocks = append(blocks, block)
	}
}
