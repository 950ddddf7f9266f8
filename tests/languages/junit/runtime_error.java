import org.junit.jupiter.api.Test;

public class MainTest {
    @Test
    void test() {
        throw new IllegalStateException("error");
    }
}
