package depcheck

// module is the root module's path; every row below is relative to it.
const module = "github.com/kubespark/kubespark/"

// allowed says which packages of the module each package may import directly. Everything may import internal/version.
var allowed = map[string][]string{
	"cmd/kubespark":         {"internal/cli"},
	"examples/submit-many":  {"conf", "submit"},
	"hack/fidelity":         {"internal/fidelity"},
	"internal/fidelity":     {"conf", "internal/cli", "internal/executor/sets", "internal/feature", "internal/kube", "internal/sparkpod", "submit"},
	"hack/scenarios":        {},
	"hack/bench":            {"conf", "submit", "hack/bench/page", "hack/bench/result", "hack/bench/rig", "hack/interrupt"},
	"hack/interrupt":        {},
	"hack/bench/page":       {"hack/bench/result"},
	"hack/bench/result":     {},
	"hack/bench/rig":        {"conf", "hack/bench/result", "internal/bridge", "internal/bridgetest", "internal/kube"},
	"internal/bridgetest":   {"internal/bridge"},
	"cmd/kubespark-manager": {"internal/bridge", "internal/executor"},
	"cmd/kubespark-install": {},

	"internal/cli": {"conf", "submit", "internal/kube", "internal/reference"},
	"submit":       {"conf", "internal/feature", "internal/kube", "internal/sparkpod", "internal/upload"},

	"internal/executor/simulation": {"internal/executor", "internal/executor/snapshot", "internal/kube", "internal/sparkpod"},

	"internal/bridge": {"internal/sparkpod"},
	"internal/executor": {
		"conf", "internal/feature", "internal/kube", "internal/sparkpod", "internal/executor/api",
		"internal/executor/allocator", "internal/executor/claims", "internal/executor/lifecycle", "internal/executor/sets",
		"internal/executor/snapshot", "internal/executor/source",
	},
	"internal/executor/source":    {"internal/executor/api", "internal/executor/snapshot", "internal/kube"},
	"internal/executor/api":       {"internal/executor/snapshot", "internal/kube", "internal/sparkpod"},
	"internal/executor/allocator": {"internal/executor/snapshot"},
	"internal/executor/lifecycle": {"internal/executor/snapshot"},
	"internal/executor/sets":      {"internal/sparkpod"},
	"internal/executor/snapshot":  {"internal/sparkpod"},
	"internal/executor/claims":    {},

	"internal/feature":   {"conf", "internal/sparkpod"},
	"internal/sparkpod":  {"conf"},
	"internal/kube":      {"conf"},
	"internal/upload":    {},
	"internal/reference": {},
	"internal/version":   {},
	"internal/depcheck":  {},
	"conf":               {},
}

// heavy names libraries that must stay out of a program, "..." meaning every package, with all that lies below them.
var heavy = map[string][]string{
	"...": {"k8s.io/kubernetes", "k8s.io/client-go/kubernetes", "k8s.io/apiserver"},
	"cmd/kubespark-manager": {"github.com/spf13/cobra", "k8s.io/api/apps", "k8s.io/client-go/informers", "gocloud.dev", "cloud.google.com",
		"github.com/kubespark/kubespark/internal/upload", "github.com/aws", "github.com/Azure", "github.com/colinmarc/hdfs", "golang.org/x/oauth2/google"},
	"conf": {"k8s.io/api", "k8s.io/apimachinery", "k8s.io/client-go"},
}
