import java.io.DataInputStream;
import java.io.DataOutputStream;
import java.io.EOFException;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;
import org.apache.spark.SparkConf;
import org.apache.spark.api.java.JavaRDD;
import org.apache.spark.api.java.JavaSparkContext;
import org.apache.spark.resource.ExecutorResourceRequests;
import org.apache.spark.resource.ResourceProfile;
import org.apache.spark.resource.ResourceProfileBuilder;
import org.apache.spark.resource.TaskResourceRequests;

/**
 * Runs stock Spark for the recorder, many cases in one JVM. A request is a list of texts on standard input: "submit" and
 * spark-submit's arguments; "driver" and the driver's properties in pairs (those that begin with "profile." describe a
 * resource profile of which one executor is asked for); "stop" ends that driver. An answer is "ok", after "driver" with
 * the driver's properties in pairs, or "error" and a text.
 */
public final class Stock {
  private static JavaSparkContext context;

  public static void main(String[] args) throws IOException {
    DataInputStream in = new DataInputStream(System.in);
    DataOutputStream out = new DataOutputStream(System.out);
    System.setOut(System.err);
    while (true) {
      List<String> request;
      try {
        request = read(in);
      } catch (EOFException e) {
        System.exit(0);
        return;
      }
      write(out, answer(request));
    }
  }

  private static List<String> answer(List<String> request) {
    List<String> rest = request.subList(1, request.size());
    try {
      switch (request.get(0)) {
        case "submit":
          new org.apache.spark.deploy.SparkSubmit().doSubmit(rest.toArray(new String[0]));
          return List.of("ok");
        case "driver":
          return drive(rest);
        default:
          if (context != null) {
            context.stop();
            context = null;
          }
          return List.of("ok");
      }
    } catch (Throwable e) {
      StringBuilder text = new StringBuilder(e.getClass().getName() + ": " + e.getMessage());
      for (Throwable cause = e.getCause(); cause != null; cause = cause.getCause()) {
        text.append("\ncaused by ").append(cause.getClass().getName()).append(": ").append(cause.getMessage());
      }
      return List.of("error", text.toString());
    }
  }

  private static List<String> drive(List<String> pairs) {
    SparkConf conf = new SparkConf(false);
    List<String> profile = new ArrayList<>();
    for (int i = 0; i < pairs.size(); i += 2) {
      if (pairs.get(i).startsWith("profile.")) {
        profile.add(pairs.get(i).substring("profile.".length()) + "=" + pairs.get(i + 1));
      } else {
        conf.set(pairs.get(i), pairs.get(i + 1));
      }
    }
    context = new JavaSparkContext(conf);
    if (!profile.isEmpty()) {
      work(profile(profile));
    }
    List<String> answer = new ArrayList<>(List.of("ok"));
    for (scala.Tuple2<String, String> e : context.sc().getConf().getAll()) {
      answer.add(e._1());
      answer.add(e._2());
    }
    return answer;
  }

  private static ResourceProfile profile(List<String> parts) {
    ExecutorResourceRequests r = new ExecutorResourceRequests();
    for (String part : parts) {
      String[] kv = part.split("=", 2);
      switch (kv[0]) {
        case "cores": r.cores(Integer.parseInt(kv[1])); break;
        case "memory": r.memory(kv[1]); break;
        case "memoryOverhead": r.memoryOverhead(kv[1]); break;
        case "offHeap": r.offHeapMemory(kv[1]); break;
        case "pyspark.memory": r.pysparkMemory(kv[1]); break;
        default:
          String[] amountVendor = kv[1].split(":", 2);
          r.resource(kv[0], Long.parseLong(amountVendor[0]), "", amountVendor[1]);
      }
    }
    return new ResourceProfileBuilder().require(r).require(new TaskResourceRequests().cpus(1)).build();
  }

  /** Starts a job that waits for an executor of the profile until the driver is stopped. */
  private static void work(ResourceProfile profile) {
    JavaRDD<Integer> rdd = context.parallelize(Collections.singletonList(1), 1);
    Thread job = new Thread(() -> {
      try {
        rdd.withResources(profile).count();
      } catch (Throwable stopped) {
        System.err.println("the job ended with its driver: " + stopped.getMessage());
      }
    });
    job.setDaemon(true);
    job.start();
  }

  private static List<String> read(DataInputStream in) throws IOException {
    String[] texts = new String[in.readInt()];
    for (int i = 0; i < texts.length; i++) {
      texts[i] = new String(in.readNBytes(in.readInt()), StandardCharsets.UTF_8);
    }
    return Arrays.asList(texts);
  }

  private static void write(DataOutputStream out, List<String> texts) throws IOException {
    out.writeInt(texts.size());
    for (String t : texts) {
      byte[] bytes = t.getBytes(StandardCharsets.UTF_8);
      out.writeInt(bytes.length);
      out.write(bytes);
    }
    out.flush();
  }
}
