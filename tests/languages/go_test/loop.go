package main

import "testing"

func TestLoop(t *testing.T) {
	for {
	}
}
