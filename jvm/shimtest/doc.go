// Package shimtest tries kubespark.jar with real Spark and no Kubernetes: a scripted manager (jvm/internal/fakemanager)
// stands in for kubespark-manager and starts stock executors as local processes. The tests need the build tag spark, a
// JDK, Python, and KUBESPARK_SPARK_HOMES, for example "4.1.1=/opt/spark-4.1.1,4.2.0=/opt/spark-4.2.0".
package shimtest
