// Declares a variable without using it, which Go rejects. Compile error.
package main

func main() {
	minutes := 60
}
