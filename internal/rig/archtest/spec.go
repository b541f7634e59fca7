package archtest

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// specRow is one row of the specification in docs/spec.
type specRow struct {
	kind   string // GW, DC …
	number int
	page   string
	built  bool // false where the row says that it is dropped or not built
}

// id is how the row is cited: GW-12.
func (r specRow) id() string { return rowID(r.kind, r.number) }

func rowID(kind string, number int) string { return fmt.Sprintf("%s-%d", kind, number) }

// rowKinds are those of the pages that are left. What the other parts of the product do is in docs/behaviour.md, without
// numbers, and in plays.
const rowKinds = `(DC|GW|PL)`

var (
	// definition finds a row where it is defined: its number alone in the first cell.
	definition = regexp.MustCompile(`(?m)^\| ` + rowKinds + `-([0-9]+) \|(.*)$`)
	// citation finds a row in any text.
	citation = regexp.MustCompile(`\b` + rowKinds + `-([0-9]+)\b`)
	// testName finds the start of a test's name that names rows, as TestGW3_GW4_ does.
	testName = regexp.MustCompile(`\b(?:Test|Benchmark|Fuzz)(?:_?(?:LH|F|CB|BO|GC|DC|GW|PL|SZ)[0-9]+)+(?:_|\b)`)
	// inName finds the rows in that.
	inName = regexp.MustCompile(rowKinds + `([0-9]+)`)
	// former finds a number that a comment of the product must not cite: readers cannot look it up.
	former = regexp.MustCompile(`\b(?:LH|F|CB|BO|GC|SZ)-[0-9]+\b|\bPROMISES\b|docs/spec/(?:slots|fair-share|breaker|hold-off|sizing|snapshots)\b`)
)

// specRows lists the rows that a page of docs/spec defines.
func specRows(page, text string) []specRow {
	var rows []specRow
	for _, m := range definition.FindAllStringSubmatch(text, -1) {
		number, _ := strconv.Atoi(m[2]) // digits
		built := !strings.Contains(m[3], "**dropped**") && !strings.Contains(m[3], "**not built**")
		rows = append(rows, specRow{kind: m[1], number: number, page: page, built: built})
	}
	return rows
}

// numberFaults says which rows are defined twice, and which numbers are missing between
// the first and the last of a kind: a row that is dropped keeps its line.
func numberFaults(rows []specRow) []string {
	var faults []string
	seen, last := map[string]specRow{}, map[string]int{}
	for _, r := range rows {
		if other, twice := seen[r.id()]; twice {
			faults = append(faults, fmt.Sprintf("%s is defined in %s and again in %s", r.id(), other.page, r.page))
		}
		seen[r.id()] = r
		last[r.kind] = max(last[r.kind], r.number)
	}
	for kind, n := range last {
		for i := 1; i < n; i++ {
			if _, ok := seen[rowID(kind, i)]; !ok {
				faults = append(faults, fmt.Sprintf("%s is not defined: a row that is given up stays, marked **dropped**", rowID(kind, i)))
			}
		}
	}
	slices.Sort(faults)
	return faults
}

// cited lists the rows that a text names, each once, sorted.
func cited(text string) []string {
	var ids []string
	for _, m := range citation.FindAllStringSubmatch(text, -1) {
		ids = append(ids, m[1]+"-"+m[2])
	}
	for _, name := range testName.FindAllString(text, -1) {
		for _, m := range inName.FindAllStringSubmatch(name, -1) {
			ids = append(ids, m[1]+"-"+m[2])
		}
	}
	slices.Sort(ids)
	return slices.Compact(ids)
}

// formerFaults says which comments of a file cite a row that is no more.
func formerFaults(s source) (faults []string) {
	for _, group := range s.file.Comments {
		for _, comment := range group.List {
			if cites := former.FindString(comment.Text); cites != "" {
				faults = append(faults, fmt.Sprintf("%s: the comment cites %s: say what holds, in words", s.fset.Position(comment.Pos()), cites))
			}
		}
	}
	return faults
}
