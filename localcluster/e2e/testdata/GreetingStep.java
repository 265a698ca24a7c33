import io.fabric8.kubernetes.api.model.ConfigMapBuilder;
import io.fabric8.kubernetes.api.model.ContainerBuilder;
import io.fabric8.kubernetes.api.model.HasMetadata;
import io.fabric8.kubernetes.api.model.PodBuilder;
import java.util.List;
import org.apache.spark.deploy.k8s.KubernetesExecutorConf;
import org.apache.spark.deploy.k8s.SparkPod;
import org.apache.spark.deploy.k8s.features.KubernetesExecutorCustomFeatureConfigStep;
import scala.collection.immutable.Seq;
import scala.jdk.javaapi.CollectionConverters;

/** A user's own executor feature step: a label, a variable, and a ConfigMap beside the pod. */
public class GreetingStep implements KubernetesExecutorCustomFeatureConfigStep {
  private KubernetesExecutorConf conf;

  @Override
  public void init(KubernetesExecutorConf executorConf) {
    conf = executorConf;
  }

  @Override
  public SparkPod configurePod(SparkPod pod) {
    return new SparkPod(
        new PodBuilder(pod.pod()).editMetadata().addToLabels("greeting", "hello-" + conf.executorId()).endMetadata().build(),
        new ContainerBuilder(pod.container()).addNewEnv().withName("GREETING").withValue("hello-" + conf.executorId()).endEnv().build());
  }

  @Override
  public Seq<HasMetadata> getAdditionalKubernetesResources() {
    HasMetadata greeting = new ConfigMapBuilder().withNewMetadata().withName("greeting-" + conf.executorId()).endMetadata()
        .addToData("greeting", "hello").build();
    return CollectionConverters.asScala(List.of(greeting)).toSeq();
  }
}
