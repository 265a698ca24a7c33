package org.apache.spark.kubespark

import java.util.concurrent.{CompletableFuture, CountDownLatch, ExecutionException, Executors, TimeoutException, TimeUnit}

import scala.collection.mutable

import com.fasterxml.jackson.databind.JsonNode
import com.fasterxml.jackson.databind.node.ObjectNode

import org.apache.spark.SparkException

/** What the keeper asks the session for. */
private[spark] trait KeeperScript extends RequestHandler {
  /** The parameters of `session.open`; with the resumed state after the first start. */
  def openParams(again: Boolean): ObjectNode
  def startParams(): ObjectNode
  /** The child is ready for messages. */
  def attach(peer: RpcPeer): Unit
  def detach(): Unit
  /** No child can be kept alive: the driver must end. */
  def giveUp(text: String): Unit
}

/**
 * Keeps one child alive. ONE thread starts every child and lives as long as the session: Linux ties the parent-death
 * signal to the thread that forked, and a SparkContext may be made on a thread that ends.
 */
private[spark] final class ManagerKeeper(binary: ManagerBinary, script: KeeperScript) {
  import ManagerKeeper._

  private val log = DriverLog.clusterManager
  private val opened = new CompletableFuture[JsonNode]()
  private val startWanted = new CompletableFuture[Unit]()
  private val started = new CompletableFuture[Unit]()
  private val closing = new CountDownLatch(1)
  private val ended = new CountDownLatch(1)
  private val restarts = mutable.Queue.empty[Long]
  /** When a ready child was last there. */
  private var lastReady = System.nanoTime()

  /** The child that answered `session.open`; readers wait on this object's monitor. */
  private var answering: Option[ManagerProcess] = None
  @volatile private var stopping = false
  @volatile private var current: Option[ManagerProcess] = None
  @volatile private var ready: Option[ManagerProcess] = None

  private val thread = Threads.daemon("kubespark-manager-keeper", () => try keep() finally ended.countDown())
  private val timer = Executors.newSingleThreadScheduledExecutor((r: Runnable) => Threads.daemon("kubespark-manager-ping", r))

  /** Starts the first child and waits for its answer to `session.open`. */
  def open(): JsonNode = {
    thread.start()
    timer.scheduleWithFixedDelay(() => ping(), PingSeconds, PingSeconds, TimeUnit.SECONDS)
    await(opened, "open the session")
  }

  /** Lets the child begin and waits for its answer to `session.start`; a child that dies meanwhile is replaced. */
  def start(): Unit = {
    startWanted.complete(())
    await(started, "start the session")
  }

  /** Asks the child to clean up; one that dies meanwhile is replaced as long as there is time. */
  def stop(millis: Long): Option[JsonNode] = {
    stopping = true
    val deadline = System.nanoTime() + TimeUnit.MILLISECONDS.toNanos(millis + GraceMillis)
    var answer: Option[JsonNode] = None
    var hopeless = false
    while (answer.isEmpty && !hopeless) {
      answering(deadline) match {
        case None => hopeless = true
        case Some(child) =>
          val left = TimeUnit.NANOSECONDS.toMillis(deadline - System.nanoTime())
          try answer = Some(cleanUp(child, left)) catch {
            case e: RpcClosed =>
              forget(child)
              log.info(s"kubespark-manager (pid ${child.pid}) ended while it cleaned up: ${e.getMessage}.")
            case _: TimeoutException => hopeless = true
          }
      }
    }
    answer
  }

  private def cleanUp(child: ManagerProcess, left: Long): JsonNode = {
    val call = child.peer.call("session.stop", Json.obj().put("deadlineMs", math.max(left - GraceMillis, 0L)))
    try call.get(left, TimeUnit.MILLISECONDS) catch { case e: ExecutionException => throw e.getCause }
  }

  /** Ends the child, whatever it does, and the threads. */
  def close(): Unit = {
    stopping = true
    closing.countDown()
    timer.shutdownNow()
    startWanted.complete(())
    current.foreach(_.end(EndMillis))
    if (thread.isAlive) ended.await(EndMillis, TimeUnit.MILLISECONDS)
  }

  private def await[T](answer: CompletableFuture[T], what: String): T =
    try answer.get(AnswerSeconds + 10, TimeUnit.SECONDS) catch {
      case e: ExecutionException => e.getCause match {
        case refused: SessionRefused => throw new SparkException(refused.getMessage)
        case other => throw other
      }
      case _: TimeoutException =>
        throw new SparkException(s"kubespark-manager did not $what within $AnswerSeconds seconds")
    }

  private def keep(): Unit = {
    var delay = FirstDelay
    var lives = 0
    while (!isClosing) {
      val began = System.nanoTime()
      val how = try live(lives) catch { case e: CannotRunHere if lives > 0 => e.getMessage }
      lives += 1
      if (!isClosing) {
        if (seconds(began) >= StableSeconds) delay = FirstDelay
        if (tooOften()) {
          script.giveUp(s"kubespark-manager cannot be kept running (the last one ended with $how); the application ends.")
          return
        }
        log.info(s"kubespark-manager ended with $how. It is started again in $delay ms.")
        closing.await(delay, TimeUnit.MILLISECONDS)
        delay = math.min(delay * 2, LastDelay)
      }
    }
  }

  /** One life of the child, from its start to its end; the text says how it ended. */
  private def live(number: Int): String = {
    val process = try binary.start() catch {
      case e: CannotRunHere => if (number == 0) refuse(e); throw e
    }
    val child = new ManagerProcess(process, script)
    current = Some(child)
    child.begin()
    try {
      val problem = if (isClosing) None else bringUp(child, number)
      problem.foreach(_ => child.end(EndMillis))
      val how = child.awaitEnd()
      problem.map(text => s"$how after it failed to take over: $text").getOrElse(how)
    } finally {
      if (ready.isDefined) lastReady = System.nanoTime()
      ready = None
      forget(child)
      script.detach()
      child.end(0)
      current = None
    }
  }

  /** Opens and starts the session on a new child. The text is what went wrong, for a child that is of no use. */
  private def bringUp(child: ManagerProcess, number: Int): Option[String] =
    try {
      val answer = call(child, "session.open", script.openParams(number > 0))
      val protocol = answer.path("protocol").asInt()
      if (protocol != Protocol) {
        throw new RpcError(RpcPeer.ProtocolMismatch, s"kubespark-manager speaks protocol $protocol, kubespark.jar " +
          s"speaks $Protocol: take both from one release")
      }
      synchronized {
        answering = Some(child)
        notifyAll()
      }
      opened.complete(answer)
      if (stopping) None else begin(child)
    } catch {
      case e: RpcError =>
        refuse(if (e.code == RpcPeer.CannotRunHere) new CannotRunHere(e.getMessage) else new SessionRefused(e.getMessage))
        Some(e.getMessage)
      case e: RpcClosed =>
        // Before its first answer nothing was written, so the stock manager may still take over.
        if (number == 0 && !opened.isDone) refuse(new CannotRunHere(s"kubespark-manager ended before it answered (${child.awaitEnd()})"))
        Some(e.getMessage)
      case e: TimeoutException =>
        refuse(new SessionRefused(e.getMessage))
        Some(e.getMessage)
    }

  private def begin(child: ManagerProcess): Option[String] = {
    while (!startWanted.isDone && child.isAlive) {
      try startWanted.get(1, TimeUnit.SECONDS) catch { case _: TimeoutException => }
    }
    if (isClosing || !child.isAlive || started.isCompletedExceptionally) return None
    try call(child, "session.start", script.startParams()) catch {
      case e: RpcError if !started.isDone =>
        // This child stays for session.stop: it knows what it has made.
        started.completeExceptionally(new SessionRefused(e.getMessage))
        return None
    }
    if (started.isDone) log.info(s"kubespark-manager (pid ${child.pid}) has taken over.")
    script.attach(child.peer)
    ready = Some(child)
    started.complete(())
    None
  }

  private def call(child: ManagerProcess, method: String, params: ObjectNode): JsonNode =
    try child.peer.call(method, params).get(AnswerSeconds, TimeUnit.SECONDS) catch {
      case e: ExecutionException => throw e.getCause
      case _: TimeoutException =>
        throw new TimeoutException(s"kubespark-manager did not answer $method within $AnswerSeconds seconds")
    }

  /** The first open has failed: whoever waits for it gets the reason, and no other child is started. */
  private def refuse(reason: Exception): Unit =
    if (opened.completeExceptionally(reason)) closing.countDown()

  private def tooOften(): Boolean = {
    val now = System.nanoTime()
    restarts.enqueue(now)
    while (restarts.nonEmpty && TimeUnit.NANOSECONDS.toSeconds(now - restarts.head) > WindowSeconds) restarts.dequeue()
    restarts.size > MaxRestarts || seconds(lastReady) > WindowSeconds
  }

  private def ping(): Unit = ready.foreach { child =>
    if (!stopping) {
      val silent = TimeUnit.NANOSECONDS.toSeconds(child.peer.silence)
      if (silent >= SilenceSeconds) {
        log.warn(s"kubespark-manager (pid ${child.pid}) has been silent for $silent seconds; it is started again.")
        child.kill()
      } else child.peer.call("ping", Json.obj())
    }
  }

  private def answering(deadline: Long): Option[ManagerProcess] = synchronized {
    while (answering.isEmpty && System.nanoTime() < deadline && !isClosing && ended.getCount > 0) wait(100)
    answering
  }

  private def forget(child: ManagerProcess): Unit = synchronized { if (answering.contains(child)) answering = None }

  private def isClosing: Boolean = closing.getCount == 0
  private def seconds(since: Long): Long = TimeUnit.NANOSECONDS.toSeconds(System.nanoTime() - since)
}

private[spark] object ManagerKeeper {
  val Protocol = 1
  private val AnswerSeconds = 60L
  private val PingSeconds = limit("pingSeconds", 5L)
  private val SilenceSeconds = limit("silenceSeconds", 30L)
  private val FirstDelay = 100L
  private val LastDelay = 5000L
  private val StableSeconds = 10L
  private val WindowSeconds = limit("windowSeconds", 300L)
  private val MaxRestarts = 10
  private val GraceMillis = 1000L
  private val EndMillis = 2000L

  /** A limit in time; system properties shorten those that no test could wait for. */
  private def limit(name: String, default: Long): Long = java.lang.Long.getLong("kubespark.keeper." + name, default)
}
