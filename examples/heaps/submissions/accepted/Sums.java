// The same algorithm as sums.cpp.
import java.util.*;

public class Sums {
    public static void main(String[] arguments) {
        Scanner input = new Scanner(System.in);
        int n = input.nextInt(), all = 0;
        int[] weights = new int[n];
        for (int i = 0; i < n; i++)
            all += weights[i] = input.nextInt();
        // Stones are numbered from 1, so 0 means "no stone".
        int[] last = new int[all + 1];
        for (int i = 0; i < n; i++)
            for (int sum = all; sum >= weights[i]; sum--)
                if (last[sum] == 0 && (sum == weights[i] || last[sum - weights[i]] > 0))
                    last[sum] = i + 1;
        int sum = all / 2;
        while (sum > 0 && last[sum] == 0)
            sum--;
        List<String> heap = new ArrayList<>();
        for (; sum > 0; sum -= weights[last[sum] - 1])
            heap.add(String.valueOf(last[sum]));
        System.out.println(heap.size());
        System.out.println(String.join(" ", heap));
    }
}
