package config

import (
	"fmt"
	"math"
	"net"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
)

// maxLimit is the largest number of slots anywhere.
const maxLimit = 100000

const day = 24 * time.Hour

// rule says what the value of a setting must be.
type rule struct {
	kind  string         // of the value, for --help
	text  string         // completes "must be "
	holds func(any) bool // of a value that was decoded
}

// is makes a rule for values of type T.
func is[T any](kind, text string, holds func(T) bool) rule {
	return rule{kind, text, func(v any) bool {
		t, ok := v.(T)
		return ok && holds(t)
	}}
}

// always is the rule of a type that decodes nothing wrong.
func always[T any](kind, text string) rule { return is(kind, text, func(T) bool { return true }) }

func whole(min, max int) rule {
	text := fmt.Sprintf("a whole number %d..%d", min, max)
	if max == math.MaxInt {
		text = fmt.Sprintf("a whole number >= %d", min)
	}
	return is("number", text, func(n int) bool { return min <= n && n <= max })
}

func decimalWithin(min, max float64) rule {
	return is("decimal", fmt.Sprintf("a number %v..%v", min, max), func(n float64) bool { return min <= n && n <= max })
}

func span(min, max time.Duration) rule {
	text := fmt.Sprintf("a duration with its unit, %s..%s", short(min), short(max))
	return is("duration", text, func(d time.Duration) bool { return min <= d && d <= max })
}

func spanOrNever(min, max time.Duration) rule {
	r := span(min, max)
	return is(r.kind, r.text+", or 0 for never", func(d time.Duration) bool { return d == 0 || r.holds(d) })
}

func oneOf[T ~string](words ...T) rule {
	var texts []string
	for _, w := range words {
		texts = append(texts, string(w))
	}
	return is("word", "one of "+strings.Join(texts, ", "), func(w T) bool { return slices.Contains(words, w) })
}

const holdExample = "48h or 1.5h"

var (
	yesNo    = always[bool]("switch", "true or false")
	onOff    = always[toggle]("word", "on or off")
	filePath = is("path", "a path without NUL bytes", func(s string) bool { return !strings.ContainsRune(s, 0) })

	// holdTime is the length of a hold. There is no longest one.
	holdTime = is("duration", "a duration with its unit, such as "+holdExample+", or 0", func(d time.Duration) bool { return d >= 0 })

	anAddress       = is("address", "host:port, such as 127.0.0.1:8087 or :8444", hostPort)
	optionalAddress = is("address", anAddress.text, func(s string) bool { return s == "" || hostPort(s) })
	loopbackAddress = is("address", "host:port on loopback, such as 127.0.0.1:8088: whoever reaches it may do everything",
		func(s string) bool { return s == "" || hostPort(s) && localOnly(s) })
	ironicURL = is("url", "an http:// or https:// URL with a host and without query or fragment", plainURL)

	kubeName       = is("name", "a name of lower-case letters, digits, '-' and '.'", func(s string) bool { return s == "" || objectName.MatchString(s) })
	deploymentName = is("name", "the name of a Deployment, or its namespace, '/' and its name", aDeployment)
	failedQuota    = is("quota", fmt.Sprintf("a whole percentage 0%%..100%% or a whole number of hosts 0..%d", maxQuota), aQuota)
)

// objectName is what Kubernetes lets an object such as a BareMetalHost be called,
// namespaceName a namespace.
var (
	objectName    = regexp.MustCompile(`^[a-z0-9]([a-z0-9.-]{0,251}[a-z0-9])?$`)
	namespaceName = regexp.MustCompile(`^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$`)
)

func aDeployment(text string) bool {
	namespace, name, ok := strings.Cut(text, "/")
	if !ok {
		return objectName.MatchString(text)
	}
	return namespaceName.MatchString(namespace) && objectName.MatchString(name)
}

// hostPort: the host may be empty, the port is a number.
func hostPort(text string) bool {
	_, port, err := net.SplitHostPort(text)
	n := number(port)
	return err == nil && n >= 0 && n <= 65535
}

func plainURL(text string) bool {
	u, err := url.Parse(text)
	return err == nil && u.Host != "" && (u.Scheme == "http" || u.Scheme == "https") && u.RawQuery == "" && u.Fragment == ""
}

// maxQuota bounds a quota that is a number of hosts.
const maxQuota = 1_000_000

// aQuota is a number of hosts or a percentage of them.
func aQuota(text string) bool {
	digits, percent := strings.CutSuffix(text, "%")
	most := maxQuota
	if percent {
		most = 100
	}
	n, err := strconv.Atoi(digits)
	return err == nil && onlyDigits(digits) && n <= most
}

// onlyDigits: Go's readers of numbers would take signs too.
func onlyDigits(text string) bool { return strings.Trim(text, "0123456789") == "" }

var mediaRule = is("word", fmt.Sprintf("exempt, counted, or a whole number 1..%d", maxLimit), func(m mediaLimit) bool { return m <= maxLimit })

// Rules of lists; what their types read has kept them.
var (
	poolPairs = always[poolSlots]("list", fmt.Sprintf("group=slots pairs such as rack1=8,rack2=12 with slots 1..%d, "+
		"and group names of a-z, 0-9, '-', '_', '.', not %q", maxLimit, virtualMediaPool))
	weightPairs = always[tenantWeights]("list", fmt.Sprintf("namespace=weight pairs such as prod=3,dev=0.5 with weights %v..%v", minWeight, maxWeight))
	hostPairs   = always[hostHolds]("list", "namespace/name=duration pairs such as metal3/worker-1=48h,metal3/lab=0")

	namespaceList = is("list", "namespaces with commas between them", func(names []string) bool {
		return !slices.ContainsFunc(names, func(name string) bool { return !namespaceName.MatchString(name) })
	})
)
