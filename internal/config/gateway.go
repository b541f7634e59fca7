package config

import "time"

// Names of the gateway's settings that more than their row speaks of.
const (
	nameGateway        = envPrefix + "GATEWAY_LISTEN_ADDRESS"
	nameGatewayCert    = envPrefix + "GATEWAY_TLS_CERT_FILE"
	nameGatewayKey     = envPrefix + "GATEWAY_TLS_KEY_FILE"
	nameGatewayCA      = envPrefix + "GATEWAY_CLIENT_CA_FILE"
	nameGatewayMaxBody = envPrefix + "GATEWAY_MAX_BODY"
	nameGatewaySpool   = envPrefix + "GATEWAY_SPOOL_LIMIT"
	nameGatewayReads   = envPrefix + "GATEWAY_READ_CACHE"
)

// Gateway says how the proxy in front of Ironic is served (docs/spec/gateway.md). Without
// Listen there is none and the rest means nothing.
type Gateway struct {
	Listen string // host:port; "" = no gateway
	// CertFile and KeyFile hold our own certificate in PEM form; both or none.
	CertFile, KeyFile string
	ClientCAFile      string        // clients must show a certificate signed by one of these; needs CertFile
	Timeout           time.Duration // of one request, from its first byte to the last of its answer
	MaxBody           int64         // bytes of the body of a gated request (GW-8)
	SpoolDir          string        // where large bodies wait; "" = the system's place for temporary files
	SpoolLimit        int64         // bytes of all large bodies together, at least MaxBody
	ForwardedHeaders  bool          // add X-Forwarded-* (GW-1)
	ListCache         bool          // answer BMO's capacity list from the list of all nodes (GW-11)
	ReadCache         bool          // answer the reads that a refused host repeats (GW-18)
}

// gatewayRows serve the proxy in front of Ironic.
func gatewayRows() []setting {
	path := func(field func(*Config) *string) func(*Config) value {
		return func(c *Config) value { return pathValue{field(c)} }
	}
	return []setting{
		{
			name: nameGateway, help: "gateway: the proxy in front of Ironic, usually at 127.0.0.1:6390; there is none without it",
			value: func(c *Config) value { return optionalAddress{addressValue{&c.Gateway.Listen}} },
		},
		{
			name: nameGatewayCert, help: "certificate of the gateway (PEM); without it the gateway speaks plain HTTP",
			value: path(func(c *Config) *string { return &c.Gateway.CertFile }),
		},
		{
			name: nameGatewayKey, help: "key of the gateway's certificate (PEM)",
			value: path(func(c *Config) *string { return &c.Gateway.KeyFile }),
		},
		{
			name: nameGatewayCA, help: "CAs (PEM): whoever asks the gateway must show a certificate of one of them",
			value: path(func(c *Config) *string { return &c.Gateway.ClientCAFile }),
		},
		{
			name: envPrefix + "GATEWAY_TIMEOUT", def: "2m", help: "time-out of one request through the gateway, from its first byte to the last of its answer",
			value: func(c *Config) value {
				return durationValue{p: &c.Gateway.Timeout, min: time.Second, max: time.Hour}
			},
		},
		{
			name: nameGatewayMaxBody, def: "64MiB", help: "largest body (and 64 KiB beside) of a request that the gateway has to read: one that starts work on a host",
			value: func(c *Config) value { return sizeValue{&c.Gateway.MaxBody, kib, gib} },
		},
		{
			name: envPrefix + "GATEWAY_SPOOL_DIR", help: "directory where large bodies wait; unset = the system's place for temporary files",
			value: path(func(c *Config) *string { return &c.Gateway.SpoolDir }),
		},
		{
			name: nameGatewaySpool, def: "1GiB", help: "most that all large bodies take together; at least IRONIC_THROTTLE_GATEWAY_MAX_BODY",
			value: func(c *Config) value { return sizeValue{&c.Gateway.SpoolLimit, mib, tib} },
		},
		{
			name: envPrefix + "GATEWAY_FORWARDED_HEADERS", def: "false", help: "the gateway tells Ironic in X-Forwarded-* who asked",
			value: func(c *Config) value { return boolValue{&c.Gateway.ForwardedHeaders} },
		},
		{
			name: envPrefix + "GATEWAY_LIST_CACHE", def: "true", help: "the gateway answers the list that BMO asks for before each start from its own list of all nodes, at most IRONIC_THROTTLE_LIST_MAX_AGE old",
			value: func(c *Config) value { return boolValue{&c.Gateway.ListCache} },
		},
		{
			name: nameGatewayReads, def: "true", help: "the gateway answers the reads that a refused host repeats from the last answer, while nothing is written to its node and no poll shows it changed",
			value: func(c *Config) value { return boolValue{&c.Gateway.ReadCache} },
		},
	}
}
