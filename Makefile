# kubespark's two commands are `make quickstart` and `make test`; everything else is a part of them.
SHELL := bash
.SHELLFLAGS := -euo pipefail -c
MAKEFLAGS += --no-print-directory

VERSION       ?= 0.1.0-dev
SPARK_VERSION ?= 4.2.0
GO            ?= go

LDFLAGS := -s -w -X github.com/kubespark/kubespark/internal/version.Version=$(VERSION)
# The control plane alone imports k8s.io/kubernetes. These flags save a third of its compile time; they are part of the
# build cache's key, so it is always built with them.
CONTROL_PLANE_FLAGS := -gcflags=all='-dwarf=false -l'
KUBERNETES := v1.37.2
K8S_VERSION_PACKAGE := k8s.io/component-base/version
CONTROL_PLANE_LDFLAGS := -s -w -X $(K8S_VERSION_PACKAGE).gitVersion=$(KUBERNETES) -X $(K8S_VERSION_PACKAGE).gitMajor=1 \
	-X $(K8S_VERSION_PACKAGE).gitMinor=37

.PHONY: help
help: ## this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "make %-14s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

.PHONY: build
build: ## bin/: kubespark, kubespark-manager, kubespark-cluster (and its control plane), kubespark.jar, kubespark's image
	@$(MAKE) -j4 image cluster control-plane kubespark

.PHONY: kubespark
kubespark:
	@CGO_ENABLED=0 $(GO) build -trimpath -ldflags '$(LDFLAGS)' -o bin/kubespark ./cmd/kubespark

.PHONY: manager
manager:
	@for arch in amd64 arm64; do \
		CGO_ENABLED=0 GOOS=linux GOARCH=$$arch $(GO) build -trimpath -ldflags '$(LDFLAGS)' \
			-o bin/linux-$$arch/kubespark-manager ./cmd/kubespark-manager; \
	done
	@arch=$$($(GO) env GOHOSTARCH); cmp -s bin/linux-$$arch/kubespark-manager bin/kubespark-manager || \
		install bin/linux-$$arch/kubespark-manager bin/kubespark-manager

.PHONY: jar
jar: manager
	@spark=$$(hack/fetch-spark.sh $(SPARK_VERSION)); \
	hack/jar.sh "$$spark" bin/kubespark.jar bin/linux-amd64/kubespark-manager bin/linux-arm64/kubespark-manager

.PHONY: install
install:
	@for arch in amd64 arm64; do \
		CGO_ENABLED=0 GOOS=linux GOARCH=$$arch $(GO) build -trimpath -ldflags '$(LDFLAGS)' \
			-o bin/linux-$$arch/kubespark-install ./cmd/kubespark-install; \
	done

.PHONY: image
image: jar install ## the image of spark.kubespark.image (amd64, arm64) in bin/kubespark-image.tar; PUSH=name sends it to a registry
	@cd hack/image && $(GO) run . -bin ../../bin -licence ../../LICENSE -version '$(VERSION)' -o ../../bin/kubespark-image.tar \
		$(if $(PUSH),-push '$(PUSH)')

.PHONY: cluster
cluster:
	@mkdir -p bin; cd localcluster && $(GO) build -ldflags '$(LDFLAGS)' -o ../bin/kubespark-cluster ./cmd/kubespark-cluster

.PHONY: control-plane
control-plane:
	@mkdir -p bin; cd localcluster && ../hack/gobuild.sh ../bin/kubespark-control-plane ./cmd/kubespark-control-plane \
		$(CONTROL_PLANE_FLAGS) -ldflags '$(CONTROL_PLANE_LDFLAGS)'

# kwok with its own stages: how a fake node and its pods become ready and are deleted.
.PHONY: kwok
kwok:
	@mkdir -p bin; cd hack/kwok && $(GO) build -trimpath -ldflags '-s -w' -o ../../bin/kwok sigs.k8s.io/kwok/cmd/kwok; \
	cd "$$($(GO) list -m -f '{{.Dir}}' sigs.k8s.io/kwok)/kustomize/stage"; \
	for f in node/fast/node-*.yaml node/heartbeat-with-lease/node-*.yaml pod/fast/pod-*.yaml; do echo ---; cat "$$f"; done >"$(CURDIR)/bin/kwok-stages.yaml"

# Volcano and YuniKorn compile k8s.io/kubernetes of other versions than the control plane's: minutes, and part of no other target.
.PHONY: volcano
volcano:
	@mkdir -p bin; cd hack/volcano; \
	for p in scheduler controller-manager; do \
		../gobuild.sh ../../bin/vc-$$p volcano.sh/volcano/cmd/$$p $(CONTROL_PLANE_FLAGS) -ldflags '-s -w'; \
	done; \
	cd "$$($(GO) list -m -f '{{.Dir}}' volcano.sh/volcano)"; \
	for f in config/crd/volcano/bases/*.yaml config/crd/jobflow/bases/*.yaml; do echo ---; cat "$$f"; done >"$(CURDIR)/bin/volcano-crds.yaml"; \
	install -m 644 installer/helm/chart/volcano/config/volcano-scheduler.conf "$(CURDIR)/bin/volcano-scheduler.conf"

.PHONY: yunikorn
yunikorn:
	@mkdir -p bin; cd hack/yunikorn; \
	../gobuild.sh ../../bin/yunikorn-scheduler github.com/apache/yunikorn-k8shim/pkg/cmd/shim $(CONTROL_PLANE_FLAGS) -ldflags '-s -w'

.PHONY: quickstart
quickstart: ## from nothing to a real Spark job on a local cluster (as root)
	@hack/quickstart.sh

.PHONY: test
test: ## everything that must pass, the end-to-end tests included (as root)
	@hack/test.sh

.PHONY: presubmit
presubmit: ## the gate: format, vet, lint, generated files, dependency direction, unit tests
	@hack/presubmit.sh

.PHONY: e2e
e2e: build ## the end-to-end tests alone; RUN=regexp picks some
	@hack/e2e.sh $(if $(RUN),-run '$(RUN)')

.PHONY: test-long
test-long: ## what is too long for `make test` (as root)
	@hack/test-long.sh

.PHONY: test-contracts
test-contracts: build ## Airflow's hook, the kubeflow operator and Spark's own spark-submit run jobs through ours (as root)
	@hack/contracts.sh

.PHONY: spark-suite
spark-suite: build ## Spark's own Kubernetes integration suite in five columns, hours; resumes (as root); ROWS=1-12 COLUMN=killed SPARK=4.2.0 pick some
	@hack/spark-suite.sh $(if $(ROWS),-rows '$(ROWS)') $(if $(COLUMN),-columns '$(COLUMN)') $(if $(SPARK),-spark '$(SPARK)')

SCHEDULERS ?= volcano yunikorn
.PHONY: spark-suite-schedulers
spark-suite-schedulers: build $(SCHEDULERS) ## the suite's rows 48-54 with Volcano and YuniKorn, built from their Go modules (as root); ROWS, COLUMN, SCHEDULERS=volcano pick some
	@hack/spark-suite.sh -schedulers '$(SCHEDULERS)' $(if $(ROWS),-rows '$(ROWS)') $(if $(COLUMN),-columns '$(COLUMN)')

.PHONY: simulate
simulate: ## the manager against a simulated cluster and Spark: a million rounds of the allocator
	@$(GO) test ./internal/executor/simulation -run TestSimulate -rounds $(or $(ROUNDS),1000000) -first $(or $(FIRST),1) -count 1 -timeout 60m -v | grep -v '^=== '

.PHONY: bench
bench: build kwok ## stock Spark and kubespark side by side (as root, 40 minutes): docs/benchmarks.md; QUICK=1, RESUME=1, ONLY=names
	@mkdir -p bin; $(GO) build -o bin/bench ./hack/bench
	@spark=$$(hack/fetch-spark.sh $(SPARK_VERSION)); bin/bench run -spark-home "$$spark" \
		$(if $(QUICK),-quick -out bin/bench-quick.json -page bin/bench-quick.md) $(if $(RESUME),-resume) $(if $(ONLY),-only '$(ONLY)')

.PHONY: bench-compare
bench-compare: ## what changed between two results of `make bench`: OLD=a.json NEW=b.json
	@$(GO) run ./hack/bench compare '$(OLD)' '$(NEW)'

.PHONY: generate
generate: ## docs/reference from the code
	@hack/generate.sh

.PHONY: scenarios
scenarios: ## each scenario of docs/scenarios.tsv with its tests; fails on one without (LETTERS=PSEC picks kinds)
	@$(GO) run ./hack/scenarios $(if $(LETTERS),-letters $(LETTERS))

.PHONY: record
record: ## what stock Spark sends for the cases of internal/fidelity (a JDK 17; minutes)
	@hack/record.sh

.PHONY: clean
clean: ## removes bin/; the downloads stay in the cache folder, see README
	rm -rf bin
