package main

import "testing"

func TestError(t *testing.T) {
	t.Fatal("error")
}
