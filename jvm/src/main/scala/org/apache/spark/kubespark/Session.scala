package org.apache.spark.kubespark

import java.util.concurrent.{CompletableFuture, CompletionStage}
import java.util.concurrent.atomic.AtomicBoolean

import scala.concurrent.Future
import scala.jdk.CollectionConverters._
import scala.util.{Failure, Success}

import com.fasterxml.jackson.databind.JsonNode
import com.fasterxml.jackson.databind.node.ObjectNode

import org.apache.spark.{SPARK_VERSION, SparkConf}
import org.apache.spark.resource.ResourceProfile
import org.apache.spark.scheduler.{ExecutorExited, ExecutorLossReason}
import org.apache.spark.util.{ShutdownHookManager, ThreadUtils}

/** What the session asks of Spark for the manager. The backend is the only implementation. */
private[spark] trait SparkSide {
  /** Hands the end of an executor to the driver endpoint; does not wait for it. */
  def executorEnded(id: String, reason: ExecutorLossReason): Unit
  /** Refuses these ids from now on, in order with registrations; the answer has those that were registered before. */
  def deny(ids: Seq[String]): Future[Seq[String]]
  /** Registered executors with their times, and those of them that are active. */
  def executors(): (Map[String, Long], Seq[String])
}

/** One SparkContext's dealings with its manager: what Spark tells it, what it asks of Spark. */
private[spark] final class Session(val settings: Settings, conf: SparkConf) extends KeeperScript {
  private val log = DriverLog.backend
  private val journal = new Journal
  private val metrics = new ManagerMetrics(conf)
  private val steps = new UserSteps(conf, settings)
  private val keeper = new ManagerKeeper(new ManagerBinary(conf), this)

  @volatile private var spark: Option[SparkSide] = None
  @volatile private var begin: Option[(ResourceProfile, Int)] = None
  @volatile private var hook: Option[AnyRef] = None
  @volatile private var stopping = false
  private val cleaned = new AtomicBoolean()

  def open(): Unit = {
    val answer = keeper.open()
    DriverLog.clusterManager.debug(s"kubespark-manager ${answer.path("managerVersion").asText()} " +
      s"(pid ${answer.path("pid").asLong()}) makes the executors of ${settings.appId}.")
  }

  def start(side: SparkSide, profile: ResourceProfile, target: Int): Unit = {
    spark = Some(side)
    begin = Some((profile, target))
    // SparkContext has a hook of its own, but only once it is made; ours comes after it, before folders are deleted.
    hook = Some(ShutdownHookManager.addShutdownHook(ShutdownHookManager.SPARK_CONTEXT_SHUTDOWN_PRIORITY - 10)(() => stop()))
    keeper.start()
  }

  /** Lets the manager clean up, in a shutdown hook within the hook's own time, and ends it. */
  def stop(): Unit = if (cleaned.compareAndSet(false, true)) {
    stopping = true
    try {
      keeper.stop(if (ShutdownHookManager.inShutdown()) Session.HookMillis else Session.StopMillis) match {
        case None => log.warn("kubespark-manager did not finish its clean-up in time; pods of " +
          s"${settings.appId} may be left.")
        case Some(answer) if answer.path("left").asInt() > 0 =>
          log.warn(s"${answer.path("left").asInt()} executor pods of ${settings.appId} could not be deleted.")
        case Some(_) => log.debug("kubespark-manager has cleaned up.")
      }
    } finally abandon()
  }

  /** Ends the child without a clean-up: nothing was made. */
  def abandon(): Unit = {
    stopping = true
    hook.foreach(ShutdownHookManager.removeShutdownHook)
    metrics.unregister()
    keeper.close()
  }

  // From Spark. Monitors of Spark may be held: nothing here waits.

  def setTotals(totals: Map[ResourceProfile, Int]): Unit = journal.setTotals(totals)

  def kill(ids: Seq[String], graceMillis: Long): Unit = journal.command("executors.kill") { params =>
    params.set[JsonNode]("ids", Json.texts(ids))
    params.put("graceMs", graceMillis).put("issuedAt", System.currentTimeMillis())
  }

  def release(ids: Seq[String]): Unit =
    journal.command("executors.release")(_.set[JsonNode]("ids", Json.texts(ids)))

  def setConf(key: String, value: String): Unit = journal.command("conf.set")(_.put("key", key).put("value", value))

  /** The next id, for an executor that came without one. */
  def assignId(podName: String): String = {
    val id = journal.reserve(1).toString
    journal.command("execId.assigned")(_.put("podName", podName).put("id", id))
    id
  }

  def registered(id: String, host: String, profile: Int): Unit = {
    journal.podsCreated() // the manager may die before it hears of its own pod
    journal.fact("executor.registered",
      Json.obj().put("id", id).put("host", host).put("profile", profile).put("registeredAt", System.currentTimeMillis()))
  }

  def removed(id: String, reason: String): Unit =
    journal.fact("executor.removed", Json.obj().put("id", id).put("reason", reason))

  def disconnected(id: String): Unit = journal.fact("executor.disconnected", Json.obj().put("id", id))

  def isDenied(id: String): Boolean = journal.isDenied(id)
  def deny(id: String): Unit = journal.deny(id)

  // For the keeper.

  override def openParams(again: Boolean): ObjectNode = {
    val params = settings.putInto(Json.obj().put("protocol", ManagerKeeper.Protocol).put("sparkVersion", SPARK_VERSION))
    params.set[JsonNode]("conf", confNode)
    val resumed = spark.filter(_ => again).map { side =>
      journal.gather() // before Spark is asked, so that no fact falls between
      journal.resume(side.executors()._1)
    }
    params.set[JsonNode]("resume", resumed.orNull)
    params
  }

  override def startParams(): ObjectNode = {
    val params = Json.obj()
    params.set[JsonNode]("conf", confNode)
    begin.foreach { case (profile, target) =>
      params.set[JsonNode]("defaultProfile", Profiles.node(profile))
      params.put("initialTarget", target)
    }
    params
  }

  override def attach(peer: RpcPeer): Unit = journal.attach(peer)
  override def detach(): Unit = journal.detach()
  override def giveUp(text: String): Unit = exit(1, text)

  private def confNode: ObjectNode = {
    val node = Json.obj()
    conf.getAll.foreach { case (key, value) => node.put(key, value) }
    node
  }

  // From the manager, one after another.

  override def handle(method: String, params: JsonNode): CompletionStage[JsonNode] = method match {
    case "executor.remove" => remove(params)
    case "executors.deny" => refuse(texts(params.path("ids")))
    case "executors.allow" => done(texts(params.path("ids")).foreach(journal.allow))
    case "ids.reserve" =>
      val n = math.max(params.path("n").asInt(), 1)
      val from = journal.reserve(n)
      answer(Json.obj().put("from", from).put("to", from + n - 1))
    case "executors.list" => list()
    case "pods.created" => done(journal.podsCreated())
    case "pod.build" => steps.build(params)
    case "app.exit" => done(exit(params.path("code").asInt(1), params.path("text").asText()))
    case "command.done" => done(journal.done(params.path("seq").asLong()))
    case "log" => done(DriverLog.write(params.path("logger").asText(), params.path("level").asText(),
      params.path("text").asText()))
    case "metrics" => done(metrics.update(params.path("values")))
    case _ => throw new RpcError(RpcPeer.MethodNotFound, s"kubespark.jar knows no method $method")
  }

  private def remove(params: JsonNode): CompletionStage[JsonNode] = {
    val id = params.path("id").asText()
    val fresh = journal.report(id, params.path("countsAsFailure").asBoolean(), params.path("at").asLong())
    if (fresh) {
      side.executorEnded(id, ExecutorExited(params.path("code").asInt(-1), params.path("causedByApp").asBoolean(),
        params.path("text").asText()))
    }
    answer(Json.obj())
  }

  private def refuse(ids: Seq[String]): CompletionStage[JsonNode] = {
    val result = new CompletableFuture[JsonNode]()
    side.deny(ids).onComplete {
      case Success(registered) =>
        val node = Json.obj()
        node.set[JsonNode]("registered", Json.texts(registered))
        result.complete(node)
      case Failure(e) => result.completeExceptionally(e)
    }(ThreadUtils.sameThread)
    result
  }

  private def list(): CompletionStage[JsonNode] = {
    val (known, active) = side.executors()
    val node = Json.obj()
    val ids = node.putObject("ids")
    known.foreach { case (id, at) => ids.put(id, at) }
    node.set[JsonNode]("active", Json.texts(active))
    answer(node)
  }

  /** Ends the JVM on a thread of its own: the shutdown hooks wait for the very threads that ask for it. */
  private def exit(code: Int, text: String): Unit =
    if (!stopping) {
      log.error(text)
      Threads.daemon("kubespark-exit", () => System.exit(code)).start()
    }

  private def side: SparkSide =
    spark.getOrElse(throw new RpcError(RpcPeer.GeneralError, "the session has not been started"))

  private def texts(node: JsonNode): Seq[String] = node.elements().asScala.map(_.asText()).toSeq
  private def answer(node: JsonNode): CompletionStage[JsonNode] = CompletableFuture.completedFuture(node)
  private def done(effect: Unit): CompletionStage[JsonNode] = answer(Json.obj())
}

private[spark] object Session {
  private val HookMillis = 20000L // of the 30 s that Spark's hooks have
  private val StopMillis = 120000L // which only many pods need
}
