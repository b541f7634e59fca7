package config

import (
	"math"
	"strings"
	"time"
)

// envPrefix is put before every environment name that is ours alone.
const envPrefix = "IRONIC_THROTTLE_"

// maxLimit is the largest number of slots anywhere (LH-18).
const maxLimit = 100000

const day = 24 * time.Hour

// Names that Load treats specially.
const (
	nameLimit        = "MAX_CONCURRENT_PROVISIONING_HOSTS"
	nameLimitAlias   = "PROVISIONING_LIMIT"
	nameConcurrency  = "BMO_CONCURRENCY"
	nameConfig       = envPrefix + "CONFIG"
	nameEndpoint     = "IRONIC_ENDPOINT"
	nameStuckCap     = envPrefix + "STUCK_CAP"
	namePoolLimits   = envPrefix + "POOL_LIMITS"
	namePollInterval = envPrefix + "POLL_INTERVAL"
	nameMaxAge       = envPrefix + "MAX_AGE"
	nameMaxStale     = envPrefix + "MAX_STALE"
	nameLeaseTTL     = envPrefix + "LEASE_TTL"
	nameLinger       = envPrefix + "LINGER"
	nameSettle       = envPrefix + "STARTUP_SETTLE"
	nameListen       = envPrefix + "LISTEN_ADDRESS"
	nameLocal        = envPrefix + "LOCAL_LISTEN_ADDRESS"
	nameHealth       = envPrefix + "HEALTH_LISTEN_ADDRESS"
	nameMetrics      = envPrefix + "METRICS_LISTEN_ADDRESS"
	nameFailingCap   = envPrefix + "FAILING_CAP"
	nameReserve      = envPrefix + "FAILING_RESERVE"
)

// setting is one row of the table.
type setting struct {
	name    string // in the environment, in messages and in docs/settings.md: it can be pasted
	def     string // text of the default; "" = unset
	defNote string // shown instead of def where the default is computed
	value   func(*Config) value
	help    string
	hot     bool   // a reload of the file changes it
	lenient bool   // as BMO reads it: what cannot be read is a warning, not a fault
	noFile  bool   // cannot stand in the file
	common  bool   // others have variables of that name too: without the prefix it may be theirs
	pairs   string // an example, where the value is name=number pairs and a table in the file
}

// short is the name of s without our prefix.
func (s setting) short() string { return strings.TrimPrefix(s.name, envPrefix) }

// shared reports whether the name of s has no prefix: it is not ours alone.
func (s setting) shared() bool { return s.short() == s.name }

// flag is the name of s on the command line, without the dashes.
func (s setting) flag() string {
	return strings.ReplaceAll(strings.ToLower(s.short()), "_", "-")
}

// key is the name of s in the file.
func (s setting) key() string {
	words := strings.Split(strings.ToLower(s.short()), "_")
	for i, w := range words[1:] {
		words[i+1] = strings.ToUpper(w[:1]) + w[1:]
	}
	return strings.Join(words, "")
}

// shownDefault is the default as help texts show it.
func (s setting) shownDefault() string {
	if s.defNote != "" {
		return s.defNote
	}
	return s.def
}

// table lists every setting, in the order of help and docs. A row added here is
// everywhere.
func table() []setting {
	var rows []setting
	rows = append(rows, generalRows()...)
	rows = append(rows, limitRows()...)
	rows = append(rows, timeRows()...)
	rows = append(rows, turnRows()...)
	rows = append(rows, holdoffRows()...)
	rows = append(rows, breakerRows()...)
	rows = append(rows, listenRows()...)
	rows = append(rows, accessRows()...)
	rows = append(rows, gatewayRows()...)
	rows = append(rows, kubernetesRows()...)
	return append(rows, ironicRows()...)
}

func generalRows() []setting {
	return []setting{
		{
			name: nameConfig, noFile: true, common: true, help: "config file (.yaml, .yml, .json or .toml)",
			value: func(c *Config) value { return pathValue{&c.File} },
		},
		{
			name: envPrefix + "MODE", def: string(Enforce), common: true, help: "enforce refuses; observe says yes and counts what it would have refused",
			value: func(c *Config) value { return wordValue[Mode]{&c.Mode, []Mode{Enforce, Observe}} },
		},
		{
			name: envPrefix + "LOG_LEVEL", def: "info", common: true, help: "least severe level that is logged",
			value: func(c *Config) value {
				return wordValue[string]{&c.Log.Level, []string{"debug", "info", "warn", "error"}}
			},
		},
		{
			name: envPrefix + "LOG_FORMAT", def: "text", common: true, help: "format of the log on stderr",
			value: func(c *Config) value { return wordValue[string]{&c.Log.Format, []string{"text", "json"}} },
		},
	}
}

func limitRows() []setting {
	return []setting{
		{
			name: nameLimit, def: "20", hot: true, help: "slots: hosts that may work at once",
			value: func(c *Config) value { return intValue{&c.Limits.Total, 1, maxLimit} },
		},
		{
			name: nameLimitAlias, hot: true, help: "BMO's name for " + nameLimit + ", which wins when both are set",
			value: func(c *Config) value { return optionalInt{intValue{&c.Limits.Total, 1, maxLimit}} },
		},
		{
			name: nameConcurrency, lenient: true, help: "BMO's workers: compared with the limit; a quarter of them may wait in the gateway until a slot is free",
			value: func(c *Config) value { return optionalInt{intValue{&c.BMOConcurrency, 1, math.MaxInt}} },
		},
		{
			name: namePoolLimits, hot: true, pairs: "rack1=8,rack2=12", help: "slots of conductor groups, each within the total",
			value: func(c *Config) value { return poolsValue{&c.Limits.Pools} },
		},
		{
			name: envPrefix + "VIRTUAL_MEDIA_LIMIT", hot: true, help: "slots of a pool of their own for virtual-media hosts, beside the total",
			value: func(c *Config) value { return optionalInt{intValue{&c.Limits.VirtualMedia, 1, maxLimit}} },
		},
		{
			name: envPrefix + "EXEMPT_VIRTUAL_MEDIA", def: "true", help: "virtual-media hosts are not limited (without IRONIC_THROTTLE_VIRTUAL_MEDIA_LIMIT)",
			value: func(c *Config) value { return boolValue{&c.Limits.ExemptVirtualMedia} },
		},
		{
			name: envPrefix + "COUNT_MODE", def: string(CountAgent), help: "which busy nodes take a slot: agent = those with agent_url and our own, busy = all",
			value: func(c *Config) value {
				return wordValue[CountMode]{&c.Limits.CountMode, []CountMode{CountAgent, CountBusy}}
			},
		},
		{
			name: envPrefix + "COUNT_EXTRA_STATES", def: "false", help: "servicing, service wait and the hold states count as busy too",
			value: func(c *Config) value { return boolValue{&c.Limits.ExtraStates} },
		},
		{
			name: envPrefix + "STUCK_AFTER", def: "90m", help: "a host that does not move for this long is written off",
			value: func(c *Config) value {
				return durationValue{p: &c.Limits.StuckAfter, min: time.Second, max: 30 * day, zeroNever: true}
			},
		},
		{
			name: nameStuckCap, defNote: "ceil(limit/4)", hot: true, help: "most hosts written off at once, at most the limit",
			value: func(c *Config) value { return intValue{&c.Limits.StuckCap, 0, maxLimit} },
		},
	}
}

func timeRows() []setting {
	duration := func(field func(*Config) *time.Duration, min, max time.Duration) func(*Config) value {
		return func(c *Config) value { return durationValue{p: field(c), min: min, max: max} }
	}
	return []setting{
		{
			name: namePollInterval, def: "5s", common: true, help: "time between two polls of Ironic",
			value: duration(func(c *Config) *time.Duration { return &c.View.PollInterval }, time.Second, 5*time.Minute),
		},
		{
			name: nameMaxAge, def: "30s", common: true, help: "age up to which the lists of busy nodes are believed while a probe shows that nothing changes; IRONIC_THROTTLE_POLL_INTERVAL: every poll reads them",
			value: duration(func(c *Config) *time.Duration { return &c.View.MaxAge }, time.Second, 5*time.Minute),
		},
		{
			name: nameMaxStale, def: "30s", help: "age of the last complete poll from which new hosts are refused; twice the time that polls take of late is added, up to four times as much in all; at least IRONIC_THROTTLE_MAX_AGE",
			value: duration(func(c *Config) *time.Duration { return &c.View.MaxStale }, time.Second, 5*time.Minute),
		},
		{
			name: envPrefix + "LIST_MAX_AGE", def: "60s", help: "age up to which a node fetched alone, and the list of all nodes, are believed",
			value: duration(func(c *Config) *time.Duration { return &c.View.ListMaxAge }, time.Second, time.Hour),
		},
		{
			name: nameLeaseTTL, def: "5m", help: "a granted host that never gets busy gives its slot back after this; at least 2 x IRONIC_THROTTLE_MAX_AGE",
			value: duration(func(c *Config) *time.Duration { return &c.Leases.TTL }, time.Second, day),
		},
		{
			name: nameLinger, def: "45s", help: "a host between two phases keeps its slot this long",
			value: duration(func(c *Config) *time.Duration { return &c.Leases.Linger }, time.Millisecond, day),
		},
		{
			name: nameSettle, def: "60s", help: "after the start busy nodes are adopted this long before the first yes; at least IRONIC_THROTTLE_LINGER",
			value: duration(func(c *Config) *time.Duration { return &c.Leases.StartupSettle }, time.Millisecond, day),
		},
	}
}

func listenRows() []setting {
	return []setting{
		{
			name: nameListen, def: "127.0.0.1:8087", common: true, help: "HTTP API and web page",
			value: func(c *Config) value { return addressValue{&c.Listen.API} },
		},
		{
			name: nameLocal, help: "beside IRONIC_THROTTLE_LISTEN_ADDRESS: API and page once more, in plain HTTP and without access control, for commands in the pod and for kubectl port-forward; unset = not",
			value: func(c *Config) value { return loopbackAddress{optionalAddress{addressValue{&c.Listen.Local}}} },
		},
		{
			name: nameHealth, def: ":9441", common: true, help: "/healthz and /readyz",
			value: func(c *Config) value { return addressValue{&c.Listen.Health} },
		},
		{
			name: nameMetrics, def: ":8444", common: true, help: "/metrics",
			value: func(c *Config) value { return addressValue{&c.Listen.Metrics} },
		},
	}
}

// ironicRows are BMO's variables, read as BMO reads them.
func ironicRows() []setting {
	path := func(field func(*Config) *string) func(*Config) value {
		return func(c *Config) value { return pathValue{field(c)} }
	}
	return []setting{
		{
			name: nameEndpoint, defNote: "(needed)", help: "Ironic's URL, with or without /v1",
			value: func(c *Config) value { return endpointValue{&c.Ironic.Endpoint} },
		},
		{
			name: "METAL3_AUTH_ROOT_DIR", def: "/opt/metal3/auth",
			help:  "directory of credentials: where it holds a directory ironic, the files username and password must be in there; without it none are sent but those of IRONIC_ENDPOINT",
			value: path(func(c *Config) *string { return &c.Ironic.AuthRootDir }),
		},
		{
			name: "IRONIC_CACERT_FILE", def: "/opt/metal3/certs/ca/tls.crt", help: "CA of Ironic's certificate",
			value: path(func(c *Config) *string { return &c.Ironic.CACertFile }),
		},
		{
			name: "IRONIC_CLIENT_CERT_FILE", def: "/opt/metal3/certs/client/tls.crt", help: "our certificate towards Ironic",
			value: path(func(c *Config) *string { return &c.Ironic.ClientCertFile }),
		},
		{
			name: "IRONIC_CLIENT_PRIVATE_KEY_FILE", def: "/opt/metal3/certs/client/tls.key", help: "key of our certificate",
			value: path(func(c *Config) *string { return &c.Ironic.ClientKeyFile }),
		},
		{
			name: "IRONIC_INSECURE", def: "false", lenient: true, help: "do not verify Ironic's certificate",
			value: func(c *Config) value { return boolValue{&c.Ironic.Insecure} },
		},
		{
			name: "IRONIC_SKIP_CLIENT_SAN_VERIFY", def: "false", lenient: true, help: "taken because BMO takes it; it is a matter of Ironic's side and changes nothing here",
			value: func(c *Config) value { return boolValue{&c.Ironic.SkipClientSANVerify} },
		},
		{
			name: "IRONIC_CLIENT_TIMEOUT", def: "30s", help: "time-out of one request to Ironic",
			value: func(c *Config) value {
				return durationValue{p: &c.Ironic.Timeout, min: time.Millisecond, max: day}
			},
		},
	}
}
