// Package e2e holds the end-to-end tests: real Spark jobs on a local cluster that the tests start from bin/ and take down
// again. They run behind the build tag e2e (`make e2e`), need root, and read
//
//	KUBESPARK_BIN          the folder of the built programs
//	KUBESPARK_SPARK_HOMES  version=folder,… of the Spark distributions
package e2e
