// Assigns a string to an int. Compile error.
public class WrongType {
    public static void main(String[] arguments) {
        int minutes = "60";
        System.out.println(minutes);
    }
}
