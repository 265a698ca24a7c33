package org.apache.spark.kubespark

import java.io.{File, IOException}
import java.nio.file.{Files, Path}
import java.nio.file.attribute.PosixFilePermissions
import java.util.Locale

import org.apache.spark.SparkConf
import org.apache.spark.util.Utils

/**
 * Where the child's program comes from: the file that `spark.kubespark.manager.path` names, else the copy in our jar,
 * unpacked into a private folder that is deleted once the program runs: even a killed driver leaves nothing. The copy also
 * serves when the named file cannot run: some container runtimes mount image volumes without permission to run files.
 */
private[spark] final class ManagerBinary(conf: SparkConf) {
  import ManagerBinary._

  private var refused = Option.empty[String]

  /** Starts the program, on the calling thread, which is always the same. Throws CannotRunHere with the reason if no way works. */
  def start(): Process = conf.getOption(Settings.ManagerPath).filter(_ => refused.isEmpty).map(startNamed) match {
    case Some(Right(process)) => process
    case Some(Left(reason)) =>
      refused = Some(s"${Settings.ManagerPath}: $reason")
      val process = unpackAndStart()
      DriverLog.clusterManager.warn(s"${refused.get}; the copy in kubespark.jar runs instead.")
      process
    case None => unpackAndStart()
  }

  private def startNamed(path: String): Either[String, Process] =
    if (!new File(path).canExecute) Left(s"$path is not a file that may be executed")
    else try Right(run(path)) catch { case e: IOException => Left(e.getMessage) }

  /** A folder may forbid running files; then the next one is tried. */
  private def unpackAndStart(): Process = {
    val resource = resourceName()
    val roots = System.getProperty("java.io.tmpdir") +: Utils.getConfiguredLocalDirs(conf).toSeq
    val tries = roots.distinct.iterator.map(root => startIn(root, resource))
    val (failed, rest) = tries.span(_.isLeft)
    val reasons = refused.toList ++ failed.flatMap(_.left.toOption)
    rest.nextOption().flatMap(_.toOption).getOrElse(throw new CannotRunHere("kubespark-manager cannot be started: " +
      s"${reasons.mkString("; ")} (${Settings.ManagerPath} may name a copy in a folder that allows it)"))
  }

  private def startIn(root: String, resource: String): Either[String, Process] =
    try {
      Files.createDirectories(new File(root).toPath)
      val folder = Files.createTempDirectory(new File(root).toPath, "kubespark-", ownerOnly)
      try Right(run(unpack(resource, folder).toString)) finally Utils.deleteRecursively(folder.toFile)
    } catch {
      case e: IOException => Left(e.toString)
    }

  private def unpack(resource: String, folder: Path): Path = {
    val in = getClass.getClassLoader.getResourceAsStream(resource)
    if (in == null) throw new CannotRunHere(s"kubespark.jar has no $resource")
    try {
      val file = folder.resolve("kubespark-manager")
      Files.copy(in, file)
      Files.setPosixFilePermissions(file, PosixFilePermissions.fromString("rwx------"))
      file
    } finally in.close()
  }

  private def run(path: String): Process = new ProcessBuilder(path).start()
}

private[spark] object ManagerBinary {
  private val ownerOnly = PosixFilePermissions.asFileAttribute(PosixFilePermissions.fromString("rwx------"))

  private def resourceName(): String = {
    val os = System.getProperty("os.name").toLowerCase(Locale.ROOT)
    val arch = System.getProperty("os.arch") match {
      case "amd64" | "x86_64" => "amd64"
      case "aarch64" | "arm64" => "arm64"
      case other => other
    }
    s"kubespark/$os-$arch/kubespark-manager"
  }
}
