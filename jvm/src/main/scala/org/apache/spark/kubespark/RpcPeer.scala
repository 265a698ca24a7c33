package org.apache.spark.kubespark

import java.io.{BufferedOutputStream, BufferedReader, InputStream, InputStreamReader, IOException, OutputStream}
import java.nio.charset.StandardCharsets.UTF_8
import java.util.concurrent.{CompletableFuture, CompletionException, CompletionStage, ConcurrentHashMap, Executors, LinkedBlockingQueue,
  RejectedExecutionException}
import java.util.concurrent.atomic.AtomicLong

import com.fasterxml.jackson.databind.{JsonNode, ObjectMapper}
import com.fasterxml.jackson.databind.node.{MissingNode, ObjectNode}

/** The one JSON mapper; Jackson is Spark's own. */
private[spark] object Json {
  val mapper = new ObjectMapper()
  def obj(): ObjectNode = mapper.createObjectNode()
  /** A list of texts as a JSON array. */
  def texts(values: Iterable[String]): JsonNode = {
    val array = mapper.createArrayNode()
    values.foreach(array.add(_: String))
    array
  }
}

/** Something that stands in the queue to the child. The writer asks for the body when its turn comes. */
private[spark] trait Outgoing {
  /** The message, or null if a newer one has taken its place. */
  def body(): ObjectNode
}

/** An error answer of the other side. */
private[spark] class RpcError(val code: Int, text: String) extends IOException(text)

/** The connection ended before the answer came. */
private[spark] class RpcClosed(text: String) extends IOException(text)

/** Answers what the manager sends. The stage's value is the result; for a notification it is ignored. */
private[spark] trait RequestHandler {
  def handle(method: String, params: JsonNode): CompletionStage[JsonNode]
}

/**
 * JSON-RPC 2.0, one object a line, over one child's pipes. Three daemon threads: one writes from an unbounded queue, so a
 * full pipe never stops a Spark thread; one reads answers; one runs the handler, in the order of arrival.
 */
private[spark] final class RpcPeer(
    name: String, in: InputStream, out: OutputStream, handler: RequestHandler, ended: String => Unit) {

  private val queue = new LinkedBlockingQueue[Outgoing]()
  private val waiting = new ConcurrentHashMap[Long, CompletableFuture[JsonNode]]()
  private val nextId = new AtomicLong()
  private val dispatcher = Executors.newSingleThreadExecutor((r: Runnable) => Threads.daemon(name + "-dispatch", r))
  @volatile private var closed: Option[String] = None
  @volatile private var heardAt = System.nanoTime()

  private val writer = Threads.daemon(name + "-write", () => write())
  private val reader = Threads.daemon(name + "-read", () => read())

  def start(): Unit = {
    writer.start()
    reader.start()
  }

  /** Nanoseconds since the last line of the other side. */
  def silence: Long = System.nanoTime() - heardAt

  def send(message: Outgoing): Unit = queue.add(message)

  def notify(method: String, params: ObjectNode): Unit = {
    val message = Json.obj().put("jsonrpc", "2.0").put("method", method)
    message.set[JsonNode]("params", params)
    send(() => message)
  }

  /** Sends a request. The future fails with RpcError for an error answer, RpcClosed when the connection ends. */
  def call(method: String, params: ObjectNode): CompletableFuture[JsonNode] = {
    val id = nextId.incrementAndGet()
    val answer = new CompletableFuture[JsonNode]()
    waiting.put(id, answer)
    val message = Json.obj().put("jsonrpc", "2.0").put("id", id).put("method", method)
    message.set[JsonNode]("params", params)
    send(() => message)
    closed.foreach(text => answer.completeExceptionally(new RpcClosed(text))) // it may have ended just before
    answer
  }

  /** Ends the conversation: the child sees the end of its standard input. */
  def close(): Unit = finish("closed")

  private def write(): Unit = {
    val buffered = new BufferedOutputStream(out, 64 * 1024)
    try {
      while (closed.isEmpty) {
        val body = queue.take().body()
        if (body != null) {
          buffered.write(Json.mapper.writeValueAsBytes(body))
          buffered.write('\n')
        }
        if (queue.isEmpty) buffered.flush()
      }
    } catch {
      case e: IOException => finish(s"its standard input is closed (${e.getMessage})")
      case _: InterruptedException => // finish has been called
    } finally {
      try out.close() catch { case _: IOException => } // the pipe may be broken already
    }
  }

  private def read(): Unit = {
    val lines = new BufferedReader(new InputStreamReader(in, UTF_8))
    var why = "its standard output ended"
    try {
      var line = lines.readLine()
      while (line != null) {
        heardAt = System.nanoTime()
        if (!line.isBlank) receive(Json.mapper.readTree(line))
        line = lines.readLine()
      }
    } catch {
      case e: IOException => if (closed.isEmpty) why = s"its standard output cannot be read: ${e.getMessage}"
    }
    finish(why)
  }

  private def receive(message: JsonNode): Unit = {
    val method = message.path("method")
    if (method.isTextual) {
      try dispatcher.execute(() => dispatch(message, method.asText()))
      catch { case _: RejectedExecutionException => } // closed: the other side gets no answer any more
    } else {
      val answer = waiting.remove(message.path("id").asLong())
      if (answer == null) DriverLog.manager.debug("An answer came that nobody waits for.")
      else if (message.hasNonNull("error")) {
        val error = message.get("error")
        answer.completeExceptionally(new RpcError(error.path("code").asInt(), error.path("message").asText()))
      } else answer.complete(message.path("result"))
    }
  }

  private def dispatch(message: JsonNode, method: String): Unit = {
    val id = message.path("id")
    val params = if (message.hasNonNull("params")) message.get("params") else MissingNode.getInstance()
    val stage = try handler.handle(method, params) catch {
      case e: Exception => CompletableFuture.failedFuture[JsonNode](e)
    }
    stage.whenComplete { (result: JsonNode, thrown: Throwable) =>
      val failure = thrown match {
        case wrapped: CompletionException if wrapped.getCause != null => wrapped.getCause
        case other => other
      }
      if (failure != null) DriverLog.manager.warn(s"The manager's message $method was not carried out.", failure)
      if (!id.isMissingNode && !id.isNull) reply(id, result, failure)
    }
  }

  private def reply(id: JsonNode, result: JsonNode, failure: Throwable): Unit = {
    val answer = Json.obj().put("jsonrpc", "2.0")
    answer.set[JsonNode]("id", id)
    failure match {
      case null => answer.set[JsonNode]("result", result)
      case e: RpcError => answer.putObject("error").put("code", e.code).put("message", e.getMessage)
      case e => answer.putObject("error").put("code", RpcPeer.GeneralError).put("message", String.valueOf(e.getMessage))
    }
    send(() => answer)
  }

  private def finish(why: String): Unit = {
    val first = synchronized {
      val first = closed.isEmpty
      if (first) closed = Some(why)
      first
    }
    if (first) {
      writer.interrupt()
      dispatcher.shutdown()
      waiting.values().forEach(answer => answer.completeExceptionally(new RpcClosed(why)))
      ended(why)
    }
  }
}

private[spark] object RpcPeer {
  val GeneralError = -32000
  val ProtocolMismatch = -32001
  val CannotRunHere = -32003
  val MethodNotFound = -32601
}

private[spark] object Threads {
  def daemon(name: String, body: Runnable): Thread = {
    val thread = new Thread(body, name)
    thread.setDaemon(true)
    thread
  }
}
