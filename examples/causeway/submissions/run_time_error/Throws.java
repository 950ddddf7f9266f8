// Reads past the last number: an uncaught exception, exit status 1. Run-time error.
import java.util.Scanner;

public class Throws {
    public static void main(String[] arguments) {
        Scanner input = new Scanner(System.in);
        long sum = 0;
        while (true)
            sum += input.nextInt();
    }
}
