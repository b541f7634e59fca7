package admission_test

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/ironic-throttle/ironic-throttle/internal/rig/nodes"
	"github.com/ironic-throttle/ironic-throttle/pkg/admission"
	"github.com/ironic-throttle/ironic-throttle/pkg/api"
	"github.com/ironic-throttle/ironic-throttle/pkg/holdoff"
	"github.com/ironic-throttle/ironic-throttle/pkg/ironic"
	"github.com/ironic-throttle/ironic-throttle/pkg/sizing"
	"github.com/ironic-throttle/ironic-throttle/pkg/slots"
)

// stage plays a Controller beside an Ironic and a cluster that lines of text move: see do. The host a is the node
// uuid-a and the BareMetalHost metal3/a, the host beta/a is that of another namespace.
type stage struct {
	*admission.Controller
	cfg     admission.Config
	now     time.Time
	ironic  *nodes.Ironic
	cluster map[string]admission.Host // by namespace/name
	away    bool                      // another one leads
	sent    func()                    // the poll that is on its way
	puts    map[string]*admission.Pass
	last    api.Answer
	told    []string // notices of slots and failures during the line
}

var start = time.Date(2026, 11, 26, 8, 0, 0, 0, time.UTC)

// newStage starts one with the settings of configure, past its start if there is no word "fresh".
func newStage(settings string) (*stage, error) {
	s := &stage{
		cfg: admission.DefaultConfig(), now: start, ironic: nodes.New(), cluster: map[string]admission.Host{},
		puts: map[string]*admission.Pass{},
	}
	s.cfg.Slots.Total, s.cfg.Slots.StuckCap = 2, 1
	s.cfg.Leading = func() bool { return !s.away }
	s.cfg.Notify, s.cfg.NotifyFailures = s.hear, s.hearFailures
	fresh := false
	for _, word := range strings.Fields(settings) {
		fresh = fresh || word == "fresh"
		if err := s.configure(&s.cfg, word); err != nil {
			return nil, err
		}
	}
	var err error
	if s.Controller, err = admission.New(s.cfg, s.now); err == nil && !fresh {
		_, err = s.all("poll; +1m poll")
	}
	return s, err
}

// configure reads one setting.
func (s *stage) configure(c *admission.Config, word string) error {
	key, value, _ := strings.Cut(word, "=")
	n, _ := strconv.Atoi(value)
	d, _ := time.ParseDuration(value)
	key, of, _ := strings.Cut(key, ":")
	var err error
	switch key {
	case "fresh":
	case "limit":
		c.Slots.Total = n
	case "group":
		c.Slots.Groups = map[string]int{of: n}
	case "media":
		c.Slots.VirtualMedia = n
	case "weight":
		c.Weights = map[string]float64{of: float64(n)}
	case "holdoff":
		c.Holdoff.Timeout = d
	case "remediate":
		c.Holdoff.Stage = holdoff.Remediate
	case "maxfailed":
		c.MaxFailed, err = holdoff.ParseQuota(value)
	case "breaker": // of all Ironic
		if value == "off" {
			c.Breakers = nil
			break
		}
		c.Breakers.Ironic.FailureThreshold, c.Breakers.Ironic.RatioPercent, c.Breakers.Ironic.RatioMinimum = n, 0, 0
	case "rate":
		c.Breakers.Ironic.RateLimitPerMinute = n
	case "adaptive":
		c.Adaptive = true
	case "observe":
		c.Mode = admission.Observe
	case "cluster":
		c.Hosts = s
	default:
		err = fmt.Errorf("nobody knows the setting %q", word)
	}
	return err
}

// Host finds a BareMetalHost, as admission.Hosts.
func (s *stage) Host(namespace, name, uuid string) (found admission.Host, ok bool) {
	if found, ok = s.cluster[namespace+"/"+name]; ok && (uuid == "" || found.NodeUUID == "" || found.NodeUUID == uuid) {
		return found, true
	}
	for _, h := range s.cluster {
		if uuid != "" && h.NodeUUID == uuid {
			return h, true
		}
	}
	return admission.Host{}, false
}

// all carries out lines with ";" between them, and returns the result of the last one.
func (s *stage) all(lines string) (result string, err error) {
	s.told = nil
	for line := range strings.SplitSeq(lines, ";") {
		if strings.TrimSpace(line) == "" {
			continue
		}
		if result, err = s.do(strings.Fields(line)); err != nil {
			return "", fmt.Errorf("%s: %w", line, err)
		}
	}
	return result, nil
}

// do carries one line out and returns its result. A line may begin with a time that passes first: "+30s poll". HOSTS
// are "a", "beta/a", or "h1..h9"; results that differ stand side by side.
//
//	ask HOSTS OP […]       asks; the result is the reason
//	put P HOSTS TARGET […] a PUT of the gateway; then sent P, and answered P CODE, broken P or unsent P
//	ironic HOSTS STATE […] Ironic moves nodes, see nodes.Move
//	poll [N]               N complete polls; send is one that is not answered yet, come answers it; fail TEXT: one failed
//	cluster HOSTS […]      the cluster shows BareMetalHosts; gone deletes them, left: BMO leaves them alone from now on
//	start                  another term begins; away and leads: another one leads, or this one again
//	delete HOSTS           a client deletes nodes through the gateway
//	release HOST [EPISODE], trip SCOPE, reset SCOPE, limit N, mode M: by hand
//	saved                  a store has kept the holds
func (s *stage) do(words []string) (string, error) {
	if past, found := strings.CutPrefix(words[0], "+"); found {
		d, err := time.ParseDuration(past)
		if err != nil {
			return "", err
		}
		if s.now, words = s.now.Add(d), words[1:]; len(words) == 0 {
			return "", nil
		}
	}
	verb, words := words[0], words[1:]
	each, ok := map[string]func(string, []string) (string, error){
		"ask": func(host string, w []string) (string, error) { return s.ask(host, w) },
		"ironic": func(host string, w []string) (string, error) {
			return "", s.ironic.Move(s.now, host, w[0], w[1:]...)
		},
		"cluster": func(host string, w []string) (string, error) { return "", s.show(host, w) },
		"release": s.release,
		"delete": func(host string, _ []string) (string, error) {
			s.HostGone(s.now, admission.Host{NodeUUID: nodes.UUID(host)})
			return "", nil
		},
	}[verb]
	switch {
	case verb == "put":
		return s.put(words[0], words[1], words[2:])
	case !ok:
		return s.other(verb, words)
	}
	var results []string
	for _, host := range hostsOf(words[0]) {
		result, err := each(host, words[1:])
		if err != nil {
			return "", err
		}
		if !slices.Contains(results, result) {
			results = append(results, result)
		}
	}
	return strings.Join(results, " "), nil
}

// hostsOf expands h1..h9.
func hostsOf(word string) (hosts []string) {
	first, last, ok := strings.Cut(word, "..")
	if !ok {
		return []string{word}
	}
	name := strings.TrimRight(first, "0123456789")
	from, _ := strconv.Atoi(strings.TrimPrefix(first, name))
	to, _ := strconv.Atoi(strings.TrimPrefix(last, name))
	for ; from <= to; from++ {
		hosts = append(hosts, fmt.Sprintf("%s%d", name, from))
	}
	return hosts
}

func (s *stage) other(verb string, words []string) (string, error) {
	switch verb {
	case "sent":
		s.puts[words[0]].Sent(s.now)
	case "broken":
		s.puts[words[0]].Broken(s.now)
	case "unsent":
		s.puts[words[0]].Unsent(s.now)
	case "answered":
		status, err := strconv.Atoi(words[1])
		s.puts[words[0]].Answered(s.now, status)
		return "", err
	case "poll":
		n, _ := strconv.Atoi(cmp.Or(append(words, "1")...))
		for range n {
			s.Observe(s.now, s.ironic.Poll(s.now, s))
		}
	case "send":
		observed := s.ironic.Poll(s.now, s)
		s.sent = func() { s.Observe(s.now, observed) }
	case "come":
		s.sent()
	case "fail":
		s.PollFailed(s.now, errors.New(strings.Join(words, " ")))
	case "start":
		records, _ := s.HoldRecords(s.now)
		return "", s.Start(s.now, records, sizing.State{})
	case "saved":
		_, revision := s.HoldRecords(s.now)
		s.SavedHolds(revision)
	case "away", "leads":
		s.away = verb == "away"
	case "trip":
		answer, err := s.TripBreaker(s.now, words[0], 0)
		s.last.Message = answer.Message
		return fmt.Sprintf("at-most-%d", answer.Breaker.MaxConcurrent), err
	case "reset":
		_, err := s.ResetBreaker(s.now, words[0])
		return "", err
	case "limit":
		err := s.configure(&s.cfg, "limit="+words[0])
		return "", errors.Join(err, s.Reconfigure(s.now, s.cfg))
	case "mode":
		s.cfg.Mode = admission.Mode(words[0])
		return "", s.Reconfigure(s.now, s.cfg)
	default:
		return "", fmt.Errorf("nobody knows what to %q", verb)
	}
	return "", nil
}

// question is an ask of a host: by name or by uuid alone, or by both.
func (s *stage) question(host string, words []string) (ask api.Ask, err error) {
	ask = api.Ask{NodeUUID: nodes.UUID(host)}
	ask.Namespace, ask.Name, _ = strings.Cut(nodes.Name(host), "~")
	for _, word := range words {
		key, value, _ := strings.Cut(word, "=")
		n, _ := strconv.Atoi(value)
		switch key {
		case "name":
			ask.NodeUUID = ""
		case "uuid":
			ask.Namespace, ask.Name = "", ""
		case "node":
			ask.NodeUUID = nodes.UUID(value)
		case "errors":
			ask.ErrorCount = n
		case "fails":
			ask.ProvisioningFailCount = n
		case "uid":
			ask.UID = value
		case "spec":
			ask.SpecHash = value
		case "state":
			ask.BMHState = api.BMHState(value)
		case "group":
			ask.ConductorGroup = value
		case "media":
			ask.VirtualMedia = true
		case "deleting":
			ask.Deleting = true
		case "planned":
			ask.Planned = true
		case "dry":
			ask.DryRun = true
		default:
			return ask, fmt.Errorf("no ask has a %q", word)
		}
	}
	return ask, nil
}

func (s *stage) ask(host string, words []string) (string, error) {
	ask, err := s.question(host, words[1:])
	if err != nil {
		return "", err
	}
	ask.Op = api.Op(words[0])
	s.last = s.IsReady(s.now, ask)
	return string(s.last.Reason), nil
}

func (s *stage) put(name, host string, words []string) (string, error) {
	ask, err := s.question(host, words[1:])
	if err != nil {
		return "", err
	}
	s.last, s.puts[name] = s.Forward(s.now, ask, ironic.Target(words[0]))
	if (s.puts[name] != nil) != s.last.Ready {
		return "", fmt.Errorf("ready is %v, and the pass is %v", s.last.Ready, s.puts[name])
	}
	return string(s.last.Reason), nil
}

// show changes what the cluster says of a host.
func (s *stage) show(host string, words []string) error {
	namespace, name, _ := strings.Cut(nodes.Name(host), "~")
	key := namespace + "/" + name
	h, ok := s.cluster[key]
	if !ok {
		h = admission.Host{Namespace: namespace, Name: name, UID: "uid-" + host, NodeUUID: nodes.UUID(host)}
	}
	for _, word := range words {
		key, value, _ := strings.Cut(word, "=")
		n, _ := strconv.Atoi(value)
		switch key {
		case "gone":
		case "left":
			h.Left = true
		case "uid":
			h.UID = value
		case "tenant":
			h.Tenant = value
		case "node":
			h.NodeUUID = value
		case "errors":
			h.ErrorCount = n
		case "fails":
			h.FailCount = n
		case "deleting":
			h.Deleting = true
		case "spec":
			h.Spec = value
		case "planned":
			h.Planned = true
		case "release":
			h.Release = s.last.Episode
		default:
			return fmt.Errorf("no BareMetalHost has a %q", word)
		}
	}
	s.cluster[key] = h
	switch {
	case slices.Contains(words, "gone"):
		delete(s.cluster, key)
		s.HostGone(s.now, h)
	case slices.Contains(words, "left"):
		s.HostLeft(s.now, h)
	}
	return nil
}

func (s *stage) release(host string, episode []string) (string, error) {
	namespace, name, _ := strings.Cut(nodes.Name(host), "~")
	answer, err := s.ReleaseHold(s.now, namespace, name, strings.Join(episode, ""))
	return strings.ReplaceAll(answer.Message, " ", "_"), err
}

func (s *stage) hear(notices []slots.Notice) {
	for _, n := range notices {
		s.told = append(s.told, nodes.Host(n.ID.UUID, n.ID.Name)+":"+string(n.Kind))
	}
}

func (s *stage) hearFailures(notices []admission.FailureNotice) {
	for _, n := range notices {
		text := map[admission.FailureKind]string{
			admission.BreakerChanged: n.Scope + ":" + n.To, admission.HostFailed: n.Hold.Name + ":failed",
			admission.HoldEnded:   n.Hold.Name + ":" + n.End,
			admission.PoolChanged: fmt.Sprintf("pool-%s:paused=%v", n.Pool.Pool, n.Pool.Paused),
		}[n.Kind]
		s.told = append(s.told, text, "cause:"+n.Hold.Cause)
		for _, cause := range n.Causes {
			s.told = append(s.told, "by:"+strings.Join(cause.Hosts, ","))
		}
	}
}
