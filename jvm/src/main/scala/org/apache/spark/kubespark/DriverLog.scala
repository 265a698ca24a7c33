package org.apache.spark.kubespark

import org.slf4j.{Logger, LoggerFactory}

/** The loggers we write to. They carry the stock classes' names, so that users' log settings go on working. */
private[spark] object DriverLog {
  private val stock = "org.apache.spark.scheduler.cluster.k8s."

  val clusterManager: Logger = LoggerFactory.getLogger(stock + "KubernetesClusterManager")
  val backend: Logger = LoggerFactory.getLogger(stock + "KubernetesClusterSchedulerBackend")
  /** The child's standard error, line by line. */
  val manager: Logger = LoggerFactory.getLogger("kubespark-manager")

  /** Writes one message of the manager under the logger it names. */
  def write(name: String, level: String, text: String): Unit = {
    val log = if (name.isEmpty) manager else LoggerFactory.getLogger(name)
    level match {
      case "ERROR" => log.error(text)
      case "WARN" => log.warn(text)
      case "INFO" => log.info(text)
      case "DEBUG" => log.debug(text)
      case _ => log.trace(text)
    }
  }
}
