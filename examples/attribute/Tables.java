import java.util.ArrayList;

/** Two tables in one heap: one that is read at random, and one that is written once. */
public final class Tables {
    private static final int MIB = 1 << 20;

    private static long read(int[] table, int count) {
        long sum = 0;
        long at = 0;
        for (int i = 0; i < count; i++) {
            at = at * 6364136223846793005L + table[(int) ((at >>> 33) % table.length)] + 1442695040888963407L;
            sum += at >>> 60;
        }
        return sum;
    }

    public static void main(String[] arguments) {
        int count = arguments.length > 0 ? Integer.parseInt(arguments[0]) : 4_000_000;
        int[] random = new int[256 * MIB / 4];
        for (int i = 0; i < random.length; i++) {
            random[i] = i;
        }
        ArrayList<int[]> once = new ArrayList<>();
        for (int i = 0; i < 128; i++) {
            once.add(new int[MIB / 4]);
        }
        System.out.println(read(random, count) + " " + once.size());
    }
}
