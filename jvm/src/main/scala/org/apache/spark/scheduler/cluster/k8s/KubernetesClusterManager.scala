package org.apache.spark.scheduler.cluster.k8s

import org.apache.spark.{SparkContext, SparkException}
import org.apache.spark.kubespark.BackendFactory
import org.apache.spark.scheduler.{ExternalClusterManager, SchedulerBackend, TaskScheduler}

/**
 * Spark's way in. The class has the stock manager's own name and stands earlier on the class path, so ServiceLoader takes
 * it and drops the stock one.
 *
 * Nothing here but `createTaskScheduler`'s check may link to classes that only Spark 4 has: on an older Spark this class
 * must still load, to say so.
 */
private[spark] class KubernetesClusterManager extends ExternalClusterManager {

  override def canCreate(masterURL: String): Boolean = masterURL != null && masterURL.matches("k8s://.*")

  override def createTaskScheduler(sc: SparkContext, masterURL: String): TaskScheduler = {
    val version = sc.version
    if (!version.startsWith("4.")) {
      throw new SparkException("kubespark needs Spark 4, this is Spark ".concat(version)
        .concat(": remove kubespark.jar from the driver's class path to run Spark's own Kubernetes manager."))
    }
    BackendFactory.taskScheduler(sc)
  }

  override def createSchedulerBackend(
      sc: SparkContext, masterURL: String, scheduler: TaskScheduler): SchedulerBackend =
    BackendFactory.schedulerBackend(sc, masterURL, scheduler)

  override def initialize(scheduler: TaskScheduler, backend: SchedulerBackend): Unit =
    BackendFactory.join(scheduler, backend)
}
