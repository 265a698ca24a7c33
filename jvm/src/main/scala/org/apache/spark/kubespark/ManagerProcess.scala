package org.apache.spark.kubespark

import java.io.{BufferedReader, InputStreamReader, IOException}
import java.nio.charset.StandardCharsets.UTF_8
import java.util.concurrent.TimeUnit

import scala.collection.mutable

/** One life of the child: the process, its conversation, its standard error. */
private[spark] final class ManagerProcess(process: Process, handler: RequestHandler) {
  private val lastLines = mutable.Queue.empty[String]
  val pid: Long = process.pid()

  val peer = new RpcPeer(s"kubespark-manager-$pid", process.getInputStream, process.getOutputStream, handler,
    // A child that lost a pipe is of no use; its end wakes the keeper.
    why => if (process.isAlive) { remember(why); endSoon() })

  private val errors = Threads.daemon(s"kubespark-manager-$pid-stderr", () => drain())

  def begin(): Unit = {
    errors.start()
    peer.start()
  }

  def isAlive: Boolean = process.isAlive

  def kill(): Unit = process.destroyForcibly()

  /** Waits for the end and says how it was. */
  def awaitEnd(): String = {
    val code = process.waitFor()
    errors.join(1000) // its last words
    val how = if (code > 128) s"signal ${code - 128}" else s"exit code $code"
    val lines = lastLines.synchronized(lastLines.toSeq)
    if (lines.isEmpty) how else lines.mkString(s"$how; it said last: ", " | ", "")
  }

  /** Closes its standard input, which ends it; kills it when that does not work in time. */
  def end(millis: Long): Unit = {
    peer.close()
    if (!process.waitFor(millis, TimeUnit.MILLISECONDS)) kill()
  }

  private def endSoon(): Unit = Threads.daemon(s"kubespark-manager-$pid-end", () => end(2000)).start()

  private def drain(): Unit = {
    val reader = new BufferedReader(new InputStreamReader(process.getErrorStream, UTF_8))
    try {
      var line = reader.readLine()
      while (line != null) {
        if (!line.isBlank) {
          DriverLog.manager.info(line)
          remember(line)
        }
        line = reader.readLine()
      }
    } catch {
      case e: IOException => DriverLog.manager.debug(s"Its standard error cannot be read: ${e.getMessage}")
    }
  }

  private def remember(line: String): Unit = lastLines.synchronized {
    lastLines.enqueue(line.take(500))
    if (lastLines.size > 5) lastLines.dequeue()
  }
}
