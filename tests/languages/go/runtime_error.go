package main

func main() {
	panic("error")
}
