package play

import (
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"
)

// renamed brings the former name of a reason to the present one, so that a play may use either.
func renamed(text string) string { return strings.ReplaceAll(text, "not-called", "turn") }

// expected is one word behind ->: any of words, as often as times says.
type expected struct {
	text  string
	words []string
	times int // -1: all
}

// answers takes what is behind -> for answers that are counted.
func (w *words) answers() []expected {
	var all []expected
	for _, one := range w.expect {
		text, number, counted := strings.Cut(one, ":")
		e := expected{text: one, words: strings.Split(renamed(text), "|"), times: -1}
		if counted {
			n, err := strconv.Atoi(number)
			if err != nil || n < 0 {
				w.failf("%q has no number behind the colon", one)
			}
			e.times = n
		}
		for _, word := range e.words {
			if !knownAnswer(word) {
				w.failf("nobody answers %q: there are statuses, and %v", word, known)
			}
		}
		all = append(all, e)
	}
	w.expect = nil
	return all
}

// known are the words that are counted, beside those of a status.
var known = strings.Fields(`yes no granted held-slot done exempt observe full turn failing-cap hold short-circuit
	breaker-open half-open rate stale starting planned-yields`)

func knownAnswer(word string) bool {
	n, err := strconv.Atoi(word)
	return err == nil && n >= 100 && n < 600 || slices.Contains(known, word)
}

// tally counts answers.
type tally struct {
	all   int
	count map[string]int
	heard []string          // the distinct answers, in the order in which they came
	said  map[string]string // who was answered so first, and the sentence
}

// add takes an answer by all the words that it counts for. They are its kind together.
func (t *tally) add(who, sentence string, words ...string) {
	if t.count == nil {
		t.count, t.said = map[string]int{}, map[string]string{}
	}
	t.all++
	kind := strings.Join(words, " ")
	if _, again := t.said[kind]; !again {
		t.heard = append(t.heard, kind)
		t.said[kind] = fmt.Sprintf("%s: %.400s", who, sentence)
	}
	for _, word := range words {
		t.count[renamed(word)]++
	}
}

// fault says what is not as expected; "" where all is.
func (t *tally) fault(want []expected) string {
	for _, e := range want {
		got := 0
		for _, word := range e.words {
			got += t.count[word]
		}
		if times := e.times; got != times && (times >= 0 || got != t.all) {
			return fmt.Sprintf("answered %s, want %s\n%s", t.counts(), e.text, t.sentences())
		}
	}
	return ""
}

func (t *tally) counts() string {
	var all []string
	for _, word := range slices.Sorted(maps.Keys(t.count)) {
		all = append(all, fmt.Sprintf("%s:%d", word, t.count[word]))
	}
	return strings.Join(all, " ")
}

func (t *tally) sentences() string {
	var all []string
	for _, kind := range t.heard {
		all = append(all, fmt.Sprintf("\t%s to %s", kind, t.said[kind]))
	}
	return strings.Join(all, "\n")
}

// said is an answer in words: a status, and words that the text must have, or with a ! in front must not.
type said struct {
	codes []string
	words []string
}

func (w *words) said() said {
	if len(w.expect) == 0 {
		return said{}
	}
	s := said{codes: strings.Split(w.expect[0], "|"), words: w.expect[1:]}
	for _, code := range s.codes {
		if n, err := strconv.Atoi(code); err != nil || n < 100 || n > 599 {
			w.failf("%q is no status", code)
		}
	}
	w.expect = nil
	return s
}

// fault says what of an answer is not as expected; "" where all is.
func (s said) fault(code int, text string) string {
	if len(s.codes) > 0 && !slices.Contains(s.codes, strconv.Itoa(code)) {
		return fmt.Sprintf("answered %d, want %s: %.600s", code, strings.Join(s.codes, "|"), text)
	}
	if fault := lacks(text, s.words); fault != "" {
		return fmt.Sprintf("answered %d, %s: %.2000s", code, fault, text)
	}
	return ""
}

// lacks says which of words is not in text, or is and has a ! in front; "" where all is right. A _ is
// itself or a space.
func lacks(text string, words []string) string {
	text = renamed(text)
	for _, word := range words {
		word, never := strings.CutPrefix(renamed(word), "!")
		if has := strings.Contains(text, word) || strings.Contains(text, spaced(word)); has == never {
			return fmt.Sprintf("want %s%s", map[bool]string{true: "no "}[never], word)
		}
	}
	return ""
}

// comparison is an operator and a value, such as >= 58.
type comparison struct{ op, value string }

var operators = []string{"==", "!=", "<=", ">=", "<", ">"}

// comparison takes the end of a line. Where nothing is left, nothing is compared.
func (w *words) comparison() comparison {
	if len(w.list) == 0 {
		return comparison{}
	}
	op := w.oneOf("comparison", operators)
	return comparison{op: op, value: strings.Join(append([]string{w.word("a value")}, w.rest()...), " ")}
}

// number is comparison where a number is needed.
func (w *words) comparesNumber() comparison {
	c := w.comparison()
	if _, err := strconv.ParseFloat(c.value, 64); c.op == "" || err != nil {
		w.failf("a comparison with a number is missing, such as >= 58")
	}
	return c
}

// fault says that what is not as compared; "" where it is. Strings are compared without quotes too.
func (c comparison) fault(what string, got any) string {
	if c.op == "" || c.holds(got) {
		return ""
	}
	text, ok := got.(string)
	if !ok {
		raw, err := json.Marshal(got)
		if err != nil {
			return fmt.Sprintf("%s cannot be compared: %v", what, err)
		}
		text = string(raw)
	}
	return fmt.Sprintf("%s is %.600s, want %s %s", what, text, c.op, c.value)
}

func (c comparison) holds(got any) bool {
	if n, ok := got.(int); ok {
		got = float64(n)
	}
	want, err := strconv.ParseFloat(c.value, 64)
	number, ok := got.(float64)
	switch c.op {
	case "==":
		return c.equals(got)
	case "!=":
		return !c.equals(got)
	case "<=":
		return ok && err == nil && number <= want
	case ">=":
		return ok && err == nil && number >= want
	case "<":
		return ok && err == nil && number < want
	default:
		return ok && err == nil && number > want
	}
}

func (c comparison) equals(got any) bool {
	if text, ok := got.(string); ok && renamed(text) == renamed(c.value) {
		return true
	}
	if got == nil && c.value == "<nil>" {
		return true
	}
	var want any
	return json.Unmarshal([]byte(c.value), &want) == nil && reflect.DeepEqual(got, want)
}

// at is what is at a path such as slots.total.free. In an array an element is named by its place or by
// the text of one of its fields; # is the length. nil: there is nothing.
func at(v any, path string) any {
	for _, key := range strings.Split(path, ".") {
		switch x := v.(type) {
		case map[string]any:
			if _, is := x[key]; key == "#" && !is {
				v = float64(len(x))
			} else {
				v = x[key]
			}
		case []any:
			v = element(x, key)
		default:
			return nil
		}
	}
	return v
}

func element(list []any, key string) any {
	if i, err := strconv.Atoi(key); err == nil && i >= 0 && i < len(list) {
		return list[i]
	}
	if key == "#" {
		return float64(len(list))
	}
	for _, one := range list {
		fields, _ := one.(map[string]any)
		for _, value := range fields {
			if text, ok := value.(string); ok && renamed(text) == renamed(key) {
				return one
			}
		}
	}
	return nil
}
