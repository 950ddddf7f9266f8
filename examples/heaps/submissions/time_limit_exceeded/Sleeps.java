// Sleeps for an hour and uses almost no CPU time. The real-time limit ends it.
public class Sleeps {
    public static void main(String[] arguments) throws InterruptedException {
        Thread.sleep(3600 * 1000);
    }
}
