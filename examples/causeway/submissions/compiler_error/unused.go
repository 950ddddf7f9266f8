// Go takes no variable that nobody uses. Compile error.
package main

func main() {
	minutes := 60
}
