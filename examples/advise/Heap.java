import java.util.ArrayList;

/** A heap of 250 MiB in arrays of 64 KiB, read in scattered order. */
final class Heap {
    public static void main(String[] words) {
        var arrays = new ArrayList<long[]>();
        for (int nth = 0; nth < 4000; nth++) arrays.add(new long[8192]);
        long state = 1, sum = 0;
        for (int nth = 0; nth < 6_000_000; nth++) {
            state = state * 6364136223846793005L + 1442695040888963407L;
            int array = (int) ((state >>> 33) % arrays.size());
            sum += arrays.get(array)[(int) (state >>> 20) & 8191]++;
        }
        System.out.println(sum);
    }
}
