package org.apache.spark.kubespark

import java.util.concurrent.ConcurrentHashMap

import scala.jdk.CollectionConverters._

import com.codahale.metrics.{Gauge, MetricRegistry}
import com.fasterxml.jackson.databind.JsonNode

import org.apache.spark.SparkEnv
import org.apache.spark.metrics.source.Source

/** The manager's figures as gauges of Spark's metrics system, under the source name `kubespark`. */
private[spark] final class ManagerMetrics(appId: String) extends Source {
  override val sourceName: String = "kubespark"
  override val metricRegistry: MetricRegistry = new MetricRegistry

  private val values = new ConcurrentHashMap[String, java.lang.Double]()

  def register(): Unit = env.foreach(_.registerSource(this))
  def unregister(): Unit = env.foreach(_.removeSource(this))

  def update(figures: JsonNode): Unit = figures.properties().asScala.foreach { entry =>
    val name = entry.getKey
    val first = values.put(name, entry.getValue.asDouble()) == null
    if (first) {
      metricRegistry.register(name, new Gauge[java.lang.Double] { override def getValue: java.lang.Double = values.get(name) })
    }
  }

  override def toString: String = s"metrics of $appId"

  private def env = Option(SparkEnv.get).map(_.metricsSystem)
}
