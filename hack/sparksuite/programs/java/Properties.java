import java.lang.management.ManagementFactory;
import java.util.TreeSet;
import org.apache.spark.sql.SparkSession;

/** Prints the driver's system properties and its garbage collectors. */
public final class Properties {
  private Properties() {}

  public static void main(String[] args) throws Exception {
    try (SparkSession spark = SparkSession.builder().getOrCreate()) {
      for (String name : new TreeSet<>(System.getProperties().stringPropertyNames())) {
        System.out.println("property " + name + " is " + System.getProperty(name));
      }
      boolean g1 =
          ManagementFactory.getGarbageCollectorMXBeans().stream().anyMatch(collector -> collector.getName().startsWith("G1"));
      System.out.println("G1 collects the driver's garbage: " + g1);
    }
  }
}
