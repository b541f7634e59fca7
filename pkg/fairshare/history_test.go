package fairshare

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"
)

// A history is what befalls a scheduler, step by step, as text: histories that once
// failed are kept in testdata and read there.
//
//	configure limit=2 ahead=auto … weights=a:1,b:0.5
//	hosts a b a                 (the tenants of hosts 0, 1, 2)
//	virtual 1152921504606846976 (V at the start; optional)
//	60s ask 0 2                 (after 60 s host 0 asks with 2 errors)
//	0s release 0 unused
//	-5s foreign 1               (one slot more is taken by nobody we know)
//	0s update
type history struct {
	cfg     Config
	tenants []string // of each host
	virtual int64    // V at the start
	steps   []step
}

type step struct {
	after time.Duration
	verb  string
	host  int
	arg   int     // errors, slots, the End, or the number of foreign slots
	cfg   *Config // of configure
}

// The verbs: without arguments, with a host, and with a host and a number.
var (
	bareVerbs = []string{"update", "configure", "foreign"}
	hostVerbs = []string{"bar", "leave"}
	argVerbs  = []string{"ask", "peek", "refused", "hold", "told", "planned", "release"}
	endWords  = []string{Finished: "finished", Unused: "unused", Refunded: "refunded"}
)

func (h history) String() string {
	var b strings.Builder
	fmt.Fprintln(&b, "configure", configText(h.cfg))
	fmt.Fprintln(&b, "hosts", strings.Join(h.tenants, " "))
	if h.virtual != 0 {
		fmt.Fprintln(&b, "virtual", h.virtual)
	}
	for _, s := range h.steps {
		fmt.Fprintln(&b, s)
	}
	return b.String()
}

func (s step) String() string {
	words := []string{s.after.String(), s.verb}
	switch {
	case s.verb == "configure":
		words = append(words, configText(*s.cfg))
	case s.verb == "foreign":
		words = append(words, strconv.Itoa(s.arg))
	case s.verb == "release":
		words = append(words, strconv.Itoa(s.host), endWords[s.arg])
	case slices.Contains(hostVerbs, s.verb):
		words = append(words, strconv.Itoa(s.host))
	case slices.Contains(argVerbs, s.verb):
		words = append(words, strconv.Itoa(s.host), strconv.Itoa(s.arg))
	}
	return strings.Join(words, " ")
}

func configText(c Config) string {
	text := fmt.Sprintf("limit=%d ahead=%d overtake=%d redeem=%v claim=%v threshold=%d cap=%d reserve=%d",
		c.Limit, c.Ahead, c.Overtake, c.RedeemAfter, c.ClaimWindow, c.Threshold, c.Cap, c.Reserve)
	var weights []string
	for _, t := range slices.Sorted(maps.Keys(c.Weights)) {
		weights = append(weights, fmt.Sprintf("%s:%v", t, c.Weights[t]))
	}
	if len(weights) > 0 {
		text += " weights=" + strings.Join(weights, ",")
	}
	return text
}

// parseHistory reads what String writes; empty lines and those from # on are notes.
func parseHistory(text string) (history, error) {
	var h history
	for n, line := range strings.Split(text, "\n") {
		words := strings.Fields(line)
		if len(words) == 0 || strings.HasPrefix(words[0], "#") {
			continue
		}
		var err error
		switch words[0] {
		case "configure":
			h.cfg, err = parseConfig(words[1:])
		case "hosts":
			h.tenants = words[1:]
		case "virtual":
			h.virtual, err = strconv.ParseInt(strings.Join(words[1:], " "), 10, 64)
		default:
			var s step
			s, err = parseStep(words)
			h.steps = append(h.steps, s)
		}
		if err != nil {
			return h, fmt.Errorf("line %d: %w", n+1, err)
		}
	}
	for _, s := range h.steps {
		if s.host < 0 || s.host >= len(h.tenants) {
			return h, fmt.Errorf("%v: there is no such host", s)
		}
	}
	return h, h.cfg.Validate()
}

func parseStep(words []string) (s step, err error) {
	if len(words) < 2 {
		return s, fmt.Errorf("%q: a duration and a verb are needed", words)
	}
	if s.after, err = time.ParseDuration(words[0]); err != nil {
		return s, err
	}
	s.verb = words[1]
	words = words[2:]
	want := 0
	switch {
	case s.verb == "configure":
		c, err := parseConfig(words)
		s.cfg = &c
		return s, err
	case s.verb == "foreign":
		want = 1
	case slices.Contains(hostVerbs, s.verb):
		want = 1
	case slices.Contains(argVerbs, s.verb):
		want = 2
	case !slices.Contains(bareVerbs, s.verb):
		return s, fmt.Errorf("%q is no verb", s.verb)
	}
	if len(words) != want {
		return s, fmt.Errorf("%s wants %d words more, not %q", s.verb, want, words)
	}
	if s.verb == "foreign" {
		s.arg, err = strconv.Atoi(words[0])
		return s, err
	}
	if want > 0 {
		if s.host, err = strconv.Atoi(words[0]); err != nil {
			return s, err
		}
	}
	if s.verb == "release" {
		if s.arg = slices.Index(endWords, words[1]); s.arg < 0 {
			return s, fmt.Errorf("%q is no end", words[1])
		}
	} else if want > 1 {
		s.arg, err = strconv.Atoi(words[1])
	}
	return s, err
}

func parseConfig(words []string) (Config, error) {
	c := DefaultConfig(1)
	numbers := map[string]*int{
		"limit": &c.Limit, "ahead": &c.Ahead, "overtake": &c.Overtake,
		"threshold": &c.Threshold, "cap": &c.Cap, "reserve": &c.Reserve,
	}
	times := map[string]*time.Duration{"redeem": &c.RedeemAfter, "claim": &c.ClaimWindow}
	for _, word := range words {
		name, value, _ := strings.Cut(word, "=")
		var err error
		switch {
		case numbers[name] != nil:
			*numbers[name], err = strconv.Atoi(value)
		case times[name] != nil:
			*times[name], err = time.ParseDuration(value)
		case name == "weights":
			c.Weights = map[string]float64{}
			for pair := range strings.SplitSeq(value, ",") {
				tenant, w, _ := strings.Cut(pair, ":")
				if c.Weights[tenant], err = strconv.ParseFloat(w, 64); err != nil {
					return c, err
				}
			}
		default:
			err = fmt.Errorf("%q is no setting", name)
		}
		if err != nil {
			return c, err
		}
	}
	return c, nil
}

// shorten drops steps of h, and makes what is left of them simpler, for as long as
// it still fails: what remains is what matters.
func shorten(h history, fails func(history) bool) history {
	try := func(steps []step) bool {
		less := h
		less.steps = steps
		if !fails(less) {
			return false
		}
		h = less
		return true
	}
	for before := ""; before != h.String(); {
		before = h.String()
		for size := max(1, len(h.steps)/2); size > 0; size /= 2 {
			for at := 0; at+size <= len(h.steps); {
				if !try(slices.Concat(h.steps[:at], h.steps[at+size:])) {
					at += size
				}
			}
		}
		for i := range h.steps {
			for _, s := range simpler(h.steps[i]) {
				steps := slices.Clone(h.steps)
				if steps[i] != s && try(slices.Replace(steps, i, i+1, s)) {
					break
				}
			}
		}
	}
	return h
}

// simpler lists steps that say less than s, simplest first.
func simpler(s step) (list []step) {
	for _, after := range []time.Duration{0, time.Second, 10 * time.Second, time.Minute, s.after.Truncate(time.Second)} {
		if after < max(s.after, -s.after) {
			t := s
			t.after = after
			list = append(list, t)
		}
	}
	if s.arg > 0 {
		t := s
		t.arg = 0
		list = append(list, t)
	}
	return list
}
