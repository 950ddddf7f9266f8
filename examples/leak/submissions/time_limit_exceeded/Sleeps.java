// Sleeps for an hour without asking. Time limit, by real time.
public class Sleeps {
    public static void main(String[] arguments) throws InterruptedException {
        Thread.sleep(3600 * 1000);
    }
}
