package org.apache.spark.kubespark

import scala.util.control.NonFatal

import org.apache.spark.{SparkConf, SparkContext, SparkMasterRegex}
import org.apache.spark.deploy.k8s.Config.KUBERNETES_DRIVER_MASTER_URL
import org.apache.spark.internal.config.TASK_MAX_FAILURES
import org.apache.spark.scheduler.{SchedulerBackend, TaskScheduler, TaskSchedulerImpl}
import org.apache.spark.scheduler.cluster.k8s.KubernetesClusterSchedulerBackend
import org.apache.spark.scheduler.local.LocalSchedulerBackend

/** Decides which backend an application gets: driver-only, the stock manager's, or ours with a running child. */
private[spark] object BackendFactory {
  import SparkMasterRegex.{LOCAL_N_FAILURES_REGEX, LOCAL_N_REGEX}

  private val log = DriverLog.clusterManager

  def taskScheduler(sc: SparkContext): TaskScheduler = {
    val maxFailures = driverMaster(sc.conf) match {
      case "local" | LOCAL_N_REGEX(_) => 1
      case LOCAL_N_FAILURES_REGEX(_, failures) => failures.toInt
      case _ => sc.conf.get(TASK_MAX_FAILURES)
    }
    new TaskSchedulerImpl(sc, maxFailures, isLocal(sc.conf))
  }

  def schedulerBackend(sc: SparkContext, masterUrl: String, scheduler: TaskScheduler): SchedulerBackend =
    if (isLocal(sc.conf)) {
      driverOnly(sc, scheduler.asInstanceOf[TaskSchedulerImpl])
    } else if (!sc.conf.getBoolean(Settings.Enabled, defaultValue = true)) {
      log.info(s"${Settings.Enabled} is false: Spark's own Kubernetes manager runs.")
      StockManager.backend(sc, masterUrl, scheduler)
    } else {
      try kubesparkBackend(sc, masterUrl, scheduler.asInstanceOf[TaskSchedulerImpl])
      catch {
        case e: CannotRunHere =>
          log.warn(s"${e.getMessage}; kubespark is not in use, Spark's own Kubernetes manager runs.")
          StockManager.backend(sc, masterUrl, scheduler)
      }
    }

  def join(scheduler: TaskScheduler, backend: SchedulerBackend): Unit =
    scheduler.asInstanceOf[TaskSchedulerImpl].initialize(backend)

  /**
   * The child answers `session.open` before the backend exists: a backend claims the driver's endpoint name for good, so
   * after it there is no way back to the stock manager.
   */
  private def kubesparkBackend(sc: SparkContext, masterUrl: String, scheduler: TaskSchedulerImpl): SchedulerBackend = {
    StockManager.neededBy(sc.conf).foreach(reason => throw new CannotRunHere(reason))
    UserSteps.verify(sc.conf)
    val session = new Session(Settings.of(sc, masterUrl), sc.conf)
    try {
      session.open()
      new KubernetesClusterSchedulerBackend(scheduler, sc, session)
    } catch {
      case NonFatal(e) =>
        session.abandon()
        throw e
    }
  }

  private def driverOnly(sc: SparkContext, scheduler: TaskSchedulerImpl): SchedulerBackend = {
    def threads(text: String): Int = if (text == "*") Runtime.getRuntime.availableProcessors() else text.toInt
    val master = driverMaster(sc.conf)
    val count = master match {
      case LOCAL_N_REGEX(n) => threads(n)
      case LOCAL_N_FAILURES_REGEX(n, _) => threads(n)
      case _ => 1
    }
    log.info(s"Running Spark with $master")
    // The local backend takes a given id from this key only.
    sc.conf.getOption("spark.app.id").foreach(sc.conf.set("spark.test.appId", _))
    val backend = new LocalSchedulerBackend(sc.conf, scheduler, count)
    scheduler.initialize(backend)
    backend
  }

  private def driverMaster(conf: SparkConf): String = conf.get(KUBERNETES_DRIVER_MASTER_URL)

  private def isLocal(conf: SparkConf): Boolean = driverMaster(conf).startsWith("local")
}

/** kubespark cannot run this application and nothing was written: the stock manager may take over. */
private[spark] class CannotRunHere(reason: String) extends Exception(reason)

/** The manager refused to go on; the text is its own, one sentence for the user. */
private[spark] class SessionRefused(text: String) extends Exception(text)
