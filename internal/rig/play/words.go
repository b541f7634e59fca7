package play

import (
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
)

// words are the words of a line that no step has taken yet.
type words struct{ list, expect []string } // before and after ->

// word takes the next word. what names it in the error if the line has ended.
func (w *words) word(what string) string {
	if len(w.list) == 0 {
		wrong("%s is missing", what)
	}
	first := w.list[0]
	w.list = w.list[1:]
	return first
}

// takes reports whether the next word is that one, and then takes it.
func (w *words) takes(word string) bool {
	is := len(w.list) > 0 && w.list[0] == word
	if is {
		w.list = w.list[1:]
	}
	return is
}

// rest takes all words before ->.
func (w *words) rest() (all []string) {
	all, w.list = w.list, nil
	return all
}

func (w *words) takeExpected() (all []string) {
	if all, w.expect = w.expect, nil; len(all) == 0 {
		wrong("nothing is expected: -> is missing")
	}
	return all
}

func (w *words) duration() time.Duration { return duration(w.word("a time")) }

func duration(text string) time.Duration {
	d, err := time.ParseDuration(text)
	check(err)
	return d
}

func (w *words) number(what string) int { return number(w.word(what)) }

func number(text string) int {
	n, err := strconv.Atoi(text)
	check(err)
	return n
}

func spaced(text string) string { return strings.ReplaceAll(text, "_", " ") }

// span is a range of names, such as a1..a60.
var span = regexp.MustCompile(`^(.*?)(\d+)\.\.\D*(\d+)$`)

// names takes names, which may be a range, or several with commas between them.
func (w *words) names() (all []string) {
	for one := range strings.SplitSeq(w.word("a name"), ",") {
		m := span.FindStringSubmatch(one)
		if m == nil {
			all = append(all, one)
			continue
		}
		width := 0
		if m[2][0] == '0' {
			width = len(m[2])
		}
		for i := number(m[2]); i <= number(m[3]); i++ {
			all = append(all, fmt.Sprintf("%s%0*d", m[1], width, i))
		}
	}
	return all
}

// fields takes the rest of the line as key=value, or key alone, which gets the value "true". known has the possible
// keys.
func (w *words) fields(known string) map[string]string {
	out := map[string]string{}
	for _, one := range w.rest() {
		key, value, given := strings.Cut(one, "=")
		if !slices.Contains(strings.Fields(known), key) {
			wrong("%q is not known here: there are %s", key, known)
		}
		if !given {
			value = "true"
		}
		out[key] = value
	}
	return out
}

// assignment takes NAME=value; the value may have several words.
func (w *words) assignment() (name, value string) {
	name, value, ok := strings.Cut(strings.Join(w.rest(), " "), "=")
	if name = strings.TrimSpace(name); !ok || name == "" {
		wrong("a setting is NAME=value, with its name in the environment")
	}
	return name, strings.TrimSpace(value)
}

// tally counts answers. Each has one word or more, such as its reason; all its words together are its kind.
type tally struct {
	all   int
	count map[string]int    // answers by word
	heard []string          // all kinds, in the order in which they came
	said  map[string]string // who got the first answer of a kind, and its sentence
}

// add counts the answer that who got.
func (t *tally) add(who, sentence string, words []string) {
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
		t.count[word]++
	}
}

// fault compares the answers with what is wanted: each element has words with | between them, one of which an answer
// must have, in all answers or as many as the number after a colon. It returns the first difference; "": none.
func (t *tally) fault(want []string) string {
	for _, one := range want {
		words, times, counted := strings.Cut(one, ":")
		got, most := 0, t.all
		if counted {
			most = number(times)
		}
		for word := range strings.SplitSeq(strings.ReplaceAll(words, "not-called", "turn"), "|") {
			got += t.count[word]
		}
		if got == most {
			continue
		}
		var all []string
		for _, word := range slices.Sorted(maps.Keys(t.count)) {
			all = append(all, fmt.Sprintf("%s:%d", word, t.count[word]))
		}
		text := fmt.Sprintf("answered %s, want %s", strings.Join(all, " "), one)
		for _, kind := range t.heard {
			text += fmt.Sprintf("\n\t%s to %s", kind, t.said[kind])
		}
		return text
	}
	return ""
}

// lacks returns which of the words text lacks, or has although a ! stands before the word; "": none. A _ stands for
// itself or a space.
func lacks(text string, words []string) string {
	for _, word := range words {
		word, never := strings.CutPrefix(word, "!")
		if has := strings.Contains(text, word) || strings.Contains(text, spaced(word)); has == never {
			return fmt.Sprintf("want %s%s in: %.2000s", map[bool]string{true: "no "}[never], word, text)
		}
	}
	return ""
}

// compare takes a comparison such as >= 58, and fails the step if got does not meet it. A text needs no quotes.
func (s *stage) compare(w *words, what string, got any) {
	op, first := w.word("a comparison such as >= 58"), w.word("a value")
	value := strings.Join(append([]string{first}, w.rest()...), " ")
	raw, err := json.Marshal(got)
	check(err)
	text, isText := got.(string)
	if !isText {
		text = string(raw)
	}
	var want any
	var have float64
	isJSON := json.Unmarshal([]byte(value), &want) == nil && json.Unmarshal(raw, &got) == nil
	equal := isText && text == value || isJSON && reflect.DeepEqual(got, want)
	limit, err := strconv.ParseFloat(value, 64)
	number := err == nil && json.Unmarshal(raw, &have) == nil && got != nil
	holds, known := map[string]bool{
		"==": equal, "!=": !equal, "<=": number && have <= limit, ">=": number && have >= limit,
		"<": number && have < limit, ">": number && have > limit,
	}[op]
	if !known {
		wrong("%q is no comparison", op)
	}
	if !holds {
		s.fail(fmt.Sprintf("%s is %.600s, want %s %s", what, text, op, value))
	}
}

// at returns the value at a path such as slots.total.free; nil: there is none. The path names an element of an array by
// its index, or by the text of one of its fields; # is the length.
func at(v any, path string) any {
	for _, key := range strings.Split(path, ".") {
		switch x := v.(type) {
		case map[string]any:
			if v = x[key]; key == "#" {
				v = len(x)
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
		return len(list)
	}
	for _, one := range list {
		fields, _ := one.(map[string]any)
		for _, value := range fields {
			if value == any(key) {
				return one
			}
		}
	}
	return nil
}
