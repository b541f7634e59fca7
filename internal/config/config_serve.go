package config

// Listen holds host:port of the listeners.
type Listen struct {
	API     string `mapstructure:"listenAddress"`        // HTTP API and web page
	Local   string `mapstructure:"localListenAddress"`   // both once more, on loopback, in plain HTTP and for everybody; "" = not
	Health  string `mapstructure:"healthListenAddress"`  // /healthz, /readyz
	Metrics string `mapstructure:"metricsListenAddress"` // /metrics
}

// Access says who may use the HTTP API and its page, and /metrics, and how they are served.
type Access struct {
	Mode AccessMode `mapstructure:"apiAccess"` // as it was set; Config.Guarded says what it comes to
	// CertFile and KeyFile hold the API's certificate in PEM form; both or none. So do the
	// other two for /metrics.
	CertFile        string `mapstructure:"apiTlsCertFile"`
	KeyFile         string `mapstructure:"apiTlsKeyFile"`
	MetricsCertFile string `mapstructure:"metricsTlsCertFile"`
	MetricsKeyFile  string `mapstructure:"metricsTlsKeyFile"`
}

// AccessMode says who may use the HTTP API.
type AccessMode string

// The access modes.
const (
	AccessAuto       AccessMode = "auto"       // open on loopback, kubernetes beyond
	AccessOpen       AccessMode = "open"       // whoever reaches it
	AccessKubernetes AccessMode = "kubernetes" // whom Kubernetes knows and allows it
)

// Guarded reports whether Kubernetes is asked about everybody who uses the API.
func (c Config) Guarded() bool {
	return c.Access.Mode == AccessKubernetes || c.Access.Mode == AccessAuto && c.Listen.API != "" && !localOnly(c.Listen.API)
}

// MetricsGuarded reports whether Kubernetes is asked about everybody who reads /metrics.
func (c Config) MetricsGuarded() bool {
	return c.Access.Mode != AccessOpen && c.Listen.Metrics != "" && !localOnly(c.Listen.Metrics)
}

// Gateway says how the proxy in front of Ironic is served (docs/behaviour.md). Without
// Listen there is none and the rest means nothing.
type Gateway struct {
	Listen string `mapstructure:"gatewayListenAddress"` // host:port; "" = no gateway
	// CertFile and KeyFile hold our own certificate in PEM form; both or none.
	CertFile     string `mapstructure:"gatewayTlsCertFile"`
	KeyFile      string `mapstructure:"gatewayTlsKeyFile"`
	ClientCAFile string `mapstructure:"gatewayClientCaFile"` // clients must show a certificate of one of these; needs CertFile
}

// usualGateway is where the manifests have the gateway beside BMO.
const usualGateway = "127.0.0.1:6390"

// Own reports whether a URL that BMO has for Ironic leads to a gateway beside it.
func (g Gateway) Own(endpoint string) bool {
	return leadsTo(endpoint, g.Listen) || leadsTo(endpoint, usualGateway)
}

// Kubernetes says what is read from the cluster that the hosts' BareMetalHosts are in,
// and what is written there. Without On the rest means nothing.
type Kubernetes struct {
	On         toggle   `mapstructure:"kubernetes"`
	Kubeconfig string   `mapstructure:"-"`              // KUBECONFIG; "" = as a pod, by its service account
	Watch      []string `mapstructure:"watchNamespace"` // whose BareMetalHosts are watched; empty = all
	Namespace  string   `mapstructure:"-"`              // POD_NAMESPACE, ours: of the Lease and the ConfigMap; "" = the service account's
	Identity   string   `mapstructure:"-"`              // POD_NAME, our name in the Lease and in Events; "" = the host name

	// Operator is BMO's Deployment, NAME or NAMESPACE/NAME.
	Operator string `mapstructure:"operatorDeployment"`

	Leader Leader `mapstructure:",squash"`
}

// Leader says how several replicas agree on the one that decides.
type Leader struct {
	Elect     bool   `mapstructure:"leaderElect"`
	LeaseName string `mapstructure:"leaderLeaseName"`
}
