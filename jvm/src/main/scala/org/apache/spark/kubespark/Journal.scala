package org.apache.spark.kubespark

import java.util.concurrent.ConcurrentHashMap

import scala.collection.mutable

import com.fasterxml.jackson.databind.JsonNode
import com.fasterxml.jackson.databind.node.ObjectNode

import org.apache.spark.resource.ResourceProfile

/**
 * What only the JVM knows, and what the manager has not yet carried out. A child that takes over from a dead one is told
 * all of it.
 *
 * Callers may hold Spark's monitors, so nothing here waits or calls back into Spark: a message either goes into the
 * queue of the attached peer or stays for the next one.
 */
private[spark] final class Journal {

  private val open = mutable.LinkedHashMap.empty[Long, Command]
  private var lastSeq = 0L
  private var peer: Option[RpcPeer] = None
  /** Facts that came after the state for a new child was gathered and before it is attached. */
  private var late: Option[mutable.ArrayBuffer[ObjectNode]] = None

  private val totals = mutable.TreeMap.empty[Int, Int]
  private val profiles = mutable.TreeMap.empty[Int, ResourceProfile]
  private var nextId = 1
  private val reported = mutable.LinkedHashSet.empty[String]
  private val failures = mutable.ArrayBuffer.empty[Long]
  private val denied = ConcurrentHashMap.newKeySet[String]()
  private var created = false

  /** Merges the wanted executors per profile: entries overwrite, profiles that are absent keep their number. */
  def setTotals(wanted: Map[ResourceProfile, Int]): Unit = synchronized {
    wanted.foreach { case (profile, n) =>
      profiles(profile.id) = profile
      totals(profile.id) = n
    }
    // The new command carries the whole table, so an older one has nothing left to say.
    open.filterInPlace { (_, command) =>
      val stale = command.method == "targets.set"
      if (stale) command.supersede()
      !stale
    }
    command("targets.set") { params =>
      params.set[JsonNode]("totals", totalsNode)
      params.set[JsonNode]("profiles", Profiles.array(profiles.values))
    }
  }

  /** Sends a command and keeps it until `command.done` names it. */
  def command(method: String)(fill: ObjectNode => Unit): Unit = synchronized {
    lastSeq += 1
    val params = Json.obj().put("seq", lastSeq)
    fill(params)
    val entry = new Command(method, params)
    open(lastSeq) = entry
    peer.foreach(_.send(entry))
  }

  def done(seq: Long): Unit = synchronized { open.remove(seq) }

  /** Sends a fact that a new child would learn from the resumed state instead. */
  def fact(method: String, params: ObjectNode): Unit = synchronized {
    val message = Command.message(method, params)
    peer match {
      case Some(p) => p.send(() => message)
      case None => late.foreach(_ += message)
    }
  }

  /** Takes n executor ids that were never given out before; the first of them. */
  def reserve(n: Int): Int = synchronized {
    val first = nextId
    nextId += n
    first
  }

  /** Notes that an executor's end is told to Spark; false if it was told before. */
  def report(id: String, countsAsFailure: Boolean, at: Long): Boolean = synchronized {
    val first = reported.add(id)
    if (first && countsAsFailure) failures += at
    first
  }

  /** An executor pod exists, or did: the next child is told. */
  def podsCreated(): Unit = synchronized { created = true }

  def isDenied(id: String): Boolean = denied.contains(id)
  def deny(id: String): Unit = denied.add(id)
  def allow(id: String): Unit = denied.remove(id)

  /** From now on facts are kept for the next child; call it before the state of Spark is read for `resume`. */
  def gather(): Unit = synchronized {
    peer = None
    late = Some(mutable.ArrayBuffer.empty)
  }

  /** The state for a new child; `executors` are the registered ones with their times. */
  def resume(executors: Map[String, Long]): ObjectNode = synchronized {
    val node = Json.obj()
    node.set[JsonNode]("totals", totalsNode)
    node.set[JsonNode]("profiles", Profiles.array(profiles.values))
    node.put("nextId", nextId)
    val registered = node.putObject("executors")
    executors.foreach { case (id, at) => registered.put(id, at) }
    node.set[JsonNode]("reported", Json.texts(reported))
    val refused = node.putArray("denied")
    denied.forEach(id => refused.add(id))
    val times = node.putArray("failures")
    failures.foreach(times.add(_: Long))
    node.put("podsCreated", created)
    node
  }

  /** Gives the peer every open command, then the late facts, then whatever comes. */
  def attach(to: RpcPeer): Unit = synchronized {
    open.values.foreach(to.send)
    late.foreach(_.foreach(message => to.send(() => message)))
    late = None
    peer = Some(to)
  }

  def detach(): Unit = synchronized { peer = None }

  private def totalsNode: ObjectNode = {
    val node = Json.obj()
    totals.foreach { case (id, n) => node.put(id.toString, n) }
    node
  }
}

/** One journalled command. */
private[spark] final class Command(val method: String, params: ObjectNode) extends Outgoing {
  @volatile private var message: ObjectNode = Command.message(method, params)

  override def body(): ObjectNode = message
  /** A newer command says all that this one said: the queue need not send it. */
  def supersede(): Unit = message = null
}

private[spark] object Command {
  def message(method: String, params: ObjectNode): ObjectNode = {
    val node = Json.obj().put("jsonrpc", "2.0").put("method", method)
    node.set[JsonNode]("params", params)
    node
  }
}
