// Allocates memory endlessly. The virtual machine notices first: OutOfMemoryError, exit status 1.
// Run-time error.
import java.util.ArrayList;

public class EatsMemory {
    public static void main(String[] arguments) {
        ArrayList<byte[]> all = new ArrayList<>();
        while (true)
            all.add(new byte[16 << 20]);
    }
}
