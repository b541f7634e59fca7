package config

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"
)

// pairing reads name=value pairs, each name once.
type pairing[V any] struct {
	noun   string                      // what is named
	names  string                      // completes "must name "
	values string                      // completes "must give each … "
	name   func(string) (string, bool) // in its one spelling, and whether it is good
	value  func(string) (V, error)
}

func (p pairing[V]) read(text []byte) (map[string]V, error) {
	all := map[string]V{}
	for pair := range strings.SplitSeq(string(text), ",") {
		given, number, found := strings.Cut(pair, "=")
		if !found {
			return nil, errUnreadable
		}
		given, number = strings.TrimSpace(given), strings.TrimSpace(number)
		name, good := p.name(given)
		if !good {
			return nil, ruleError(fmt.Sprintf("must name %s, %s is none", p.names, quote(given)))
		}
		v, err := p.value(number)
		if err != nil {
			return nil, ruleError(fmt.Sprintf("must give each %s %s; %s has %s", p.noun, p.values, name, quote(number)))
		}
		if _, twice := all[name]; twice {
			return nil, ruleError(fmt.Sprintf("must name each %s once, %q comes twice", p.noun, name))
		}
		all[name] = v
	}
	return all, nil
}

func showPairs[V any](all map[string]V, show func(V) string) string {
	var pairs []string
	for _, name := range slices.Sorted(maps.Keys(all)) {
		pairs = append(pairs, name+"="+show(all[name]))
	}
	return strings.Join(pairs, ",")
}

// poolSlots are slots of conductor groups.
type poolSlots map[string]int

// virtualMediaPool is the pool name that belongs to VIRTUAL_MEDIA_LIMIT.
const virtualMediaPool = "virtual-media"

var readPools = pairing[int]{
	noun: "conductor group", names: fmt.Sprintf("conductor groups of a-z, 0-9, '-', '_', '.', not %q", virtualMediaPool),
	values: fmt.Sprintf("slots 1..%d", maxLimit),
	name: func(given string) (string, bool) {
		folded := strings.ToLower(given) // as Ironic does
		good := folded != "" && len(folded) <= 255 && folded != virtualMediaPool &&
			strings.Trim(folded, "abcdefghijklmnopqrstuvwxyz0123456789-_.") == ""
		return folded, good
	},
	value: func(text string) (int, error) {
		n, err := strconv.Atoi(text)
		if n < 1 || n > maxLimit {
			err = errUnreadable
		}
		return n, err
	},
}

// UnmarshalText implements [encoding.TextUnmarshaler].
func (p *poolSlots) UnmarshalText(text []byte) (err error) {
	*p, err = readPools.read(text)
	return err
}

func (p poolSlots) String() string { return showPairs(p, strconv.Itoa) }

// mediaLimit is what becomes of hosts that boot from virtual media.
type mediaLimit int

// The limits that are no number of slots.
const (
	MediaExempt  mediaLimit = 0
	MediaCounted mediaLimit = -1
)

// Slots are those of their own pool; 0: there is none.
func (m mediaLimit) Slots() int { return max(0, int(m)) }

// UnmarshalText implements [encoding.TextUnmarshaler]: true and false answer whether they are exempt.
func (m *mediaLimit) UnmarshalText(text []byte) error {
	switch word := strings.ToLower(string(text)); word {
	case "exempt", "true":
		*m = MediaExempt
	case "counted", "false":
		*m = MediaCounted
	default:
		n, err := strconv.Atoi(word)
		if err != nil || n < 1 {
			return errUnreadable
		}
		*m = mediaLimit(n)
	}
	return nil
}

func (m mediaLimit) String() string {
	switch m {
	case MediaExempt:
		return "exempt"
	case MediaCounted:
		return "counted"
	}
	return strconv.Itoa(int(m))
}

// tenantWeights are shares of namespaces. A weight of 0 is a fault: it would be a namespace
// that never gets a slot.
type tenantWeights map[string]float64

// Bounds of a weight.
const (
	minWeight = 0.01
	maxWeight = 100
)

var readWeights = pairing[float64]{
	noun: "namespace", names: "Kubernetes namespaces (a-z, 0-9 and -)",
	values: fmt.Sprintf("a weight %v..%v", minWeight, maxWeight),
	name:   func(given string) (string, bool) { return given, namespaceName.MatchString(given) },
	value: func(text string) (float64, error) {
		w, err := parseDecimal(text)
		if w < minWeight || w > maxWeight {
			err = errUnreadable
		}
		return w, err
	},
}

// UnmarshalText implements [encoding.TextUnmarshaler].
func (w *tenantWeights) UnmarshalText(text []byte) (err error) {
	*w, err = readWeights.read(text)
	return err
}

func (w tenantWeights) String() string {
	return showPairs(w, func(n float64) string { return strconv.FormatFloat(n, 'f', -1, 64) })
}

// hostHolds are holds of single hosts, by namespace/name.
type hostHolds map[string]time.Duration

var readHostHolds = pairing[time.Duration]{
	noun: "host", names: "hosts as namespace/name", values: "a duration with its unit, such as " + holdExample + ", or 0",
	name: func(given string) (string, bool) {
		namespace, host, found := strings.Cut(strings.Replace(given, "~", "/", 1), "/") // ns~name is Ironic's name of it
		return namespace + "/" + host, found && namespaceName.MatchString(namespace) && objectName.MatchString(host)
	},
	value: HoldLength,
}

// UnmarshalText implements [encoding.TextUnmarshaler].
func (h *hostHolds) UnmarshalText(text []byte) (err error) {
	*h, err = readHostHolds.read(text)
	return err
}

func (h hostHolds) String() string { return showPairs(h, short) }
