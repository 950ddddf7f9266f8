import org.junit.jupiter.api.Test;

public class MainTest {
    @Test
    void test() {
        java.util.List<byte[]> blocks = new java.util.ArrayList<>();
        while (true)
            blocks.add(new byte[1 << 20]);
    }
}
