public class Main {
    public static void main(String[] arguments) {
        throw new IllegalStateException("error");
    }
}
