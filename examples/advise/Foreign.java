import java.lang.foreign.Arena;
import java.lang.foreign.ValueLayout;

/** A segment of 1 GiB outside of the heap, read in scattered order. */
final class Foreign {
    public static void main(String[] words) {
        try (var arena = Arena.ofConfined()) {
            var segment = arena.allocate(1L << 30, 8);
            long state = 1, sum = 0;
            for (int nth = 0; nth < 30_000_000; nth++) {
                state = state * 6364136223846793005L + 1442695040888963407L;
                long index = state >>> 37;
                sum += segment.getAtIndex(ValueLayout.JAVA_LONG, index);
                segment.setAtIndex(ValueLayout.JAVA_LONG, index, nth);
            }
            System.out.println(sum);
        }
    }
}
