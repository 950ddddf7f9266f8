while 1 {
}
