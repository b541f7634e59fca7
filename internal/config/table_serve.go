package config

// Names that more than their row speaks of.
const (
	nameListen      = envPrefix + "LISTEN_ADDRESS"
	nameLocal       = envPrefix + "LOCAL_LISTEN_ADDRESS"
	nameHealth      = envPrefix + "HEALTH_LISTEN_ADDRESS"
	nameMetrics     = envPrefix + "METRICS_LISTEN_ADDRESS"
	nameMetricsCert = envPrefix + "METRICS_TLS_CERT_FILE"
	nameMetricsKey  = envPrefix + "METRICS_TLS_KEY_FILE"
	nameAccess      = envPrefix + "API_ACCESS"
	nameAPICert     = envPrefix + "API_TLS_CERT_FILE"
	nameAPIKey      = envPrefix + "API_TLS_KEY_FILE"
	nameGateway     = envPrefix + "GATEWAY_LISTEN_ADDRESS"
	nameGatewayCert = envPrefix + "GATEWAY_TLS_CERT_FILE"
	nameGatewayKey  = envPrefix + "GATEWAY_TLS_KEY_FILE"
	nameGatewayCA   = envPrefix + "GATEWAY_CLIENT_CA_FILE"
	nameKubernetes  = envPrefix + "KUBERNETES"
	nameElect       = envPrefix + "LEADER_ELECT"
	nameOperator    = envPrefix + "OPERATOR_DEPLOYMENT"
	nameEndpoint    = "IRONIC_ENDPOINT"
	nameIronic      = "IRONIC_NAME"
	nameIronicSpace = "IRONIC_NAMESPACE"
	nameAuthRoot    = "METAL3_AUTH_ROOT_DIR"
	nameCACert      = "IRONIC_CACERT_FILE"
)

// serveRows say where the API, the page and the gateway are served, and to whom.
var serveRows = []setting{
	{name: nameListen, def: "127.0.0.1:8087", common: true, basic: true, rule: anAddress, help: "HTTP API and web page"},
	{name: nameLocal, rule: loopbackAddress,
		help: "beside IRONIC_THROTTLE_LISTEN_ADDRESS: API and page once more, in plain HTTP and without access control, for " +
			"commands in the pod and for kubectl port-forward, and Go's profiles (/debug/pprof/); unset = not"},
	{name: nameHealth, def: ":9441", common: true, basic: true, rule: anAddress, help: "/healthz and /readyz"},
	{name: nameMetrics, def: "127.0.0.1:8444", common: true, basic: true, rule: anAddress,
		help: "/metrics; beyond loopback for those alone whom IRONIC_THROTTLE_API_ACCESS lets in"},
	{name: nameMetricsCert, rule: filePath,
		help: "certificate of /metrics (PEM), read again when it changes; without it /metrics is plain HTTP"},
	{name: nameMetricsKey, rule: filePath, help: "key of the certificate of /metrics (PEM)"},
	{name: nameAccess, def: "auto", basic: true, rule: oneOf(AccessAuto, AccessOpen, AccessKubernetes),
		help: "who may use the HTTP API: open = whoever reaches it, kubernetes = whoever has a bearer token and, by RBAC, the " +
			"right to the path; auto = open where IRONIC_THROTTLE_LISTEN_ADDRESS is loopback, else kubernetes. /metrics is always open " +
			"on loopback, and beyond it only with open"},
	{name: nameAPICert, basic: true, rule: filePath,
		help: "certificate of the HTTP API (PEM), read again when it changes; without it the API speaks plain HTTP"},
	{name: nameAPIKey, basic: true, rule: filePath, help: "key of the HTTP API's certificate (PEM)"},
	{name: nameGateway, basic: true, rule: optionalAddress,
		help: "gateway: the proxy in front of Ironic, usually at 127.0.0.1:6390; there is none without it"},
	{name: nameGatewayCert, basic: true, rule: filePath,
		help: "certificate of the gateway (PEM); without it the gateway speaks plain HTTP"},
	{name: nameGatewayKey, basic: true, rule: filePath, help: "key of the gateway's certificate (PEM)"},
	{name: nameGatewayCA, rule: filePath, help: "CAs (PEM): whoever asks the gateway must show a certificate of one of them"},
}

var kubernetesRows = []setting{
	{name: nameKubernetes, def: "off", basic: true, rule: onOff,
		help: "on = read BareMetalHosts, tell hosts by Events why they wait; needs rights in the cluster"},
	{name: "WATCH_NAMESPACE", rule: namespaceList, help: "namespaces whose BareMetalHosts are watched, with commas; unset = all"},
	{name: nameOperator, def: "baremetal-operator-controller-manager", rule: deploymentName,
		help: "BMO's Deployment, NAME in our own namespace or NAMESPACE/NAME: BMO_CONCURRENCY, and IRONIC_ENDPOINT where that is not " +
			"set here, are read from it"},
	{name: nameElect, def: "false", rule: yesNo, help: "several replicas agree by a Lease on the one that decides; the others stand by"},
	{name: envPrefix + "LEADER_LEASE_NAME", def: "ironic-throttle", rule: kubeName, help: "name of that Lease"},
}

// ironicRows are BMO's variables, read as BMO reads them.
var ironicRows = []setting{
	{name: nameEndpoint, defNote: "(needed)", basic: true, rule: ironicURL,
		help: "Ironic's URL, with or without /v1; unset with IRONIC_THROTTLE_KUBERNETES=on: that of BMO, or of IRONIC_NAME"},
	{name: nameIronic, basic: true, rule: kubeName,
		help: "Ironic resource of ironic-standalone-operator (ironic.metal3.io) that says where Ironic is, which credentials and " +
			"which CA it has; with IRONIC_THROTTLE_KUBERNETES=on it wins over IRONIC_ENDPOINT"},
	{name: nameIronicSpace, rule: kubeName,
		help: "namespace of the Ironic resource IRONIC_NAME and of its Secrets; unset = POD_NAMESPACE, else the one of WATCH_NAMESPACE, else the service account's"},
	{name: nameAuthRoot, def: "/opt/metal3/auth", basic: true, rule: filePath,
		help: "directory of credentials: where it holds a directory ironic, the files username and password must be in there; " +
			"without it none are sent but those of IRONIC_ENDPOINT"},
	{name: nameCACert, def: "/opt/metal3/certs/ca/tls.crt", basic: true, rule: filePath, help: "CA of Ironic's certificate"},
	{name: "IRONIC_CLIENT_CERT_FILE", def: "/opt/metal3/certs/client/tls.crt", basic: true, rule: filePath,
		help: "our certificate towards Ironic"},
	{name: "IRONIC_CLIENT_PRIVATE_KEY_FILE", def: "/opt/metal3/certs/client/tls.key", basic: true, rule: filePath,
		help: "key of our certificate"},
	{name: "IRONIC_INSECURE", def: "false", lenient: true, basic: true, rule: yesNo, help: "do not verify Ironic's certificate"},
}
