package disruption

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
	"time"

	"github.com/ironic-throttle/ironic-throttle/pkg/api"
	"github.com/ironic-throttle/ironic-throttle/pkg/disruption/budget"
)

// DocumentVersion is of the form of a Document.
const DocumentVersion = 1

// maxDocument bounds the text of a Document, in bytes.
const maxDocument = 256 << 20

// Document is a State with the Config that a plan is made with: what `plan --export` writes as JSON and
// `plan --state` reads.
type Document struct {
	Version int    `json:"version"`
	Config  Config `json:"config"`
	State   State  `json:"state"`
}

// ReadDocument reads what was exported, or what somebody wrote by hand: settings that are not there are those of Default.
// Its error is that of r, or a *api.FieldError.
func ReadDocument(r io.Reader) (*Document, error) {
	d := &Document{Config: Default()}
	d.Config.Budgets = nil // a list is read into the one that is there
	in := json.NewDecoder(io.LimitReader(r, maxDocument))
	in.DisallowUnknownFields()
	err := in.Decode(d)
	if err == nil {
		if _, more := in.Token(); more != io.EOF {
			err = errors.New("more follows after its end")
		}
	}
	if err != nil {
		return nil, bad("document", "", fmt.Sprintf("cannot be read near byte %d: %s", in.InputOffset(), clip(err.Error())))
	}
	if len(d.Config.Budgets) == 0 {
		d.Config.Budgets = Default().Budgets
	}
	return d, d.check()
}

// check reports a *api.FieldError for what no plan can be made of: numbers that are no prices, and names that are given
// to two. What an API server would not store is not looked for.
func (d *Document) check() error {
	if d.Version != DocumentVersion {
		return bad("version", strconv.Itoa(d.Version), fmt.Sprintf("is not known, only %d is", DocumentVersion))
	}
	prices := map[string]*float64{"config.tariffPerKWh": d.Config.TariffPerKWh}
	budgets := map[string]budget.List{"config.budgets": d.Config.Budgets}
	seen := map[string]bool{}
	for _, q := range d.State.Pools {
		seen[poolName(q.Kind, q.Key)] = true
		if len(q.Policy.Budgets) > 0 {
			budgets["state.pools "+q.String()+".policy.budgets"] = q.Policy.Budgets
		}
	}
	names := len(d.State.Pools)
	for i := range d.State.Hosts {
		h := &d.State.Hosts[i]
		at := "state.hosts " + h.String()
		seen["host "+h.String()] = true
		prices[at+".wattsBusy"], prices[at+".wattsIdle"], prices[at+".leasePerHour"] = h.Price.WattsBusy, h.Price.WattsIdle, h.Price.LeasePerHour
		if names++; h.Node != "" {
			seen["node "+h.Cluster.String()+" "+h.Node] = true
			names++
		}
	}
	if len(seen) != names {
		return bad("state", "", "has two pools or hosts of one name, or two hosts with one node")
	}
	for at, list := range budgets {
		if err := list.Check(); err != nil {
			return bad(at, "", err.Error())
		}
	}
	for at, price := range prices {
		if price != nil && (*price < 0 || *price > maxPrice) {
			return bad(at, money(*price), fmt.Sprintf("must be a number from 0 to %s", money(maxPrice)))
		}
	}
	return nil
}

func bad(field, value, rule string) error {
	return &api.FieldError{Field: field, Value: clip(value), Rule: rule}
}

// neverWord is the text of Never.
const neverWord = "Never"

// String is as its text.
func (s Span) String() string {
	if s == Never {
		return neverWord
	}
	return time.Duration(s).String()
}

// MarshalText writes Never, or a duration such as 30s.
func (s Span) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// UnmarshalText reads Never, or a duration that is not negative.
func (s *Span) UnmarshalText(text []byte) error {
	if string(text) == neverWord {
		*s = Never
		return nil
	}
	d, err := time.ParseDuration(string(text))
	if err != nil || d < 0 {
		return fmt.Errorf("%q is no duration such as 30s, and not Never", clip(string(text)))
	}
	*s = Span(d)
	return nil
}
