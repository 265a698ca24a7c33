package feature

import (
	"testing"

	"github.com/kubespark/kubespark/internal/sparkpod"
)

func TestShimImage(t *testing.T) {
	image := func(more kv) kv {
		c := kv{"spark.kubespark.image": "kubespark:1", "spark.kubernetes.container.image.pullPolicy": "Always", "spark.driver.memory": "1g"}
		for k, v := range more {
			c[k] = v
		}
		return c
	}
	const security = `{"allowPrivilegeEscalation":false,"capabilities":{"drop":["ALL"]},"readOnlyRootFilesystem":true,` +
		`"runAsNonRoot":true,"seccompProfile":{"type":"RuntimeDefault"}}`
	runCases(t, []podCase{
		{name: "an init container copies", role: sparkpod.Driver, conf: image(nil), want: kv{
			"s|initContainers|0|name": "kubespark-install", "s|initContainers|0|image": "kubespark:1", "s|initContainers|0|imagePullPolicy": "Always",
			"s|initContainers|0|command": "<none>", "s|initContainers|0|args": `["/opt/kubespark"]`,
			"s|initContainers|0|volumeMounts":    `[{"mountPath":"/opt/kubespark","name":"kubespark"}]`,
			"s|initContainers|0|resources":       `{"limits":{"memory":"1408Mi"},"requests":{"cpu":"1","memory":"1408Mi"}}`,
			"s|initContainers|0|securityContext": security,
			"s|volumes|=kubespark":               `{"emptyDir":{},"name":"kubespark"}`,
			"c|volumeMounts|=kubespark":          `{"mountPath":"/opt/kubespark","name":"kubespark","readOnly":true}`,
		}},
		{name: "an image volume", role: sparkpod.Driver, conf: image(kv{"spark.kubespark.image.volume": "true"}), want: kv{
			"s|initContainers": "<none>", "s|volumes|=kubespark": `{"image":{"pullPolicy":"Always","reference":"kubespark:1"},"name":"kubespark"}`,
			"c|volumeMounts|=kubespark": `{"mountPath":"/opt/kubespark","name":"kubespark","readOnly":true}`,
		}},
		{name: "after a template's own", role: sparkpod.Driver, conf: image(nil),
			template: "spec: {securityContext: {runAsUser: 0}, initContainers: [{name: mine, image: x, unknownField: 1}]}",
			want: kv{
				"s|initContainers|*name": "mine,kubespark-install", "s|initContainers|0|unknownField": "1",
				"s|initContainers|1|securityContext|runAsUser": "65532",
			}},
		{name: "no executor needs it", role: sparkpod.Executor, conf: image(nil), want: kv{"s|initContainers": "<none>", "s|volumes|=kubespark": "<none>"}},
		{name: "a volume of the same name", role: sparkpod.Driver, errHas: "spark.kubespark.image: the pod has a volume kubespark already",
			conf: image(kv{"spark.kubernetes.driver.volumes.emptyDir.kubespark.mount.path": "/x"})},
		{name: "a container of the same name", role: sparkpod.Driver, errHas: "the pod has a container kubespark-install already",
			conf: image(nil), template: "spec: {containers: [{name: a, image: x}, {name: kubespark-install, image: x}]}"},
		{name: "a mount at the same place", role: sparkpod.Driver, errHas: "the volume v is mounted at /opt/kubespark already",
			conf: image(kv{"spark.kubernetes.driver.volumes.emptyDir.v.mount.path": "/opt/kubespark"})},
	})
}
