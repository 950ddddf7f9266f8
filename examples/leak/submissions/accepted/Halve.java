// The same algorithm as halve.cpp.
import java.io.*;

public class Halve {
    public static void main(String[] arguments) throws IOException {
        BufferedReader input = new BufferedReader(new InputStreamReader(System.in));
        int first = 1, last = Integer.parseInt(input.readLine().split(" ")[0]);
        while (first < last) {
            int middle = (first + last + 1) / 2;
            System.out.println("? " + middle);
            if (input.readLine().equals("wet"))
                first = middle;
            else
                last = middle - 1;
        }
        System.out.println("! " + first);
    }
}
