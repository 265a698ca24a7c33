import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;
import org.apache.spark.api.java.JavaSparkContext;
import org.apache.spark.sql.SparkSession;

/** Counts the words of a local file, writes its lines to a folder by Spark, reads them back and counts again. */
public final class ReadWrite {
  private ReadWrite() {}

  public static void main(String[] args) throws Exception {
    Path file = Path.of(args[0]);
    String folder = args[1] + "/read-write-" + System.nanoTime();
    List<String> lines = Files.readAllLines(file);
    long local = words(lines);
    try (SparkSession spark = SparkSession.builder().getOrCreate()) {
      JavaSparkContext context = new JavaSparkContext(spark.sparkContext());
      context.parallelize(lines).saveAsTextFile(folder);
      long read = words(context.textFile(folder).collect());
      System.out.println("Words written and read: " + local + " and " + read + ", equal: " + (local == read));
    }
  }

  private static long words(List<String> lines) {
    return lines.stream().flatMap(line -> Arrays.stream(line.split("\\s+"))).filter(word -> !word.isEmpty()).count();
  }
}
