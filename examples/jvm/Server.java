import com.sun.net.httpserver.HttpServer;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.util.concurrent.Executors;
import java.util.concurrent.ThreadLocalRandom;

/**
 * A server whose heap is mostly live: so many MiB of records of 1 KiB. A request reads some of
 * them at random, replaces one, and answers with their sum.
 *
 * <p>Arguments: the port, and the MiB.
 */
public final class Server {
    private static final int WORDS = 128;
    private static final int READ = 2000;

    private Server() {}

    public static void main(String[] arguments) throws Exception {
        int port = Integer.parseInt(arguments[0]);
        long[][] records = new long[Integer.parseInt(arguments[1]) * 1024][];
        for (int index = 0; index < records.length; index++) {
            records[index] = record(index);
        }
        var here = new InetSocketAddress(InetAddress.getLoopbackAddress(), port);
        var server = HttpServer.create(here, 64);
        server.setExecutor(Executors.newFixedThreadPool(4));
        server.createContext("/", exchange -> {
            byte[] answer = (sum(records) + "\n").getBytes();
            exchange.sendResponseHeaders(200, answer.length);
            exchange.getResponseBody().write(answer);
            exchange.close();
        });
        server.start();
    }

    private static long sum(long[][] records) {
        var random = ThreadLocalRandom.current();
        long sum = 0;
        for (int nth = 0; nth < READ; nth++) {
            sum += records[random.nextInt(records.length)][random.nextInt(WORDS)];
        }
        int replaced = random.nextInt(records.length);
        records[replaced] = record(replaced);
        return sum;
    }

    private static long[] record(int index) {
        long[] record = new long[WORDS];
        java.util.Arrays.fill(record, index);
        return record;
    }
}
