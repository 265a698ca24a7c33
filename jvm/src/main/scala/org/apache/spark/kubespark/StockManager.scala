package org.apache.spark.kubespark

import java.net.{URL, URLClassLoader}

import org.apache.spark.{SparkConf, SparkContext}
import org.apache.spark.deploy.k8s.Config.KUBERNETES_ALLOCATION_PODS_ALLOCATOR
import org.apache.spark.scheduler.{ExternalClusterManager, SchedulerBackend, TaskScheduler}
import org.apache.spark.scheduler.cluster.k8s.GenerateExecID

/** The way back: Spark's own Kubernetes manager, from behind the classes that stand in front of it. */
private[spark] object StockManager {
  private val Package = "org.apache.spark.scheduler.cluster.k8s."
  private val Manager = Package + "KubernetesClusterManager"

  private val nativeAllocators = Set("direct", "statefulset", "deployment",
    Package + "ExecutorPodsAllocator", Package + "StatefulSetPodsAllocator", Package + "DeploymentPodsAllocator")

  /** Why this configuration needs the stock manager, if it does. */
  def neededBy(conf: SparkConf): Option[String] = {
    val allocator = conf.get(KUBERNETES_ALLOCATION_PODS_ALLOCATOR)
    if (nativeAllocators.contains(allocator)) None
    else Some(s"${KUBERNETES_ALLOCATION_PODS_ALLOCATOR.key}: class $allocator needs the stock manager")
  }

  /** Makes the stock backend. It loads its parts by the context class loader, which is ours for that long. */
  def backend(sc: SparkContext, masterUrl: String, scheduler: TaskScheduler): SchedulerBackend = {
    val thread = Thread.currentThread()
    val before = thread.getContextClassLoader
    val home = classOf[GenerateExecID].getProtectionDomain.getCodeSource.getLocation
    val loader = new StockFirst(home, Option(before).getOrElse(getClass.getClassLoader))
    thread.setContextClassLoader(loader)
    try {
      val stock = loader.loadClass(Manager).getDeclaredConstructor().newInstance().asInstanceOf[ExternalClusterManager]
      stock.createSchedulerBackend(sc, masterUrl, scheduler)
    } finally {
      thread.setContextClassLoader(before)
    }
  }

  /** Takes the stock package from the stock jar first, everything else from the parent. */
  private class StockFirst(home: URL, parent: ClassLoader) extends URLClassLoader(Array(home), parent) {

    override protected def loadClass(name: String, resolve: Boolean): Class[_] =
      // Executors send GenerateExecID, and the RPC layer reads it with Spark's own loader.
      if (!name.startsWith(Package) || name == classOf[GenerateExecID].getName) super.loadClass(name, resolve)
      else getClassLoadingLock(name).synchronized {
        val known: Class[_] = findLoadedClass(name)
        val found: Class[_] = if (known != null) known else findClass(name)
        if (resolve) resolveClass(found)
        found
      }
  }
}
