package org.apache.spark.kubespark

import java.util.concurrent.{CompletableFuture, CompletionStage, Executors}

import com.fasterxml.jackson.databind.JsonNode
import io.fabric8.kubernetes.api.model.{Container, Pod, PodBuilder}

import org.apache.spark.{SparkConf, SparkException}
import org.apache.spark.deploy.k8s.{KubernetesConf, KubernetesExecutorConf, SparkPod}
import org.apache.spark.deploy.k8s.Config.KUBERNETES_EXECUTOR_POD_FEATURE_STEPS
import org.apache.spark.deploy.k8s.features.{KubernetesExecutorCustomFeatureConfigStep, KubernetesFeatureConfigStep}
import org.apache.spark.util.Utils

/**
 * The user's own executor feature steps. The manager builds the pod and asks for them last; they are JVM classes and work on
 * the Kubernetes client's model, so only they run here. One thread runs them, so that a slow step holds up nothing else.
 */
private[spark] final class UserSteps(conf: SparkConf, settings: Settings) {

  /** The thread takes the class loader of its maker, which knows the application's jars. */
  private lazy val thread = Executors.newSingleThreadExecutor((r: Runnable) => Threads.daemon("kubespark-feature-steps", r))

  /** Answers `pod.build`. */
  def build(params: JsonNode): CompletionStage[JsonNode] =
    CompletableFuture.supplyAsync[JsonNode](() => run(params), thread)

  private def run(params: JsonNode): JsonNode = {
    val executor = KubernetesConf.createExecutorConf(conf, params.path("id").asText(), settings.appId,
      driverPod(params), params.path("profile").asInt())
    val steps = UserSteps.texts(params.path("steps")).map(UserSteps.make(_, Some(executor)))
    val before = SparkPod(Json.mapper.treeToValue(params.get("pod"), classOf[Pod]),
      Json.mapper.treeToValue(params.get("container"), classOf[Container]))
    val after = steps.foldLeft(before)((pod, step) => step.configurePod(pod))
    val answer = Json.obj()
    answer.set[JsonNode]("pod", Json.mapper.valueToTree[JsonNode](after.pod))
    answer.set[JsonNode]("container", Json.mapper.valueToTree[JsonNode](after.container))
    val objects = answer.putArray("objects")
    steps.flatMap(_.getAdditionalKubernetesResources()).foreach(made => objects.add(Json.mapper.valueToTree[JsonNode](made)))
    answer
  }

  /** As much of the driver pod as the manager has. */
  private def driverPod(params: JsonNode): Option[Pod] =
    Some(params.path("driverPodName").asText()).filter(_.nonEmpty).map { name =>
      new PodBuilder().withNewMetadata().withName(name).withNamespace(settings.namespace)
        .withUid(params.path("driverPodUid").asText()).endMetadata().build()
    }
}

private[spark] object UserSteps {
  private val Excluded = "spark.kubernetes.executor.pod.excludedFeatureSteps"

  /** Refuses classes that are missing or no feature steps, before anything is written. */
  def verify(conf: SparkConf): Unit = {
    val excluded = conf.get(Excluded, "").split(",").map(_.trim).toSet
    conf.get(KUBERNETES_EXECUTOR_POD_FEATURE_STEPS).filterNot(excluded).foreach(make(_, None))
  }

  private def make(name: String, executor: Option[KubernetesExecutorConf]): KubernetesFeatureConfigStep =
    instance(name) match {
      case custom: KubernetesExecutorCustomFeatureConfigStep =>
        executor.foreach(custom.init)
        custom
      case step: KubernetesFeatureConfigStep => step
      case _ => throw refused(name, None)
    }

  private def instance(name: String): Any =
    try Utils.classForName[Any](name).getConstructor().newInstance() catch {
      case e: ReflectiveOperationException => throw refused(name, Some(e))
    }

  private def refused(name: String, cause: Option[Throwable]): SparkException =
    new SparkException(s"Failed to initialize feature step: $name, please make sure your executor side feature steps are " +
      s"implemented by `${classOf[KubernetesExecutorCustomFeatureConfigStep].getSimpleName}` or " +
      s"`${classOf[KubernetesFeatureConfigStep].getSimpleName}`.", cause.orNull)

  private def texts(node: JsonNode): Seq[String] = {
    val all = Seq.newBuilder[String]
    node.elements().forEachRemaining(text => all += text.asText())
    all.result()
  }
}
