package config

import "fmt"

// Names of the settings of access to the HTTP API.
const (
	nameAccess  = envPrefix + "API_ACCESS"
	nameAPICert = envPrefix + "API_TLS_CERT_FILE"
	nameAPIKey  = envPrefix + "API_TLS_KEY_FILE"
)

// Access says who may use the HTTP API and its page, and how it is served.
type Access struct {
	Mode AccessMode // as it was set; Config.Guarded says what it comes to
	// CertFile and KeyFile hold the API's certificate in PEM form; both or none.
	CertFile, KeyFile string
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

func accessRows() []setting {
	return []setting{
		{
			name: nameAccess, def: string(AccessAuto), help: "who may use the HTTP API: open = whoever reaches it, kubernetes = whoever has a bearer token and, by RBAC, the right to the path; auto = open where IRONIC_THROTTLE_LISTEN_ADDRESS is loopback, else kubernetes",
			value: func(c *Config) value {
				return wordValue[AccessMode]{&c.Access.Mode, []AccessMode{AccessAuto, AccessOpen, AccessKubernetes}}
			},
		},
		{
			name: nameAPICert, help: "certificate of the HTTP API (PEM), read again when it changes; without it the API speaks plain HTTP",
			value: func(c *Config) value { return pathValue{&c.Access.CertFile} },
		},
		{
			name: nameAPIKey, help: "key of the HTTP API's certificate (PEM)",
			value: func(c *Config) value { return pathValue{&c.Access.KeyFile} },
		},
	}
}

// checkAccess holds the rules of access to the API: tokens travel by TLS alone, and
// somebody has to know them.
func (l *loader) checkAccess() {
	a := l.config.Access
	l.needs(nameAPICert, a.CertFile, nameAPIKey, a.KeyFile)
	l.needs(nameAPIKey, a.KeyFile, nameAPICert, a.CertFile)
	if !l.sound(nameAccess, nameListen) || !l.config.Guarded() {
		return
	}
	name, text, why := nameAccess, string(a.Mode), ""
	if a.Mode == AccessAuto {
		name, text = nameListen, l.config.Listen.API
		why = fmt.Sprintf("can be reached from elsewhere, so %s=auto (%s) means kubernetes, which ", nameAccess, l.source(nameAccess))
	}
	// One of the two without the other has been told already.
	if a.CertFile == "" && a.KeyFile == "" && l.sound(nameAPICert, nameAPIKey) {
		l.between(name, text, why+"needs "+nameAPICert+" and "+nameAPIKey+": tokens do not travel in the clear")
	}
	if !l.config.Kubernetes.On && l.sound(nameKubernetes) {
		l.between(name, text, why+"needs "+nameKubernetes+"=on: it is the cluster that knows users and rights")
	}
}

// warnAccess tells of an API that everybody may use.
func (l *loader) warnAccess() {
	c := l.config
	if !l.sound(nameAccess, nameListen) || c.Listen.API == "" || c.Guarded() || localOnly(c.Listen.API) {
		return
	}
	exposed := ""
	if c.Access.CertFile == "" {
		exposed = ", and what they send and get can be read and changed on the way (" + nameAPICert + " is not set)"
	}
	l.warnings = append(l.warnings, warnf("%s=%s (%s) can be reached from elsewhere with %s=%s (%s): whoever reaches it may take slots, release holds and change breakers%s",
		nameListen, quote(c.Listen.API), l.source(nameListen), nameAccess, string(c.Access.Mode), l.source(nameAccess), exposed))
}
