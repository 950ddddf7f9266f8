// Parses the reply as a number: an uncaught exception, exit status 1. Run-time error.
import java.util.Scanner;

public class Throws {
    public static void main(String[] arguments) {
        Scanner input = new Scanner(System.in);
        int n = input.nextInt(), q = input.nextInt();
        System.out.println("? " + n);
        System.out.println("! " + input.nextInt());
    }
}
