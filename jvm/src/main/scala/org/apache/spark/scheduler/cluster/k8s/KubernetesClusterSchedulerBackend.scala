package org.apache.spark.scheduler.cluster.k8s

import scala.collection.mutable
import scala.concurrent.Future

import io.fabric8.kubernetes.client.KubernetesClient

import org.apache.spark.{SPARK_VERSION, SparkContext}
import org.apache.spark.deploy.k8s.Config._
import org.apache.spark.deploy.k8s.SparkKubernetesClientFactory
import org.apache.spark.deploy.security.HadoopDelegationTokenManager
import org.apache.spark.internal.config.SCHEDULER_MIN_REGISTERED_RESOURCES_RATIO
import org.apache.spark.kubespark.{DriverLog, Session, Settings, SparkSide}
import org.apache.spark.resource.ResourceProfile
import org.apache.spark.resource.ResourceProfile.UNKNOWN_RESOURCE_PROFILE_ID
import org.apache.spark.rpc.{RpcAddress, RpcCallContext}
import org.apache.spark.scheduler._
import org.apache.spark.scheduler.cluster.{CoarseGrainedSchedulerBackend, SchedulerBackendUtils}
import org.apache.spark.scheduler.cluster.CoarseGrainedClusterMessages.{RegisterExecutor, RemoveExecutor}
import org.apache.spark.util.Utils

/**
 * Spark's side of the cluster manager, under the stock backend's name because plugins test for it. It answers what Spark
 * asks from memory and passes the rest on to the session; every decision about pods is the manager's.
 *
 * The superclass creates the driver endpoint in its constructor, so all that the endpoint needs is in `session`.
 */
private[spark] class KubernetesClusterSchedulerBackend(
    scheduler: TaskSchedulerImpl, sc: SparkContext, session: Session)
  extends CoarseGrainedSchedulerBackend(scheduler, sc.env.rpcEnv) with SparkSide {

  private val initialExecutors = SchedulerBackendUtils.getInitialTargetExecutorNumber(conf)
  private var client: Option[KubernetesClient] = None

  override def applicationId(): String = session.settings.appId

  override def minRegisteredRatio: Double =
    if (conf.get(SCHEDULER_MIN_REGISTERED_RESOURCES_RATIO).isEmpty) 0.8 else super.minRegisteredRatio

  override def sufficientResourcesRegistered(): Boolean =
    totalRegisteredExecutors.get() >= initialExecutors * minRegisteredRatio

  /** Only the direct allocator can hold executors; asked by Spark 4.3 and later. */
  def supportsExecutorHold(): Boolean = isDirect

  override def start(): Unit = {
    super.start()
    val profile = sc.resourceProfileManager.defaultResourceProfile
    session.start(this, profile, initialExecutors)
    // Without this, core's own table stays empty and a single killExecutors sets the target to 0.
    if (!Settings.likeStock(conf, "seed-totals")) {
      requestTotalExecutors(Map(profile.id -> initialExecutors), Map(profile.id -> 0), Map.empty)
    }
  }

  override def stop(): Unit = {
    Utils.tryLogNonFatalError(super.stop())
    Utils.tryLogNonFatalError(session.stop())
    Utils.tryLogNonFatalError(synchronized(client).foreach(_.close()))
  }

  override protected def doRequestTotalExecutors(totals: Map[ResourceProfile, Int]): Future[Boolean] = {
    session.setTotals(totals)
    Future.successful(true)
  }

  override protected def doKillExecutors(ids: Seq[String]): Future[Boolean] = {
    ids.foreach(removeExecutor(_, ExecutorKilled))
    session.kill(ids, conf.get(KUBERNETES_DYN_ALLOC_KILL_GRACE_PERIOD))
    Future.successful(true)
  }

  override def decommissionExecutors(
      executors: Array[(String, ExecutorDecommissionInfo)],
      adjustTargetNumExecutors: Boolean,
      triggeredByExecutor: Boolean): Seq[String] = {
    if (!triggeredByExecutor) session.release(executors.map(_._1).toSeq)
    super.decommissionExecutors(executors, adjustTargetNumExecutors, triggeredByExecutor)
  }

  override def getExecutorIds(): Seq[String] = synchronized(super.getExecutorIds())

  override protected def isExecutorExcluded(id: String, hostname: String): Boolean = session.isDenied(id)

  override protected def createTokenManager(): Option[HadoopDelegationTokenManager] =
    Some(new HadoopDelegationTokenManager(conf, sc.hadoopConfiguration, driverEndpoint))

  /** A client of Spark's own kind, for plugins that ask; we never do. */
  private[k8s] def kubernetesClient: KubernetesClient = synchronized {
    client.getOrElse {
      val s = session.settings
      val made = SparkKubernetesClientFactory.createKubernetesClient(s.apiServer, Some(s.namespace), s.authPrefix,
        SparkKubernetesClientFactory.ClientType.Driver, conf, s.caFile)
      client = Some(made)
      made
    }
  }

  // SparkSide, for the manager.

  private[k8s] def doRemoveExecutor(id: String, reason: ExecutorLossReason): Unit = {
    removeExecutor(id, reason)
    if (reason.message.contains("OOM") && isDirect && hasRecoveryMode) recoverFromMemory()
  }

  override def executorEnded(id: String, reason: ExecutorLossReason): Unit = doRemoveExecutor(id, reason)

  override def deny(ids: Seq[String]): Future[Seq[String]] = driverEndpoint.ask[Seq[String]](DenyExecutors(ids))

  override def executors(): (Map[String, Long], Seq[String]) = synchronized {
    val known = getExecutorsWithRegistrationTs()
    (known, known.keys.filter(isExecutorActive).toSeq)
  }

  private def isDirect: Boolean = Set("direct", classOf[ExecutorPodsAllocator].getName)
    .contains(conf.get(KUBERNETES_ALLOCATION_PODS_ALLOCATOR))

  private def hasRecoveryMode: Boolean = !SPARK_VERSION.matches("4\\.[01]\\..*")

  /** Later executors get one task slot, unless the user decided otherwise. */
  private def recoverFromMemory(): Unit = {
    DriverLog.backend.warn("OOM is detected.")
    if (!conf.contains(RecoveryMode)) {
      conf.set(RecoveryMode, "true")
      session.setConf(RecoveryMode, "true")
    }
  }

  private def RecoveryMode = "spark.kubernetes.allocation.recoveryMode.enabled"

  private def isKnown(id: String): Boolean = getExecutorResourceProfileId(id) != UNKNOWN_RESOURCE_PROFILE_ID

  override def createDriverEndpoint(): DriverEndpoint = new KubernetesDriverEndpoint

  private class KubernetesDriverEndpoint extends DriverEndpoint {
    /** Bootstrap connections of executors that were given an id. */
    private val requesters = mutable.HashMap.empty[RpcAddress, String]

    override def receive: PartialFunction[Any, Unit] = removal.orElse(super.receive)

    override def receiveAndReply(context: RpcCallContext): PartialFunction[Any, Unit] =
      asked(context).orElse(super.receiveAndReply(context))

    private def removal: PartialFunction[Any, Unit] = {
      case message: RemoveExecutor =>
        val id = message.executorId
        val reason = if (isKnown(id)) Some(kind(id, message.reason)) else None
        super.receive(message)
        reason.foreach(session.removed(id, _))
    }

    private def asked(context: RpcCallContext): PartialFunction[Any, Unit] = {
      case message: GenerateExecID =>
        val id = session.assignId(message.podName)
        context.reply(id)
        requesters(context.senderAddress) = id
      case _: RegisterExecutor if sc.isStopped => // no answer: the executor ends with the driver
      case message: RegisterExecutor =>
        val before = isKnown(message.executorId)
        super.receiveAndReply(context)(message)
        if (!before && isKnown(message.executorId)) {
          session.registered(message.executorId, message.hostname, message.resourceProfileId)
        }
      case DenyExecutors(ids) =>
        val (known, unknown) = ids.partition(isKnown)
        unknown.foreach(session.deny)
        context.reply(known)
    }

    private def kind(id: String, reason: ExecutorLossReason): String = reason match {
      case ExecutorKilled => "killed"
      case _ if executorsPendingDecommission.contains(id) => "decommissioned"
      case _: ExecutorDecommission => "decommissioned"
      case _: ExecutorExited => "exited"
      case _ => "lost"
    }

    override def onDisconnected(address: RpcAddress): Unit = addressToExecutorId.get(address) match {
      case Some(id) =>
        // The true reason comes from the manager; until then the executor only gets no more tasks.
        if (executorsPendingDecommission.contains(id)) removeExecutor(id, ExecutorDecommission(None))
        else disableExecutor(id)
        session.disconnected(id)
      case None =>
        if (requesters.remove(address).isEmpty) logDebug(s"No executor found for $address")
    }
  }
}

/** To the driver endpoint, from the session: refuse these ids, in order with registrations. */
private[k8s] case class DenyExecutors(ids: Seq[String])
