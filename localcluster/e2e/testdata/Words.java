import java.util.Arrays;
import java.util.Map;
import java.util.TreeMap;
import org.apache.spark.api.java.JavaSparkContext;
import org.apache.spark.sql.SparkSession;
import scala.Tuple2;

/** Counts the words of its arguments. */
public final class Words {
  private Words() {}

  public static void main(String[] args) throws Exception {
    try (SparkSession spark = SparkSession.builder().getOrCreate()) {
      Map<String, Integer> counts =
          new JavaSparkContext(spark.sparkContext())
              .parallelize(Arrays.asList(args), 4)
              .mapToPair(word -> new Tuple2<>(word, 1))
              .reduceByKey(Integer::sum)
              .collectAsMap();
      System.out.println("words " + new TreeMap<>(counts));
    }
  }
}
