package org.apache.spark.kubespark

import com.fasterxml.jackson.databind.JsonNode
import com.fasterxml.jackson.databind.node.ObjectNode

import org.apache.spark.resource.ResourceProfile

/** Resource profiles as the bridge writes them. Amounts of memory are in MiB, as Spark holds them. */
private[spark] object Profiles {

  def array(profiles: Iterable[ResourceProfile]): JsonNode = {
    val array = Json.mapper.createArrayNode()
    profiles.foreach(profile => array.add(node(profile)))
    array
  }

  def node(profile: ResourceProfile): ObjectNode = {
    val node = Json.obj().put("id", profile.id)
    val executor = node.putObject("executorResources")
    profile.executorResources.foreach { case (name, request) =>
      executor.putObject(name)
        .put("amount", request.amount)
        .put("vendor", request.vendor)
        .put("discoveryScript", request.discoveryScript)
    }
    val task = node.putObject("taskResources")
    profile.taskResources.foreach { case (name, request) => task.putObject(name).put("amount", request.amount) }
    node
  }
}
