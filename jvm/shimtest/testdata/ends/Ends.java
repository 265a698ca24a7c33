package org.example;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import org.apache.spark.SparkConf;
import org.apache.spark.SparkContext;

/** Makes a file and ends its driver without stopping its SparkContext: by returning, by an exception, by System.exit(3), or never. */
public class Ends {
  public static void main(String[] args) throws InterruptedException, IOException {
    new SparkContext(new SparkConf().setAppName("ends"));
    Files.writeString(Path.of(args[1]), args[0]);
    switch (args[0]) {
      case "returns" -> { }
      case "throws" -> throw new IllegalStateException("the application's own");
      case "exits" -> System.exit(3);
      default -> Thread.sleep(120_000);
    }
  }
}
