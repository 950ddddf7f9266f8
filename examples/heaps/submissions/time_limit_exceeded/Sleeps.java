// Sleeps for an hour. It needs next to no CPU time: the limit on real time ends it.
public class Sleeps {
    public static void main(String[] arguments) throws InterruptedException {
        Thread.sleep(3600 * 1000);
    }
}
