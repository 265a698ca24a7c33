package org.apache.spark.kubespark

import java.util.concurrent.ConcurrentHashMap

import scala.jdk.CollectionConverters._

import com.codahale.metrics.{Gauge, MetricRegistry}
import com.fasterxml.jackson.databind.JsonNode

import org.apache.spark.{SparkConf, SparkEnv}
import org.apache.spark.metrics.source.Source

/** The manager's figures as gauges of Spark's metrics system, under the source name `kubespark`. */
private[spark] final class ManagerMetrics(conf: SparkConf) extends Source {
  override val sourceName: String = "kubespark"
  override val metricRegistry: MetricRegistry = new MetricRegistry

  private val values = new ConcurrentHashMap[String, java.lang.Double]()

  private var registered = false

  /** Takes the manager's newest figures. Spark knows under which name to register them only when the context is made. */
  def update(figures: JsonNode): Unit = synchronized {
    if (!registered && conf.contains("spark.app.id")) env.foreach { env =>
      registered = true
      env.metricsSystem.registerSource(this)
    }
    figures.properties().asScala.foreach { entry =>
      val name = entry.getKey
      if (values.put(name, entry.getValue.asDouble()) == null) {
        metricRegistry.register(name,
          new Gauge[java.lang.Double] { override def getValue: java.lang.Double = values.get(name) })
      }
    }
  }

  def unregister(): Unit = synchronized {
    if (registered) env.foreach(_.metricsSystem.removeSource(this))
    registered = false
  }

  private def env = Option(SparkEnv.get)
}
