// Package config makes one checked Config of flags, environment and a file. Viper reads and merges them. The package
// reports every fault at once, with the source of the value, its rule and the nearest name.
package config

import (
	"time"

	"github.com/ironic-throttle/ironic-throttle/pkg/disruption"
)

// Config is the whole, checked configuration of one throttle. Load and Reload make new ones; nothing changes one.
//
// It is also the only list of settings, in the order of help and docs. Each field with these tags is one:
//
//	set      its key in the file; the names in the environment and of the flag follow from it (settings.go)
//	env      its names in the environment, if they do not follow from the key
//	def      its default, as text; without one it is unset
//	is       what its value must be (rules.go), if the type does not say it
//	help     what it means
//	basic    --help shows its flag
//	restart  a reload of the file does not change it
//	lenient  a value that cannot be read is a warning, not a fault, as in BMO
//	common   other programs have a variable of that name without our prefix
//
// Fields without tags follow from the others (follows.go).
type Config struct {
	File     string `set:"config" is:"path" basic:"" restart:"" common:"" help:"config file in YAML or JSON"`
	FileText string // the text of the file; it may hold a password
	Mode     string `set:"mode" def:"enforce" is:"enforce|observe" basic:"" common:"" help:"enforce refuses; observe says yes and counts what it would refuse"`

	Log struct {
		Level  string `set:"logLevel" def:"info" is:"debug|info|warn|error" basic:"" common:"" help:"least severe level that is logged"`
		Format string `set:"logFormat" is:"text|json" restart:"" common:"" help:"log on stderr; unset = text on a terminal, else json"`
	}
	Limits Limits
	View   struct {
		PollInterval time.Duration `set:"pollInterval" def:"5s" is:"1s..1m" common:"" help:"time between two polls of Ironic"`
		MaxStale     time.Duration // the throttle refuses new hosts if the last complete poll is older
		ListMaxAge   time.Duration // how long the throttle believes a node that it fetched alone, and the list of nodes
	}
	Leases struct {
		TTL           time.Duration `set:"leaseTtl" def:"5m" is:"1s..24h" common:"" help:"a host that does not use its slot gives it back after this"`
		Linger        time.Duration `set:"linger" def:"45s" is:"1ms..24h" common:"" help:"a host between two phases keeps its slot this long"`
		StartupSettle time.Duration // how long the throttle takes over busy nodes at its start, before the first yes
	}
	Holdoff Holdoff
	Breaker Breaker
	Listen  Listen
	Access  Access
	Gateway struct {
		Listen string `set:"gatewayListenAddress" is:"address" basic:"" restart:"" help:"gateway in front of Ironic, usually 127.0.0.1:6390; unset = none"`
	}
	Kubernetes Kubernetes
	Disruption Disruption
	Ironic     Ironic

	BMOConcurrency int `set:"bmoConcurrency" env:"BMO_CONCURRENCY" is:"1..100000" lenient:"" help:"BMO's workers, compared with the limit; unset: KUBERNETES reads BMO's Deployment"`
}

// Limits says how many hosts may work at once. Its limits are numbers of hosts.
type Limits struct {
	Total        int                `set:"maxConcurrentProvisioningHosts" env:"MAX_CONCURRENT_PROVISIONING_HOSTS" def:"20" is:"1..100000" basic:"" help:"slots: hosts that may work at once"`
	Mode         string             `set:"limitMode" def:"fixed" is:"fixed|adaptive" basic:"" restart:"" help:"adaptive: the throttle finds a limit, at most yours"`
	Pools        map[string]int     `set:"poolLimits" help:"slots of conductor groups"`
	VirtualMedia string             `set:"virtualMediaLimit" env:"IRONIC_THROTTLE_VIRTUAL_MEDIA_LIMIT IRONIC_THROTTLE_EXEMPT_VIRTUAL_MEDIA" def:"exempt" is:"media" help:"virtual-media hosts: exempt, counted like all, or with slots of their own"`
	CountMode    string             `set:"countMode" def:"agent" is:"agent|busy" restart:"" help:"busy nodes that take a slot: those with an agent or a yes, or all"`
	ExtraStates  bool               `set:"countExtraStates" def:"false" restart:"" help:"servicing, service wait and the hold states count as busy too"`
	Weights      map[string]float64 `set:"tenantWeights" help:"shares of namespaces; others have 1"`
	StuckAfter   time.Duration      `set:"stuckAfter" def:"90m" is:"0s or 1s..720h" help:"a host that stands still for this long no longer counts; 0 = never"`
}

// Holdoff says how long the throttle holds failed hosts, so that a human can look at them (docs/behaviour.md).
type Holdoff struct {
	Timeout   time.Duration            `set:"failedHostHoldoff" def:"0s" is:"0s..2562047h" basic:"" help:"a failed host is left alone this long before its next try; 0 = no hold"`
	Stage     string                   `set:"holdoffStage" def:"retry" is:"retry|remediate" help:"what is held: the next try, or BMO's deprovisioning before it too"`
	Growth    float64                  `set:"holdoffGrowth" def:"1" is:"1..10" help:"each further failure in a row is held this many times as long"`
	Hosts     map[string]time.Duration `set:"holdoffHosts" help:"holds of single hosts; 0 = never"`
	State     string                   `set:"state" env:"IRONIC_THROTTLE_STATE IRONIC_THROTTLE_HOLDOFF_FILE" is:"state" basic:"" restart:"" common:"" help:"file, or configmap:NAME, that keeps holds through restarts"`
	File      string                   // State, if it is a file
	ConfigMap string                   // the NAME of State, if it is configmap:NAME
	MaxFailed string                   `set:"maxFailed" def:"100%" is:"quota" help:"more failed or held hosts than this pause their conductor group"`
}

// Breaker says when failures stop new hosts (docs/behaviour.md).
type Breaker struct {
	Enabled            bool          `set:"breakerEnabled" def:"true" basic:"" restart:"" help:"many failures stop new hosts for a while"`
	Threshold          int           `set:"breakerThreshold" def:"10" is:"2..1000" help:"number of failed hosts that opens the breaker of all of Ironic"`
	RecoveryTimeout    time.Duration `set:"breakerRecoveryTimeout" def:"15m" is:"1ms..720h" help:"an open breaker lets two hosts try after this"`
	RateLimitPerMinute int           `set:"breakerRateLimitPerMinute" def:"0" is:"0..10000" help:"hosts that may start within any 60 s; 0 = no limit"`
}

// Listen has the host:port of each listener.
type Listen struct {
	API     string `set:"listenAddress" def:"127.0.0.1:8087" is:"address" basic:"" restart:"" common:"" help:"HTTP API and web page"`
	Local   string // API and page on loopback too, in plain HTTP and open to all; "" = not
	Health  string `set:"healthProbeBindAddress" def:":9441" is:"address" restart:"" common:"" help:"/healthz and /readyz"`
	Metrics string `set:"metricsBindAddress" def:"127.0.0.1:8444" is:"address" restart:"" common:"" help:"/metrics"`
}

// Access says who may use the HTTP API, its page and /metrics, and which TLS they have.
type Access struct {
	Mode    string   `set:"apiAccess" def:"auto" is:"auto|open|kubernetes" restart:"" common:"" help:"who may use the API: all, or by token and RBAC; auto = all on loopback only"`
	CertDir string   `set:"tlsCertDir" is:"path" restart:"" help:"folder with tls.crt, tls.key and client-ca.crt, for listeners beyond loopback"`
	MinTLS  string   `set:"tlsMinVersion" def:"VersionTLS12" is:"VersionTLS12|VersionTLS13|TLS12|TLS13" restart:"" common:"" help:"lowest TLS version of listeners beyond loopback, and towards Ironic"`
	Ciphers []string `set:"tlsCipherSuites" is:"ciphers" restart:"" common:"" help:"cipher suites of listeners beyond loopback, for TLS 1.2; unset = Go's"`
}

// Kubernetes says what the throttle reads and writes in the cluster that has the BareMetalHosts. Without On the other
// fields mean nothing.
type Kubernetes struct {
	On         bool     `set:"kubernetes" def:"false" basic:"" restart:"" common:"" help:"read BareMetalHosts, and write Events that say why hosts wait"`
	Kubeconfig string   // KUBECONFIG; "" = as a pod, by its service account
	Watch      []string `set:"watchNamespace" env:"WATCH_NAMESPACE" is:"namespaces" restart:"" help:"namespaces whose BareMetalHosts the throttle watches; unset = all"`
	Namespace  string   // POD_NAMESPACE, which has the Lease and the ConfigMap; "" = the service account's
	Identity   string   // POD_NAME, the throttle's name in the Lease and in Events; "" = the host name
	Operator   string   `set:"operatorDeployment" def:"baremetal-operator-controller-manager" is:"deployment" restart:"" help:"BMO's Deployment, NAME or NAMESPACE/NAME, read for what is not set here"`
	Leader     struct {
		Elect     bool   `set:"leaderElect" def:"false" restart:"" common:"" help:"replicas agree by a Lease on the one that decides"`
		LeaseName string // the name of the ConfigMap that keeps the state
	}
}

// Disruption says how the throttle plans planned work (docs/planned-work.md).
type Disruption struct {
	Mode             string          `set:"disruption" def:"off" is:"off|plan|execute" restart:"" common:"" help:"planned work: show plans, or carry them out where an annotation allows it"`
	ConsolidateAfter disruption.Span `set:"disruptionConsolidateAfter" def:"Never" help:"a host is under-used when its pods have not changed for this long"`
	Budgets          string          `set:"disruptionBudgets" def:"10%,ready:1" is:"budgets" help:"hosts of a pool that may be out of service at once, and how many stay ready"`
	Tariff           float64         `set:"disruptionTariff" def:"0" is:"0..1000000" help:"price of a kWh, in any currency; 0 = none, and no host is consolidated"`
}

// Ironic says where Ironic is and how to reach it, as in BMO. The files need not exist: BMO uses its default paths only
// if files are there.
type Ironic struct {
	// Endpoint is "" with Name. It may carry user:password@; never print it, see Effective.
	Endpoint       string `set:"ironicEndpoint" env:"IRONIC_ENDPOINT" is:"url" basic:"" restart:"" help:"Ironic's URL; unset with KUBERNETES: that of BMO, or of IRONIC_NAME"`
	Name           string `set:"ironicName" env:"IRONIC_NAME" is:"name" restart:"" help:"Ironic resource of ironic-standalone-operator that says where Ironic is"`
	Namespace      string `set:"ironicNamespace" env:"IRONIC_NAMESPACE" is:"name" restart:"" help:"namespace of that resource; unset = the throttle's own, else the watched one"`
	AuthRootDir    string `set:"metal3AuthRootDir" env:"METAL3_AUTH_ROOT_DIR" def:"/opt/metal3/auth" is:"path" restart:"" help:"folder with ironic/username and ironic/password; without it: no credentials"`
	CACertFile     string `set:"ironicCacertFile" env:"IRONIC_CACERT_FILE" def:"/opt/metal3/certs/ca/tls.crt" is:"path" restart:"" help:"CA of Ironic's certificate"`
	ClientCertFile string `set:"ironicClientCertFile" env:"IRONIC_CLIENT_CERT_FILE" def:"/opt/metal3/certs/client/tls.crt" is:"path" restart:"" help:"the throttle's certificate towards Ironic"`
	ClientKeyFile  string `set:"ironicClientPrivateKeyFile" env:"IRONIC_CLIENT_PRIVATE_KEY_FILE" def:"/opt/metal3/certs/client/tls.key" is:"path" restart:"" help:"key of that certificate"`
	Insecure       bool   `set:"ironicInsecure" env:"IRONIC_INSECURE" def:"false" restart:"" lenient:"" help:"do not verify Ironic's certificate"`
}
