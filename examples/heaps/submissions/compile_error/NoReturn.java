// A function that may end without returning a value. Compile error.
public class NoReturn {
    static int heap(int stones) {
        if (stones > 0)
            return stones;
    }

    public static void main(String[] arguments) {
        System.out.println(heap(1));
    }
}
