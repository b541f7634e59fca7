package disruption

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/component-helpers/scheduling/corev1/nodeaffinity"

	"github.com/ironic-throttle/ironic-throttle/pkg/api"
)

// maxResources bounds the different resources and CSI drivers that pods name: each is a number of each node.
const maxResources = 256

// reader makes a cluster of a state. What is equal is kept once.
type reader struct {
	c       *cluster
	s       *State
	keys    map[string]bool // labels of pods that any selector reads
	known   map[string]int32
	amounts map[string]map[string]int64 // what quantities read before mean: by resource
	key     keyer
}

func newReader(c *cluster, s *State) *reader {
	r := &reader{c: c, s: s, keys: map[string]bool{}, known: map[string]int32{}, amounts: map[string]map[string]int64{}}
	for i := range s.Pods {
		for _, t := range s.Pods[i].AntiAffinity {
			r.reads(t.LabelSelector)
		}
	}
	order := make([]int, len(s.Budgets))
	for i := range order {
		order[i] = i
		r.reads(s.Budgets[i].Selector)
	}
	slices.SortStableFunc(order, func(a, b int) int {
		x, y := s.Budgets[a].Key, s.Budgets[b].Key
		return cmp.Or(strings.Compare(x.Namespace, y.Namespace), strings.Compare(x.Name, y.Name))
	})
	for _, i := range order {
		b := &s.Budgets[i]
		c.inSpace[b.Namespace] = append(c.inSpace[b.Namespace], number(len(c.budgets)))
		c.budgets = append(c.budgets, newBudget(b))
	}
	return r
}

// reads notes labels that a selector looks at.
func (r *reader) reads(s *metav1.LabelSelector) {
	if s == nil {
		return
	}
	for k := range s.MatchLabels {
		r.keys[k] = true
	}
	for _, e := range s.MatchExpressions {
		r.keys[e.Key] = true
	}
}

// readPods reads all pods, by name.
func (r *reader) readPods(ctx context.Context) error {
	c := r.c
	c.pods = make([]fitPod, len(r.s.Pods))
	for i := range r.s.Pods {
		c.pods[i] = fitPod{pod: &r.s.Pods[i], name: r.s.Pods[i].String()}
	}
	slices.SortFunc(c.pods, func(a, b fitPod) int { return strings.Compare(a.name, b.name) })
	for i := range c.pods {
		p := &c.pods[i]
		if i > 0 && p.name == c.pods[i-1].name {
			return &api.FieldError{Field: "pods", Value: p.name, Rule: "is there twice"}
		}
		if p.pod.Finished {
			continue // it takes no room
		}
		if err := ctx.Err(); err != nil {
			return err
		}
		shape, err := r.shape(p)
		if err != nil {
			return err
		}
		p.shape = shape
	}
	return nil
}

// shape finds the shape of a pod, or makes it.
func (r *reader) shape(p *fitPod) (int32, error) {
	s := shape{class: r.class(p.pod), rule: r.rule(p.pod)}
	var err error
	if s.needs, err = r.needs(p); err != nil {
		return 0, err
	}
	if s.volumes, err = r.volumes(p); err != nil {
		return 0, err
	}
	for i, text := range p.pod.HostPorts {
		q, ok := parsePort(text)
		if !ok {
			return 0, &api.FieldError{
				Field: fmt.Sprintf("pods[%s].hostPorts[%d]", p.name, i), Value: shortened(text), Rule: "is not PROTOCOL/ADDRESS/PORT, such as TCP//8080",
			}
		}
		s.ports = append(s.ports, q)
	}
	for i := range p.pod.AntiAffinity {
		s.terms = append(s.terms, r.term(&p.pod.AntiAffinity[i], p.pod.Namespace))
	}
	k := &r.key
	k.begin("shape")
	k.number(int64(s.class), int64(s.rule), int64(len(s.needs)), int64(len(s.volumes)), int64(len(s.terms)))
	for _, w := range slices.Concat(s.needs, s.volumes) {
		k.number(int64(w.of), w.amount)
	}
	for _, t := range s.terms {
		k.number(int64(t))
	}
	k.texts(p.pod.HostPorts)
	id, isNew := r.intern(len(r.c.shapes))
	if isNew {
		r.c.shapes = append(r.c.shapes, s)
	}
	return id, nil
}

// needs reads what a pod requests.
func (r *reader) needs(p *fitPod) ([]need, error) {
	pods, err := r.resource(r.c.resources, "pods", "pods", p.name)
	if err != nil {
		return nil, err
	}
	out := []need{{of: pods, amount: 1}}
	for _, name := range slices.Sorted(maps.Keys(p.pod.Requests)) {
		if name == "pods" {
			continue
		}
		text := p.pod.Requests[name]
		amount, ok := r.amounts[name][text]
		if !ok {
			if amount, err = quantity(name, text); err != nil {
				return nil, &api.FieldError{Field: fmt.Sprintf("pods[%s].requests.%s", p.name, shortened(name)), Value: shortened(text), Rule: err.Error()}
			}
			if r.amounts[name] == nil {
				r.amounts[name] = map[string]int64{}
			}
			r.amounts[name][text] = amount
		}
		if amount > mostAmount {
			amount = mostAmount + 1 // more than any node has
		}
		of, err := r.resource(r.c.resources, name, name, p.name)
		if err != nil {
			return nil, err
		}
		out = append(out, need{of: of, amount: amount})
	}
	return out, nil
}

// volumes counts the volumes of a pod, by CSI driver. That a volume may be attached already is left aside.
func (r *reader) volumes(p *fitPod) ([]need, error) {
	count := map[string]int64{}
	for i := range p.pod.Volumes {
		if d := p.pod.Volumes[i].Driver; d != "" {
			count[d]++
		}
	}
	var out []need
	for _, d := range slices.Sorted(maps.Keys(count)) {
		of, err := r.resource(r.c.drivers, d, "room for volumes of "+d, p.name)
		if err != nil {
			return nil, err
		}
		out = append(out, need{of: of, amount: count[d]})
	}
	return out, nil
}

// resource is the number of a resource or a CSI driver.
func (r *reader) resource(of map[string]int32, name, called, pod string) (int32, error) {
	if id, ok := of[name]; ok {
		return id, nil
	}
	if len(r.c.names) == maxResources {
		return 0, &api.FieldError{
			Field: fmt.Sprintf("pods[%s].requests", pod), Value: shortened(name),
			Rule: fmt.Sprintf("is one too many: all pods may name %d different resources and drivers of volumes", maxResources),
		}
	}
	id := number(len(r.c.names))
	of[name] = id
	r.c.names = append(r.c.names, called)
	return id, nil
}

// class finds what selectors see of a pod, or makes it.
func (r *reader) class(p *Pod) int32 {
	var seen []string
	for k := range p.Labels {
		if r.keys[k] {
			seen = append(seen, k)
		}
	}
	slices.Sort(seen)
	r.key.begin("class")
	r.key.text(p.Namespace)
	for _, k := range seen {
		r.key.text(k)
		r.key.text(p.Labels[k])
	}
	id, isNew := r.intern(len(r.c.classes))
	if isNew {
		of := class{namespace: p.Namespace, labels: make(map[string]string, len(seen))}
		for _, k := range seen {
			of.labels[k] = p.Labels[k]
		}
		r.c.classes = append(r.c.classes, of)
	}
	return id
}

// rule finds what a pod demands of nodes, or makes it.
func (r *reader) rule(p *Pod) int32 {
	k := &r.key
	k.begin("rule")
	k.labels(p.NodeSelector)
	k.nodes(p.NodeAffinity)
	k.number(int64(len(p.Tolerations)))
	for _, t := range p.Tolerations {
		k.texts([]string{t.Key, string(t.Operator), t.Value, string(t.Effect)})
	}
	for i := range p.Volumes {
		if p.Volumes[i].Nodes != nil {
			k.nodes(p.Volumes[i].Nodes)
		}
	}
	id, isNew := r.intern(len(r.c.rules))
	if isNew {
		rule := rule{selector: p.NodeSelector, tolerations: p.Tolerations, keys: slices.Collect(maps.Keys(p.NodeSelector))}
		if p.NodeAffinity != nil {
			rule.affinity = nodeaffinity.NewLazyErrorNodeSelector(p.NodeAffinity)
			rule.reads(p.NodeAffinity)
		}
		for i := range p.Volumes {
			if n := p.Volumes[i].Nodes; n != nil {
				rule.volumes = append(rule.volumes, nodeaffinity.NewLazyErrorNodeSelector(n))
				rule.reads(n)
			}
		}
		r.c.rules = append(r.c.rules, rule)
	}
	return id
}

// reads notes labels that a selector of nodes looks at.
func (r *rule) reads(s *corev1.NodeSelector) {
	for _, t := range s.NodeSelectorTerms {
		for _, e := range t.MatchExpressions {
			r.keys = append(r.keys, e.Key)
		}
		if len(t.MatchFields) > 0 {
			r.keys = append(r.keys, "")
		}
	}
}

// term finds an anti-affinity, or makes it.
func (r *reader) term(t *corev1.PodAffinityTerm, namespace string) int32 {
	out := newTerm(t, namespace)
	k := &r.key
	k.begin("term")
	k.text(t.TopologyKey)
	if out.namespaces != nil {
		k.texts(out.namespaces)
	}
	k.selector(t.LabelSelector)
	id, isNew := r.intern(len(r.c.terms))
	if isNew {
		r.c.terms = append(r.c.terms, out)
	}
	return id
}

// intern gives what the key says the number next, if it has none.
func (r *reader) intern(next int) (id int32, isNew bool) {
	if id, ok := r.known[string(r.key.buf)]; ok {
		return id, false
	}
	id = number(next)
	r.known[string(r.key.buf)] = id
	return id, true
}

// parsePort reads PROTOCOL/ADDRESS/PORT.
func parsePort(s string) (port, bool) {
	parts := strings.Split(s, "/")
	if len(parts) != 3 {
		return port{}, false
	}
	p := port{protocol: parts[0], ip: parts[1], number: parts[2]}
	if p.protocol == "" {
		p.protocol = string(corev1.ProtocolTCP)
	}
	n, err := strconv.ParseUint(p.number, 10, 16)
	return p, err == nil && n > 0 && strconv.FormatUint(n, 10) == p.number
}
