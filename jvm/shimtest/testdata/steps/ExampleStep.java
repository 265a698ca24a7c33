package org.example;

import io.fabric8.kubernetes.api.model.ContainerBuilder;
import io.fabric8.kubernetes.api.model.HasMetadata;
import io.fabric8.kubernetes.api.model.PodBuilder;
import io.fabric8.kubernetes.api.model.SecretBuilder;
import java.util.List;
import org.apache.spark.deploy.k8s.KubernetesExecutorConf;
import org.apache.spark.deploy.k8s.SparkPod;
import org.apache.spark.deploy.k8s.features.KubernetesExecutorCustomFeatureConfigStep;
import scala.collection.immutable.Seq;
import scala.jdk.javaapi.CollectionConverters;

/** A user's own executor feature step: a label, a variable and a Secret. It fails for executor 2. */
public class ExampleStep implements KubernetesExecutorCustomFeatureConfigStep {
  private KubernetesExecutorConf conf;

  @Override
  public void init(KubernetesExecutorConf executorConf) {
    conf = executorConf;
  }

  @Override
  public SparkPod configurePod(SparkPod pod) {
    if (conf.executorId().equals("2")) {
      throw new IllegalStateException("the step has no pod for executor 2");
    }
    return new SparkPod(
        new PodBuilder(pod.pod()).editMetadata().addToLabels("example", "of-" + conf.executorId()).endMetadata().build(),
        new ContainerBuilder(pod.container()).addNewEnv().withName("EXAMPLE").withValue(conf.appId()).endEnv().build());
  }

  @Override
  public Seq<HasMetadata> getAdditionalKubernetesResources() {
    HasMetadata secret = new SecretBuilder().withNewMetadata().withName("example-" + conf.executorId()).endMetadata()
        .addToStringData("word", "example").build();
    return CollectionConverters.asScala(List.of(secret)).toSeq();
  }
}
