package archtest

// module is the path that every import of the house begins with.
const module = "github.com/ironic-throttle/ironic-throttle"

// imports is one row of the import table: what the package may import besides the
// standard library. Whatever is not listed is forbidden.
type imports struct {
	// house lists packages of this module, relative to its root.
	house []string
	// outside lists import paths of other modules; a path allows what is below
	// it too.
	outside []string
	// tests lists what only the _test.go files may import in addition, from the
	// house or from outside (a path with a dot in its first element).
	tests []string
}

// Outside libraries that more than one row names.
const (
	prometheus = "github.com/prometheus/client_golang"
	gophercl   = "github.com/gophercloud/gophercloud/v2"
	viper      = "github.com/spf13/viper"
	cobra      = "github.com/spf13/cobra"
	pflag      = "github.com/spf13/pflag"
	gocmp      = "github.com/google/go-cmp"
	metal3     = "github.com/metal3-io/baremetal-operator/apis/metal3.io/v1alpha1"
	terminal   = "golang.org/x/term"
)

// testLibraries may be imported by every _test.go file.
var testLibraries = []string{
	gocmp,
	"github.com/rogpeppe/go-internal/testscript",
	"go.uber.org/goleak",
	"pgregory.net/rapid",
}

// testPackages may be imported by every _test.go file outside pkg/api: the words and
// the fakes that tests run against.
var testPackages = []string{
	"pkg/api", "pkg/ironic", "internal/rig/fakeironic", "internal/rig/bmo", "internal/rig/nodes",
}

// table is the import table (docs/dev/architecture.md). Packages that are agreed and not
// built yet have no row: the one who builds them adds it.
var table = map[string]imports{
	"cmd/ironic-throttle": {
		house: []string{
			"internal/app", "internal/cli", "internal/config", "internal/statusview", "pkg/api", "pkg/disruption",
		},
		outside: []string{cobra, pflag},
		tests:   []string{"internal/rig/lab"},
	},
	"cmd/ironic-throttle-lab": {house: []string{"internal/rig/lab"}},
	"internal/cli":            {house: []string{"internal/nearest"}, outside: []string{cobra, pflag, terminal}},

	// What others may import: standard library and each other's words.
	"pkg/api":       {},
	"pkg/ironic":    {house: []string{"pkg/api", "internal/plainfile", "internal/secret"}, outside: []string{gophercl, "golang.org/x/sync/errgroup"}},
	"pkg/slots":     {house: []string{"pkg/breaker", "pkg/ironic", "pkg/api"}}, // a slot has the permit of a breaker
	"pkg/fairshare": {house: []string{"pkg/slots"}},
	"pkg/breaker":   {},
	"pkg/holdoff":   {house: []string{"pkg/api"}},
	"pkg/sizing":    {house: []string{"pkg/api"}},
	"pkg/snapshot":  {},
	"pkg/disruption": {
		house:   []string{"pkg/api", "pkg/disruption/budget"},
		outside: []string{"k8s.io/api", "k8s.io/apimachinery", "k8s.io/component-helpers", "k8s.io/klog/v2", "sigs.k8s.io/json"},
	},
	"pkg/disruption/budget": {house: []string{"pkg/api"}, outside: []string{"github.com/robfig/cron/v3", "sigs.k8s.io/json"}},
	"pkg/admission":         {house: []string{"internal/nearest", "pkg/slots", "pkg/fairshare", "pkg/breaker", "pkg/holdoff", "pkg/sizing", "pkg/ironic", "pkg/api"}},

	"internal/config":    {house: []string{"internal/nearest", "internal/plainfile", "pkg/disruption", "pkg/disruption/budget"}, outside: []string{viper, pflag, "go.yaml.in/yaml/v3"}},
	"internal/nearest":   {},
	"internal/secret":    {},
	"internal/logging":   {},
	"internal/plainfile": {},
	"internal/httpserve": {house: []string{"internal/plainfile", "internal/logging"}},
	"internal/store":     {house: []string{"internal/plainfile", "pkg/holdoff", "pkg/sizing"}},
	"internal/inventory": {house: []string{"internal/logging", "pkg/admission", "pkg/breaker", "pkg/slots", "pkg/ironic", "pkg/snapshot"}},
	"internal/page":      {house: []string{"pkg/api"}, tests: []string{"golang.org/x/net"}},
	"internal/server":    {house: []string{"internal/httpserve", "internal/nearest", "internal/page", "pkg/admission", "pkg/snapshot", "pkg/api"}, tests: []string{"internal/metrics", "go.yaml.in/yaml/v3"}},
	"internal/metrics":   {house: []string{"internal/gateway", "internal/httpserve", "pkg/ironic", "pkg/api"}, outside: []string{prometheus}},
	"internal/gateway": {
		house:   []string{"internal/gateway/classify", "internal/httpserve", "internal/inventory", "internal/logging", "pkg/admission", "pkg/ironic", "pkg/api"},
		outside: []string{"golang.org/x/sync/semaphore"},
	},
	"internal/gateway/classify": {house: []string{"pkg/ironic"}, tests: []string{"internal/gateway", "pkg/admission", "pkg/api"}},
	"internal/planner":          {house: []string{"pkg/disruption", "pkg/api"}},
	"internal/decisionlog":      {house: []string{"pkg/admission", "pkg/slots", "pkg/ironic", "pkg/api"}},
	"internal/clusterhosts": {
		house: []string{
			"internal/config", "internal/decisionlog", "internal/kube/hosts", "internal/kube/tell",
			"pkg/admission", "pkg/slots", "pkg/ironic", "pkg/api",
		},
		tests: []string{"pkg/holdoff", "pkg/sizing"},
	},
	"internal/app": {
		house: []string{
			"internal/clusterhosts", "internal/config", "internal/decisionlog", "internal/gateway", "internal/httpserve", "internal/inventory", "internal/logging", "internal/metrics", "internal/planner", "internal/server", "internal/store",
			"internal/kube", "internal/kube/access", "internal/kube/capi", "internal/kube/claim", "internal/kube/execute", "internal/kube/find", "internal/kube/fleet", "internal/kube/hosts", "internal/kube/lead", "internal/kube/tell", "internal/kube/workload",
			"pkg/admission", "pkg/disruption", "pkg/disruption/budget", "pkg/slots", "pkg/breaker", "pkg/holdoff", "pkg/sizing", "pkg/snapshot", "pkg/ironic", "pkg/api",
		},
		tests:   []string{"internal/rig/child"},
		outside: []string{"golang.org/x/sync/errgroup"},
	},
	"internal/kube": {house: []string{"internal/kube/objects"}, outside: []string{"k8s.io/api", "k8s.io/apimachinery", "k8s.io/client-go", "k8s.io/klog/v2", "sigs.k8s.io/controller-runtime/pkg"}},
	"internal/kube/objects": {
		outside: []string{"k8s.io/api", "k8s.io/apimachinery", "sigs.k8s.io/controller-runtime/pkg/client", metal3},
	},
	"internal/kube/workload": {
		house:   []string{"internal/kube", "pkg/disruption"},
		outside: []string{"k8s.io/api/core/v1", "k8s.io/apimachinery", "k8s.io/client-go", "sigs.k8s.io/controller-runtime/pkg/client"},
	},
	"internal/kube/access": {
		house:   []string{"internal/logging"},
		outside: []string{"k8s.io/api", "k8s.io/apimachinery", "sigs.k8s.io/controller-runtime/pkg/client", "golang.org/x/sync/singleflight", "golang.org/x/time/rate"},
	},
	"internal/statusview": {house: []string{"pkg/api"}},

	"internal/kube/hosts": {
		house:   []string{"pkg/admission", "pkg/api", "pkg/ironic"},
		outside: []string{"k8s.io/apimachinery", "k8s.io/client-go/rest", "sigs.k8s.io/json", metal3},
		tests:   []string{"k8s.io/api/core/v1"},
	},
	"internal/kube/fleet": {
		house: []string{"internal/kube/objects", "pkg/disruption", "pkg/disruption/budget", "pkg/ironic"},
		outside: []string{
			"golang.org/x/sync/errgroup", "k8s.io/api", "k8s.io/apimachinery", "k8s.io/component-helpers/resource",
			"sigs.k8s.io/controller-runtime/pkg/client", metal3,
		},
		tests: []string{"k8s.io/client-go/kubernetes/scheme", "pkg/api"},
	},
	"internal/kube/find": {
		house:   []string{"internal/kube/objects", "pkg/api", "pkg/ironic"},
		outside: []string{"k8s.io/api", "k8s.io/apimachinery", "sigs.k8s.io/controller-runtime/pkg/client"},
		tests:   []string{"internal/rig/child", "k8s.io/client-go/kubernetes/scheme"},
	},
	"internal/kube/capi": {
		house:   []string{"internal/kube/objects"},
		outside: []string{"k8s.io/api/core/v1", "k8s.io/apimachinery", "sigs.k8s.io/controller-runtime/pkg/client"},
		tests:   []string{"k8s.io/client-go/kubernetes/scheme"},
	},
	"internal/kube/lead": {
		house:   []string{"pkg/ironic"},
		outside: []string{"k8s.io/client-go", "k8s.io/apimachinery", "k8s.io/api", "sigs.k8s.io/controller-runtime/pkg/client", "github.com/go-logr/logr"},
	},
	"internal/kube/claim": {
		house:   []string{"internal/store"},
		outside: []string{"k8s.io/apimachinery", "k8s.io/api/core/v1", "sigs.k8s.io/controller-runtime/pkg/client"},
	},
	"internal/kube/execute": {
		house:   []string{"internal/kube/fleet", "internal/kube/objects", "internal/kube/tell", "pkg/api", "pkg/disruption", "pkg/ironic"},
		outside: []string{"k8s.io/api", "k8s.io/apimachinery", "sigs.k8s.io/controller-runtime/pkg/client"},
		tests:   []string{"internal/rig/capiplayer"},
	},
	"internal/kube/tell": {
		house:   []string{"internal/kube/hosts", "internal/logging", "pkg/api", "pkg/ironic"},
		outside: []string{"k8s.io/api/core/v1", "k8s.io/apimachinery", "sigs.k8s.io/controller-runtime/pkg/client", "golang.org/x/time/rate"},
	},

	// BMO's provisioner that asks; _bmo is built in a checkout of BMO.
	"plugin/asker": {house: []string{"pkg/api"}, outside: []string{"github.com/go-logr/logr"}},
	"plugin/_bmo": {
		house:   []string{"pkg/api"},
		outside: []string{"github.com/metal3-io/baremetal-operator", "github.com/metal3-io/ironic-standalone-operator/api", "sigs.k8s.io/controller-runtime/pkg"},
	},

	// What tests and the demo run against.
	"internal/rig/draw":       {},
	"internal/rig/fakeironic": {house: []string{"internal/rig/draw", "pkg/ironic"}, outside: []string{pflag}},
	"internal/rig/bmo":        {house: []string{"internal/rig/draw", "pkg/ironic", "pkg/api"}, outside: []string{"k8s.io/client-go/util/workqueue", "golang.org/x/sync/singleflight"}},
	"internal/rig/nodes":      {house: []string{"pkg/ironic"}},
	"internal/rig/realironic": {house: []string{"internal/rig/child"}},
	"internal/rig/child":      {},
	"internal/rig/realkube": {
		house:   []string{"internal/rig/child"},
		outside: []string{"k8s.io/api", "k8s.io/apimachinery", "k8s.io/client-go"},
	},
	"internal/rig/capiplayer": {
		house:   []string{"internal/kube/objects"},
		outside: []string{"k8s.io/api", "k8s.io/apimachinery", "sigs.k8s.io/controller-runtime/pkg/client"},
	},
	"internal/rig/attack": {tests: []string{"internal/rig/child", "internal/rig/fakeironic"}},
	"internal/rig/lab": {
		house:   []string{"internal/cli", "internal/rig/demo", "internal/rig/fakeironic", "internal/rig/simulate"},
		outside: []string{cobra},
	},
	"internal/rig/ways":     {tests: []string{"internal/rig/child"}},
	"internal/rig/ways/cmd": {house: []string{"internal/app", "internal/config"}},
	"internal/rig/virtual":  {house: []string{"internal/rig/fakeironic", "pkg/ironic"}},
	"internal/rig/simulate": {
		house: []string{
			"internal/rig/bmo", "internal/rig/draw", "internal/rig/fakeironic", "internal/rig/virtual",
			"pkg/admission", "pkg/breaker", "pkg/sizing", "pkg/slots", "pkg/ironic", "pkg/api",
		},
		outside: []string{pflag, "golang.org/x/sync"},
	},
	"internal/rig/soak": {
		house: []string{
			"internal/kube/lead", "internal/rig/fakeironic", "internal/rig/virtual",
			"pkg/admission", "pkg/holdoff", "pkg/sizing", "pkg/slots", "pkg/ironic", "pkg/api",
		},
		tests: []string{"golang.org/x/sync/errgroup"},
	},
	"internal/rig/play": {house: []string{
		"internal/app", "internal/config", "internal/rig/fakeironic", "internal/statusview", "pkg/api", "pkg/ironic",
	}},
	"internal/rig/demo": {
		house: []string{
			"internal/app", "internal/config", "internal/rig/bmo", "internal/rig/fakeironic", "internal/rig/simulate", "pkg/api",
		},
		outside: []string{pflag},
		tests:   []string{"internal/rig/child", "internal/gateway", "internal/store", "pkg/admission"},
	},

	// The house itself.
	"internal/rig/archtest": {tests: []string{"go.yaml.in/yaml/v3"}},
	"hack/size":             {},
	"hack/bench":            {house: []string{"internal/rig/realironic"}},
	"hack/release": { // a module of its own
		outside: []string{"github.com/google/go-containerregistry/pkg", "golang.org/x/crypto/x509roots/fallback/bundle", "helm.sh/helm/v3/pkg"},
		tests:   []string{"go.yaml.in/yaml/v3"},
	},
	"internal/rig/deploytest": {
		tests: []string{"internal/config", "internal/kube", "internal/kube/find", "internal/rig/realkube", "k8s.io/api", "k8s.io/apimachinery"},
	},
	"e2e": {
		tests: []string{"internal/app", "internal/config", "internal/rig/child", "internal/rig/realironic", "pkg/admission", "pkg/slots"},
	},
	"e2e/suite": {tests: []string{"internal/rig/child", "internal/rig/fakeironic", "internal/rig/realironic"}},
	"e2e/bmo": {
		tests: []string{"internal/rig/child", "internal/rig/realironic", "internal/rig/realkube", "k8s.io/api", "k8s.io/apimachinery", "k8s.io/client-go"},
	},
	"e2e/page": {tests: []string{"internal/rig/child", "github.com/chromedp"}}, // a module of its own
	"e2e/kube": {
		tests: []string{
			"internal/kube", "internal/kube/claim", "internal/kube/execute", "internal/kube/fleet", "internal/kube/hosts", "internal/kube/workload", "internal/rig/capiplayer", "internal/rig/child", "internal/rig/realkube",
			"internal/store", "pkg/disruption", "pkg/holdoff",
			"k8s.io/api", "k8s.io/apimachinery", "k8s.io/client-go", "sigs.k8s.io/controller-runtime/pkg/client",
		},
	},
}
