package org.apache.spark.kubespark

import java.io.File
import java.nio.charset.StandardCharsets.UTF_8

import scala.util.control.NonFatal

import com.fasterxml.jackson.databind.node.ObjectNode
import io.fabric8.kubernetes.client.Config.KUBERNETES_SERVICE_ACCOUNT_CA_CRT_PATH
import org.apache.hadoop.fs.Path

import org.apache.spark.{SparkConf, SparkContext, SparkException}
import org.apache.spark.deploy.k8s.{KubernetesConf, KubernetesUtils}
import org.apache.spark.deploy.k8s.Config._
import org.apache.spark.deploy.k8s.submit.KubernetesClientUtils
import org.apache.spark.internal.config.AUTH_SECRET_FILE_EXECUTOR
import org.apache.spark.util.Utils

/** What `session.open` tells the manager besides the SparkConf: fixed for the life of the SparkContext. */
private[spark] case class Settings(
    appId: String,
    namespace: String,
    clusterMode: Boolean,
    apiServer: String,
    authPrefix: String,
    caFile: Option[File],
    driverPodName: String,
    podNamePrefix: String,
    configMapName: String,
    userName: String,
    authSecret: String,
    confDir: String,
    template: String) {

  def putInto(node: ObjectNode): ObjectNode =
    node.put("appId", appId)
      .put("namespace", namespace)
      .put("deployMode", if (clusterMode) "cluster" else "client")
      .put("apiServer", apiServer)
      .put("authPrefix", authPrefix)
      .put("caFile", caFile.map(_.getPath).getOrElse(""))
      .put("driverPodName", driverPodName)
      .put("podNamePrefix", podNamePrefix)
      .put("configMapName", configMapName)
      .put("userName", userName)
      .put("authSecret", authSecret)
      .put("confDir", confDir)
      .put("template", template)

  override def toString: String = s"Settings($appId)" // authSecret must not reach a log
}

private[spark] object Settings {
  val Enabled = "spark.kubespark.enabled"
  val ManagerPath = "spark.kubespark.manager.path"

  private val MaxPrefix = 237

  /** Reads the mode table; writes the generated pod name prefix and what executors must see into the SparkConf. */
  def of(sc: SparkContext, masterUrl: String): Settings = {
    val conf = sc.conf
    val cluster = conf.get(KUBERNETES_DRIVER_SUBMIT_CHECK)
    val driverPod = conf.get(KUBERNETES_DRIVER_POD_NAME)
    require(!cluster || driverPod.isDefined, "If the application is deployed using spark-submit in cluster mode, " +
      "the driver pod name must be provided.")
    ensurePrefix(conf)
    announceClaimReuse(conf)
    Settings(
      appId = conf.getOption("spark.app.id").getOrElse(KubernetesConf.getKubernetesAppId()),
      namespace = conf.get(KUBERNETES_NAMESPACE),
      clusterMode = cluster,
      apiServer =
        if (cluster) conf.get(KUBERNETES_DRIVER_MASTER_URL) else KubernetesUtils.parseMasterUrl(masterUrl),
      authPrefix =
        if (cluster) KUBERNETES_AUTH_DRIVER_MOUNTED_CONF_PREFIX else KUBERNETES_AUTH_CLIENT_MODE_PREFIX,
      caFile = Some(new File(KUBERNETES_SERVICE_ACCOUNT_CA_CRT_PATH)).filter(file => cluster && file.exists()),
      driverPodName = driverPod.getOrElse(""),
      podNamePrefix = conf.get(KUBERNETES_EXECUTOR_POD_NAME_PREFIX).getOrElse(""),
      configMapName = KubernetesClientUtils.configMapName("spark-exec-" + KubernetesUtils.uniqueID()),
      userName = Utils.getCurrentUserName(),
      authSecret = authSecret(sc),
      confDir = Option(conf.getenv("SPARK_CONF_DIR"))
        .orElse(conf.getOption("spark.home").map(_ + "/conf")).getOrElse(""),
      template = template(sc))
  }

  /** True if the user switched this difference from stock off. */
  def likeStock(conf: SparkConf, difference: String): Boolean =
    conf.get("spark.kubespark.stock", "").split(",").map(_.trim).exists(name => name == "all" || name == difference)

  private def ensurePrefix(conf: SparkConf): Unit =
    if (!conf.contains(KUBERNETES_EXECUTOR_POD_NAME_PREFIX)) {
      conf.set(KUBERNETES_EXECUTOR_POD_NAME_PREFIX.key, prefix(conf.get("spark.app.name")))
    }

  /** Stock's prefix, with the application's name cut where the whole would be refused as a pod name. */
  private[kubespark] def prefix(appName: String): String = {
    val whole = KubernetesConf.getResourceNamePrefix(appName)
    if (whole.length <= MaxPrefix) whole
    else {
      val unique = whole.substring(whole.lastIndexOf('-') + 1)
      whole.take(MaxPrefix - unique.length - 1).stripSuffix("-") + "-" + unique
    }
  }

  /** Executors read this key with another default than the driver and would skip the recovery of shuffle files. */
  private def announceClaimReuse(conf: SparkConf): Unit =
    if (conf.get("spark.shuffle.sort.io.plugin.class", "").endsWith(".KubernetesLocalDiskShuffleDataIO")) {
      conf.setIfMissing(KUBERNETES_DRIVER_REUSE_PVC.key, "true")
    }

  private def authSecret(sc: SparkContext): String =
    if (sc.conf.get(AUTH_SECRET_FILE_EXECUTOR).isDefined) ""
    else Option(sc.env.securityManager.getSecretKey()).getOrElse("")

  /** The executor template's text, loaded once for all executors; any file system that Hadoop knows will do. */
  private def template(sc: SparkContext): String =
    sc.conf.get(KUBERNETES_EXECUTOR_PODTEMPLATE_FILE).map { file =>
      try {
        val uri = Utils.resolveURI(file)
        val path = if (uri.getScheme == "local") new Path("file://" + uri.getPath) else new Path(uri)
        val in = path.getFileSystem(sc.hadoopConfiguration).open(path)
        try new String(in.readAllBytes(), UTF_8) finally in.close()
      } catch {
        case NonFatal(e) =>
          DriverLog.clusterManager.error("Encountered exception while attempting to load initial pod spec from file", e)
          throw new SparkException("Could not load pod from template file.", e)
      }
    }.getOrElse("")
}
