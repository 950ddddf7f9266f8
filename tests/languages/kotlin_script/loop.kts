while (true) {
}
