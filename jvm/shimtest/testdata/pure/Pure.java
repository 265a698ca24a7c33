import java.util.ServiceLoader;
import org.apache.spark.kubespark.Settings$;
import org.apache.spark.scheduler.ExternalClusterManager;
import org.apache.spark.scheduler.cluster.k8s.KubernetesClusterManager;

/** Prints what needs no SparkContext: which master URLs are ours, how many managers there are, name prefixes. */
public class Pure {
  public static void main(String[] args) {
    for (String url : new String[] {"k8s://h", "k8s://https://h:6443", "K8S://h", "k8s:h", "yarn", null}) {
      System.out.println(url + " " + new KubernetesClusterManager().canCreate(url));
    }
    int managers = 0;
    for (ExternalClusterManager manager : ServiceLoader.load(ExternalClusterManager.class)) {
      if (manager.canCreate("k8s://h")) {
        managers++;
        System.out.println("manager from " + manager.getClass().getProtectionDomain().getCodeSource().getLocation());
      }
    }
    System.out.println("managers " + managers);
    for (String name : new String[] {"Spark Pi", "1min", "-min", "--1a", "ä_b", "...", "x".repeat(300)}) {
      System.out.println("prefix " + Settings$.MODULE$.prefix(name));
    }
  }
}
