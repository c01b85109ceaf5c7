import java.nio.file.Path;
import java.util.Random;
import org.apache.lucene.document.Document;
import org.apache.lucene.document.Field;
import org.apache.lucene.document.StringField;
import org.apache.lucene.document.TextField;
import org.apache.lucene.index.DirectoryReader;
import org.apache.lucene.index.IndexWriter;
import org.apache.lucene.index.IndexWriterConfig;
import org.apache.lucene.index.Term;
import org.apache.lucene.search.IndexSearcher;
import org.apache.lucene.search.TermQuery;
import org.apache.lucene.store.MMapDirectory;

/** Indexes documents with Lucene, as Elasticsearch does, and looks some of them up by their key. */
final class Search {
    private static final int DOCUMENTS = 60_000;

    public static void main(String[] words) throws Exception {
        var random = new Random(1);
        var config = new IndexWriterConfig().setRAMBufferSizeMB(256).setUseCompoundFile(false);
        config.setOpenMode(IndexWriterConfig.OpenMode.CREATE);
        try (var directory = new MMapDirectory(Path.of(words[0])); var writer = new IndexWriter(directory, config)) {
            long begin = System.nanoTime();
            for (int nth = 0; nth < DOCUMENTS; nth++) writer.addDocument(document(nth, random));
            writer.commit();
            System.out.println("indexed " + DOCUMENTS * 1e9 / (System.nanoTime() - begin));
            try (var reader = DirectoryReader.open(writer)) {
                System.out.println("found " + found(new IndexSearcher(reader), random));
            }
        }
    }

    private static Document document(int nth, Random random) {
        var text = new StringBuilder();
        for (int word = 0; word < 30; word++) {
            text.append(Integer.toString((int) Math.abs(random.nextGaussian() * 20_000), 36)).append(' ');
        }
        var document = new Document();
        document.add(new StringField("key", "key-" + nth, Field.Store.YES));
        document.add(new TextField("text", text.toString(), Field.Store.NO));
        return document;
    }

    private static int found(IndexSearcher searcher, Random random) throws Exception {
        int sum = 0;
        for (int nth = 0; nth < 50_000; nth++) {
            var key = new TermQuery(new Term("key", "key-" + random.nextInt(DOCUMENTS)));
            sum += searcher.search(key, 1).scoreDocs.length;
        }
        return sum;
    }
}
