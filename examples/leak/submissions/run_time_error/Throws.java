// Takes the answer for a number: an exception that nobody catches, exit status 1. Run-time error.
import java.util.Scanner;

public class Throws {
    public static void main(String[] arguments) {
        Scanner input = new Scanner(System.in);
        int n = input.nextInt(), q = input.nextInt();
        System.out.println("? " + n);
        System.out.println("! " + input.nextInt());
    }
}
