import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import org.apache.spark.SparkFiles;
import org.apache.spark.api.java.JavaSparkContext;
import org.apache.spark.sql.SparkSession;

/** Says whether a file that Spark distributes, or a file in an archive that it does, has reached an executor. */
public final class FileCheck {
  private FileCheck() {}

  public static void main(String[] args) throws Exception {
    String name = args[0];
    try (SparkSession spark = SparkSession.builder().getOrCreate()) {
      boolean there =
          new JavaSparkContext(spark.sparkContext())
              .parallelize(List.of(name), 1)
              .map(file -> Files.isRegularFile(Path.of(SparkFiles.get(file))))
              .first();
      System.out.println("Executors have " + name + ": " + there);
    }
  }
}
