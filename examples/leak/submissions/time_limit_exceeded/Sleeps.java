// Sleeps for an hour without asking. The real-time limit ends it.
public class Sleeps {
    public static void main(String[] arguments) throws InterruptedException {
        Thread.sleep(3600 * 1000);
    }
}
