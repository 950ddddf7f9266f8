package main

import "testing"

func TestMissing(t *testing.T) {
	missing()
}
