// A text is no number. Compile error.
public class WrongType {
    public static void main(String[] arguments) {
        int minutes = "60";
        System.out.println(minutes);
    }
}
