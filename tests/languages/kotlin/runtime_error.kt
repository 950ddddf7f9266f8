fun main() {
    throw Exception("error")
}
