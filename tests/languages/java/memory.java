import java.util.ArrayList;

public class Main {
    public static void main(String[] arguments) {
        ArrayList<byte[]> blocks = new ArrayList<>();
        while (true)
            blocks.add(new byte[1 << 20]);
    }
}
