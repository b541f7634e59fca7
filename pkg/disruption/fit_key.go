package disruption

import (
	"encoding/binary"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// keyer writes what a thing is made of as bytes: equal bytes, equal things. Texts have their length
// before them, and lists their number.
type keyer struct{ buf []byte }

func (k *keyer) begin(kind string) {
	k.buf = k.buf[:0]
	k.text(kind)
}

func (k *keyer) number(ns ...int64) {
	for _, n := range ns {
		k.buf = binary.AppendVarint(k.buf, n)
	}
}

func (k *keyer) text(s string) {
	k.number(int64(len(s)))
	k.buf = append(k.buf, s...)
}

func (k *keyer) texts(list []string) {
	k.number(int64(len(list)))
	for _, s := range list {
		k.text(s)
	}
}

func (k *keyer) labels(m map[string]string) {
	k.number(int64(len(m)))
	for _, name := range slices.Sorted(maps.Keys(m)) {
		k.text(name)
		k.text(m[name])
	}
}

// nodes writes a selector of nodes. None differs from one without terms, which matches no node.
func (k *keyer) nodes(s *corev1.NodeSelector) {
	if s == nil {
		k.number(-1)
		return
	}
	k.number(int64(len(s.NodeSelectorTerms)))
	for _, t := range s.NodeSelectorTerms {
		for _, list := range [][]corev1.NodeSelectorRequirement{t.MatchExpressions, t.MatchFields} {
			k.number(int64(len(list)))
			for _, e := range list {
				k.text(e.Key)
				k.text(string(e.Operator))
				k.texts(e.Values)
			}
		}
	}
}

// selector writes a selector of pods. None differs from one without terms, which matches every pod.
func (k *keyer) selector(s *metav1.LabelSelector) {
	if s == nil {
		k.number(-1)
		return
	}
	k.labels(s.MatchLabels)
	k.number(int64(len(s.MatchExpressions)))
	for _, e := range s.MatchExpressions {
		k.text(e.Key)
		k.text(string(e.Operator))
		k.texts(e.Values)
	}
}
