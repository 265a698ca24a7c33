import java.util.concurrent.ThreadLocalRandom;
import java.util.stream.IntStream;
import org.apache.spark.api.java.JavaSparkContext;
import org.apache.spark.sql.SparkSession;

/** Estimates pi with random points; the argument is the number of tasks, 2 without one. */
public final class Pi {
  private static final int POINTS = 100_000;

  private Pi() {}

  public static void main(String[] args) throws Exception {
    int tasks = args.length > 0 ? Integer.parseInt(args[0]) : 2;
    try (SparkSession spark = SparkSession.builder().getOrCreate()) {
      long inside =
          new JavaSparkContext(spark.sparkContext())
              .parallelize(IntStream.range(0, tasks).boxed().toList(), tasks)
              .map(task -> hits())
              .reduce(Long::sum);
      System.out.println("Pi is roughly " + 4.0 * inside / ((long) tasks * POINTS));
    }
  }

  private static long hits() {
    ThreadLocalRandom random = ThreadLocalRandom.current();
    long count = 0;
    for (int i = 0; i < POINTS; i++) {
      double x = random.nextDouble();
      double y = random.nextDouble();
      if (x * x + y * y <= 1) {
        count++;
      }
    }
    return count;
  }
}
