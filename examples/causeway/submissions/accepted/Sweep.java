// The same algorithm as sweep.cpp.
import java.io.*;
import java.util.*;

public class Sweep {
    static final int HIGHEST = 10000;

    static StreamTokenizer input = new StreamTokenizer(new BufferedInputStream(System.in));

    static int next() throws IOException {
        input.nextToken();
        return (int) input.nval;
    }

    public static void main(String[] arguments) throws IOException {
        int n = next(), m = next(), before = 0;
        double[] change = new double[HIGHEST + 2], level = new double[HIGHEST + 2];
        for (int i = 0; i < n; i++) {
            int height = next();
            int low = Math.min(before, height), high = Math.max(before, height);
            if (i > 0 && low == high)
                level[low] += 1;
            if (i > 0 && low != high) {
                change[low] += 1.0 / (high - low);
                change[high] -= 1.0 / (high - low);
            }
            before = height;
        }
        double[] minutes = new double[HIGHEST + 1];
        double sum = level[0], slope = change[0];
        for (int height = 0; height <= HIGHEST; height++) {
            minutes[height] = sum;
            sum += slope + level[height + 1];
            slope += change[height + 1];
        }
        StringBuilder output = new StringBuilder();
        for (int i = 0; i < m; i++)
            output.append(minutes[next()]).append('\n');
        System.out.print(output);
    }
}
