# ironic-throttle. `make help` lists what there is; Go and make are enough for
# everything but e2e (Debian, root), lint (builds its linter once) and image (docker
# or podman).

GO      ?= go
BIN     := bin
BINARY  := $(BIN)/ironic-throttle
LAB     := $(BIN)/ironic-throttle-lab
# All packages: ./... leaves out pkg/api, which is a module of its own.
HOUSE   := github.com/ironic-throttle/ironic-throttle

# The tag of this commit where there is one; a tarball has no git.
# pkg/api/v* are the tags of the client's module.
VERSION ?= $(shell test -e .git && git describe --tags --match 'v[0-9]*' --always --dirty 2>/dev/null || echo dev)
COMMIT  ?= $(shell test -e .git && git rev-parse HEAD 2>/dev/null)
LDFLAGS  = -s -w -X $(HOUSE)/internal/cli.version=$(VERSION)

# The race detector needs cgo and a C compiler; without them the tests run all the
# same.
RACE := $(shell test "$$($(GO) env CGO_ENABLED)" = 1 && command -v "$${CC:-gcc}" >/dev/null 2>&1 && echo -race)

GOLANGCI_VERSION := $(shell sed -n 's|.*/golangci-lint/v2 \(v[^ ]*\).*|\1|p' hack/tools/go.mod)
# Built once for all clones, as hack/*/install.sh keeps what it builds.
TOOLS            := $(or $(XDG_CACHE_HOME),$(HOME)/.cache)/ironic-throttle
GOLANGCI         := $(TOOLS)/golangci-lint-$(GOLANGCI_VERSION)
TESTSUM_VERSION  := $(shell sed -n 's|.*gotest.tools/gotestsum \(v[^ ]*\).*|\1|p' hack/tools/go.mod)
TESTSUM          := $(TOOLS)/gotestsum-$(TESTSUM_VERSION)
# A line for each package, the output of what failed. In LOUD also that of what passed. Each package ends after
# half an hour, with its goroutines in the output, unless a target says otherwise.
GOTEST  = $(TESTSUM) --format pkgname-and-test-fails --format-icons text --format-hide-empty-pkg --hide-summary skipped $(AFTER) -- -timeout 30m
LOUD    = $(TESTSUM) --format standard-verbose --hide-summary skipped $(AFTER) --
AFTER  := --post-run-command $(CURDIR)/hack/tally.sh

# Without the folder of this clone in what is compiled, the build cache serves other clones too.
OWN_GOFLAGS    := $(shell $(GO) env GOFLAGS)
export GOFLAGS := $(strip $(OWN_GOFLAGS) -trimpath)

# Knobs of the targets below.
DEMO_FLAGS  ?=
BUILDFLAGS  ?=
ATTACK      ?= 10m
LONGRUN     ?= 30m
TESTFLAGS   ?=
SEARCH      ?= 10000
SOAK        ?= 10000
LAWS        ?= 100000
SEED        ?= 1
SEEDS       ?= 1
FUZZTIME    ?= 20s
FUZZ        ?= .
PKG         ?= ./pkg/slots
BENCH       ?=
BMO_SRC     ?=
RELEASE_FLAGS ?=
IMG         ?= ironic-throttle:dev
OVERLAY     ?= observe
ENGINE      ?= $(notdir $(or $(shell command -v docker 2>/dev/null),$(shell command -v podman 2>/dev/null),docker))
RUN_NODES   ?= 200
COVER_FLOOR ?= 90

.DEFAULT_GOAL := help
.PHONY: help build release release-check release-test demo run quick test test-unraced test-both test-raced manifests search soak sabotage attack longrun storms nightly vuln size cover fuzz mutants bench system e2e e2e-ironic e2e-kube e2e-page lint markdown fmt plugin image docker-build deploy undeploy clean $(BINARY) $(LAB)

##@ Use

help: ## List the targets
	@awk 'BEGIN {FS = ":.*## "} \
	  /^##@ / {printf "\n%s\n", substr($$0, 5)} \
	  /^[a-z0-9-]+:.*## / {printf "  make %-12s %s\n", $$1, $$2}' Makefile

build: $(BINARY) $(LAB) ## Build bin/ironic-throttle and bin/ironic-throttle-lab

$(BINARY) $(LAB): $(BIN)/%:
	CGO_ENABLED=0 $(GO) build $(BUILDFLAGS) -ldflags '$(LDFLAGS)' -o $@ ./cmd/$*

# The first build takes minutes, and go says nothing while it compiles: every so many packages are counted.
COUNTED = { n=0; while IFS= read -r line; do case $$line in \
  "exit "*) exit $${line\#exit };; *" "*) echo "$$line";; \
  *) n=$$((n + 1)); test $$((n % 50)) -ne 0 || echo "  $$n packages compiled";; esac; done; }

demo: ## A storm of hosts against the throttle, in one process (DEMO_FLAGS="--via check")
	@echo "make demo, 1 of 2: builds $(LAB); the first time Go fetches modules and compiles some 800 packages, about two minutes on two cores, later seconds"
	@{ $(MAKE) --no-print-directory $(LAB) BUILDFLAGS=-v; echo "exit $$?"; } 2>&1 | $(COUNTED)
	@echo "make demo, 2 of 2: a storm of hosts, about a minute: $(LAB) demo $(DEMO_FLAGS)"
	@$(LAB) demo $(DEMO_FLAGS)

run: $(BINARY) $(LAB) ## A fake Ironic and the throttle on loopback until Ctrl-C (RUN_NODES=200)
	@BINARY=$(BINARY) LAB=$(LAB) NODES=$(RUN_NODES) sh hack/run.sh

plugin: export GOFLAGS = $(OWN_GOFLAGS)
plugin: ## BMO's provisioner that asks the throttle (BMO_SRC=checkout of baremetal-operator, from v0.14 on)
	@BMO_SRC='$(BMO_SRC)' plugin/build.sh

image: ## Build the container image (IMG=ironic-throttle:dev, ENGINE=podman)
	$(ENGINE) build -f deploy/Dockerfile --build-arg VERSION=$(VERSION) --build-arg COMMIT=$(COMMIT) -t $(IMG) .

docker-build: image ## The same, by the name that other operators use

# A kustomization of deploy/overlays with this image. None of them has BMO or a namespace in it, so undeploy
# leaves both alone.
MANIFEST = kubectl kustomize deploy/overlays/$(OVERLAY) | sed 's|image: ironic-throttle:dev$$|image: $(IMG)|'

deploy: ## Put an overlay into the cluster of KUBECONFIG (OVERLAY=observe, IMG=ironic-throttle:dev)
	$(MANIFEST) | kubectl apply -f -

undeploy: ## Take it out again (OVERLAY=observe)
	$(MANIFEST) | kubectl delete --ignore-not-found -f -

# The Go that builds a release is named in one place, so that the same commit gives the same bytes.
RELEASE_GO = GOTOOLCHAIN=$$(sed -n 's/^toolchain //p' hack/release/go.mod)

release: ## Binaries, images, SBOM, manifests, Helm chart and checksums in dist/ (VERSION of the tag; RELEASE_FLAGS="-arch amd64")
	$(RELEASE_GO) $(GO) -C hack/release run . -version $(VERSION) -commit $(COMMIT) $(RELEASE_FLAGS)

release-check: ## make release twice, the second time of a clone in another folder and with an empty cache: equal bytes?
	@RELEASE_FLAGS='$(RELEASE_FLAGS)' hack/release/check.sh

release-test: $(TESTSUM) ## The release's own tests: image, SBOM, chart = kustomize
	cd hack/release && $(GOTEST) $(TESTFLAGS) ./...

##@ Check

# These have no goroutine and no lock, read files, start process after process, or play storms and plans: the race
# detector would make them six to twenty times slower. What takes longest begins first.
UNRACED := ./cmd/ironic-throttle ./internal/rig/play ./internal/rig/simulate ./pkg/disruption/... ./pkg/fairshare \
  ./internal/rig/archtest ./internal/kube/execute ./internal/rig/soak ./pkg/admission ./pkg/breaker ./pkg/holdoff ./pkg/sizing ./pkg/slots \
  ./internal/gateway/classify ./internal/kube/capi ./internal/cli ./internal/metrics ./internal/nearest \
  ./internal/page ./internal/plainfile ./internal/secret ./internal/statusview ./hack/bench ./hack/size ./plugin/asker
# All of their cases run without the race detector, and those that are -short with it as well.
BOTH := ./internal/rig/play ./pkg/admission
# This one builds Kustomize, and runs it for each way to deploy.
MANIFESTS := ./internal/rig/deploytest
# This one compiles the product once more, with counters.
WAYS := ./internal/rig/ways

quick: $(TESTSUM) ## The first answer, in about a minute: build, vet, rules of the house, short tests, no race detector
	@echo "make quick: builds, vets, and runs the rules of the house and the short tests of all packages but the slow ones, without the race detector; about a minute, two where nothing is compiled (make test runs everything)"
	@$(MAKE) --no-print-directory build
	$(GO) vet $(HOUSE)/...
	@packages=$$($(GO) list $(HOUSE)/pkg/... ./cmd/... ./internal/... ./hack/... ./plugin/... | grep -v '/internal/rig/\(attack\|demo\|deploytest\|simulate\|ways\)') && \
	  GOMAXPROCS=1 $(GOTEST) -p $$(nproc 2>/dev/null || echo 2) -vet=off -short -timeout 10m $$packages || \
	  { echo "make quick: run what failed or hung alone, to see where: go test -short -v -run TEST PACKAGE"; exit 1; }

# The runs with and without the race detector are side by side, and twice as many tests as cores in each, as some wait
# for real time. The race detector holds up the end of each process for 1 s unless told otherwise.
# make lint vets; go test would do so once more, all that is imported too.
test: export GORACE = atexit_sleep_ms=10
# Heaps of tests are small: collected less often, they cost a fifth less.
test: export GOGC = 400
test: ## All tests that need no installed server and no Kustomize, under the race detector where goroutines are
	@echo "make test: with and without the race detector side by side; about two and a half minutes on two cores where all is compiled; a package is shown when it is done"
	@$(MAKE) --no-print-directory -j 3 test-unraced test-both test-raced

SIDE_BY_SIDE = -p 2 -parallel $$((2 * $$(nproc 2>/dev/null || echo 2)))

# A second thread for the collector costs as much as it saves where one goroutine works.
test-unraced test-both: export GOMAXPROCS = 1
test-unraced: $(TESTSUM)
	$(GOTEST) -vet=off $(SIDE_BY_SIDE) $(TESTFLAGS) $(UNRACED)

test-both: $(TESTSUM)
ifneq ($(RACE),)
	$(GOTEST) $(RACE) -vet=off -short -p 1 $(TESTFLAGS) $(BOTH)
endif

test-raced: $(TESTSUM)
	@packages=$$($(GO) list $(HOUSE)/... | grep -vxF "$$($(GO) list $(UNRACED) $(MANIFESTS) $(WAYS))") && \
	  $(GOTEST) $(RACE) -vet=off $(SIDE_BY_SIDE) $(TESTFLAGS) $$packages

manifests: $(TESTSUM) ## What must hold of deploy/: make test and make quick leave it out
	$(GOTEST) -vet=off $(TESTFLAGS) $(MANIFESTS)

search: $(TESTSUM) ## Look for histories that break the limit or a law of turns, plans that break one (SEARCH=10000, from SEED=1; LAWS=100000)
	$(LOUD) -timeout 120m -count=1 -run 'Law|ChangeNothing' ./pkg/slots ./pkg/admission \
	  -args -rapid.checks=$(LAWS) -rapid.seed=$(SEED)
	$(LOUD) -timeout 60m -count=1 -run '^TestNoPlan|^TestPlansSave|^TestPlacementsHold|^TestTheJudge' ./pkg/disruption \
	  -args -plan.cases=$(SEARCH) -plan.seed=$(SEED)
	$(LOUD) -timeout 60m -count=1 -run '^TestLaws|^TestTheLimit|^TestALimit|^TestAnything' ./pkg/fairshare ./pkg/sizing ./internal/kube/execute \
	  -args -rapid.checks=$$(($(LAWS) / 100)) -rapid.seed=$(SEED)
	$(LOUD) -timeout 30m -count=1 -run '^TestNamesThatMove' \
	  ./internal/gateway -args -rapid.checks=1000 -rapid.seed=$(SEED)

soak: $(TESTSUM) ## Random histories of the whole system in virtual time, with all that can go wrong (SOAK=10000, or a time such as 4h; from SEED=1)
	$(LOUD) -timeout 0 -count=1 -run '^TestNoHistory' ./internal/rig/soak -args -soak$(if $(filter %s %m %h,$(SOAK)),.for)=$(SOAK) -soak.seed=$(SEED)

sabotage: $(TESTSUM) ## Break the product on purpose, in one way after the other: the histories of make soak must find each within 1000
	$(LOUD) -timeout 0 -count=1 -run '^TestSabotage' ./internal/rig/soak -args -sabotage -soak.seed=$(SEED)

attack: $(TESTSUM) ## The real process in 384 MiB, attacked with real hosts at work (ATTACK=10m)
	$(LOUD) -timeout 2h -count=1 ./internal/rig/attack -args -attack.for=$(ATTACK) -attack.slow=3000 -attack.idle=500

longrun: $(TESTSUM) ## The real process for long, with hosts, faults and changed settings: what it holds stays flat (LONGRUN=30m)
	$(LOUD) -timeout 0 -count=1 -run StaysFlat ./internal/rig/attack -args -attack.longrun=$(LONGRUN)

storms: $(TESTSUM) ## Storms of up to 20,000 hosts in virtual time, by both ways in, held against their bounds, and all that pages show (SEEDS=1)
	$(LOUD) -timeout 120m -count=1 -run '^TestStormsKeep|^TestPagesShow' ./internal/rig/simulate -args -storms.whole -storms.seeds=$(SEEDS) -simulate.everything

size: ## Lines of each room, of the product and of its tests, beside what they may be
	@$(GO) run ./hack/size

cover: $(TESTSUM) ## Statement coverage of pkg/, at least 90 % (COVER_FLOOR=90)
	@mkdir -p $(BIN)
	$(GOTEST) -coverpkg=$(HOUSE)/pkg/... -coverprofile=$(BIN)/cover.out $(HOUSE)/pkg/...
	@$(GO) tool cover -func=$(BIN)/cover.out >$(BIN)/cover.txt
	@echo "functions of which less than 80 % ran:"
	@awk -v floor=$(COVER_FLOOR) '{part = $$NF; sub("%", "", part)} \
	  /^total:/ {print "all statements of pkg/: " $$NF; if (part + 0 < floor) {print "below " floor " %"; exit 1} next} \
	  part + 0 < 80 {print "  " $$0}' $(BIN)/cover.txt

fuzz: ## Each fuzz test for a while (FUZZTIME=20s; FUZZ=a part of its name)
	@set -e; folders=$$($(GO) list -f '{{.Dir}}' $(HOUSE)/...); for dir in $$folders; do \
	  listed=$$($(GO) -C $$dir test -list '^Fuzz' .); \
	  for f in $$(printf '%s\n' "$$listed" | sed -n '/^Fuzz/p' | grep '$(FUZZ)'); do \
	    echo "$$dir $$f"; $(GO) -C $$dir test -run '^$$' -fuzz "^$$f\$$" -fuzztime $(FUZZTIME) -fuzzminimizetime 10x .; \
	  done; done

mutants: ## What the tests of PKG=./pkg/slots do not notice of small faults in it (gremlins; minutes)
	GOFLAGS=-short $(GO) run github.com/go-gremlins/gremlins/cmd/gremlins@v0.6.0 unleash $(PKG)

bench: ## Speed against its targets, in one run (BENCH=regexp: Go benchmarks of that name)
ifeq ($(BENCH),)
	@$(GO) run ./hack/bench
else
	$(GO) test -run '^$$' -bench '$(BENCH)' -benchmem ./pkg/... ./internal/...
endif

system: ## What e2e runs on, made where it is not there yet (root on Debian)
	hack/ironic/install.sh
	hack/chromium/install.sh
	$(SYSTEM) true

e2e: ## The suites on a real Ironic from Debian's packages (root on Debian; installs them), on SQLite and MariaDB, a real API server and a real operator; the page in Chromium
	@$(MAKE) --no-print-directory e2e-ironic
	@$(MAKE) --no-print-directory e2e-kube
	@$(MAKE) --no-print-directory e2e-page

# Two packages at once: each of them mostly waits.
e2e-ironic: system $(TESTSUM)
	$(SYSTEM) $(GOTEST) -tags e2e -p 2 -timeout 60m -count=1 ./e2e ./e2e/suite ./e2e/bmo

# Ironic is a fake here, in the tests' own process.
e2e-kube: system $(TESTSUM)
	$(SYSTEM) $(GOTEST) -tags e2e -timeout 60m -count=1 ./e2e/kube

e2e-page: $(BINARY) $(LAB) system $(TESTSUM)
	cd e2e/page && $(GOTEST) -timeout 10m -count=1 .

# What the suites run, made where it is not there yet.
SYSTEM = root=$$(hack/ironic/chroot.sh) && assets=$$(hack/kube/install.sh) && bmo=$$(hack/bmo/install.sh) && \
  IRONIC_CHROOT=$$root KUBEBUILDER_ASSETS=$$assets BMO_ASSETS=$$bmo

lint: $(GOLANGCI) $(TESTSUM) ## gofmt, go vet, golangci-lint, tidiness of go.mod, actionlint, how many functions a request passes
	@test -z "$$(gofmt -l cmd e2e hack internal pkg plugin)" || { gofmt -l cmd e2e hack internal pkg plugin; echo "make fmt formats these"; exit 1; }
	$(GO) vet -tags e2e ./...
	$(GO) run github.com/rhysd/actionlint/cmd/actionlint@v1.7.12
	@set -e; for module in . pkg/api hack/release e2e/page; do cd $(CURDIR)/$$module; echo "lint $$module"; \
	  $(GO) vet ./...; $(GO) mod tidy -diff; $(GOLANGCI) run ./...; done
	$(GOTEST) -vet=off $(TESTFLAGS) $(WAYS)

markdown: ## markdownlint on all pages (npx)
	npx --yes markdownlint-cli2@0.24.1

fmt: ## gofmt what is not formatted
	gofmt -l -w cmd e2e hack internal pkg plugin

nightly: ## What takes too long for .ci/run, one after the other, for many hours; nightly.yml has them side by side
	@failed=; for run in $(NIGHT); do echo "== make $$run"; \
	  $(MAKE) --no-print-directory $$(echo $$run | tr , ' ') SEED=$(SEED) || failed="$$failed $$run"; done; \
	  test -z "$$failed" || { echo "failed:$$failed"; exit 1; }
NIGHT := search soak,SOAK=2h sabotage storms attack longrun fuzz,FUZZTIME=60s e2e release-check

vuln: ## Known vulnerabilities of what is built in; asks vuln.go.dev
	$(GO) run golang.org/x/vuln/cmd/govulncheck@v1.9.0 ./...

##@ Tools

$(GOLANGCI): TOOL = github.com/golangci/golangci-lint/v2/cmd/golangci-lint
$(TESTSUM): TOOL = gotest.tools/gotestsum
$(GOLANGCI) $(TESTSUM):
	@mkdir -p $(@D)
	cd hack/tools && CGO_ENABLED=0 $(GO) build -o $@.$$$$ $(TOOL) && mv $@.$$$$ $@

clean: ## Remove what was built
	rm -rf $(BIN) build dist
